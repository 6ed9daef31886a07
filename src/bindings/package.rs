//! What the bindings call in the Python package.
//!
//! Owns: the table of those names, each looked up once. Never calls anything.
//! Invariant: no other file of the bindings names a module of the package, and `tests/layers/names.rs` finds every
//! name here in the package's sources.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The package itself.
pub(crate) const PACKAGE: &str = "ferrograd";

/// The namespace of the array API standard.
pub(crate) const ARRAY_API: &str = "ferrograd._dispatch.array_api";

/// The ufuncs that are operations of ours, as a dict.
pub(crate) static OPERATIONS: Name = Name::new("ferrograd._dispatch.protocols", "OPERATIONS");
/// What decides a call of any other ufunc.
pub(crate) static ARRAY_UFUNC: Name = Name::new("ferrograd._dispatch.protocols", "array_ufunc");
/// What decides a call of any other function of NumPy.
pub(crate) static ARRAY_FUNCTION: Name =
    Name::new("ferrograd._dispatch.protocols", "array_function");
/// What NumPy is told that asks for the array of a tensor in a graph.
pub(crate) static ARRAY_OF: Name = Name::new("ferrograd._dispatch.leaving", "array_of");
/// The class of `t.size`.
pub(crate) static SIZE: Name = Name::new("ferrograd._tensor.size", "Size");
/// `autograd.grad` of a batch of gradients.
pub(crate) static BATCHED: Name = Name::new("ferrograd.autograd._batched", "batched");
/// What the backward of a functor is given.
pub(crate) static OP: Name = Name::new("ferrograd.functors._operation", "Op");
/// The constructors behind `t.new_zeros()` and its like.
pub(crate) static ZEROS: Name = Name::new("ferrograd", "zeros");
pub(crate) static ONES: Name = Name::new("ferrograd", "ones");
pub(crate) static EMPTY: Name = Name::new("ferrograd", "empty");
pub(crate) static FULL: Name = Name::new("ferrograd", "full");
pub(crate) static TENSOR: Name = Name::new("ferrograd", "tensor");

/// An object of the package.
pub(crate) struct Name {
    module: &'static str,
    name: &'static str,
    object: PyOnceLock<Py<PyAny>>,
}

impl Name {
    const fn new(module: &'static str, name: &'static str) -> Name {
        Name { module, name, object: PyOnceLock::new() }
    }

    /// The object, imported at the first call.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        self.object.import(py, self.module, self.name)
    }
}
