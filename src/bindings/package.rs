//! Names of the Python package that the bindings import lazily.
//!
//! Invariant: no other file of the bindings names a module of the package, except `call/python_methods.rs`, which is
//! written from the package's own table; `tests/layers/directories.rs` checks both this and that every name here exists.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The package itself.
pub(crate) const PACKAGE: &str = "ferrograd";

/// The namespace of the array API standard.
pub(crate) const ARRAY_API: &str = "ferrograd.array_api";

/// NumPy ufuncs that are operations of this crate: a dict from ufunc to operation.
pub(crate) static UFUNC_OPERATIONS: LazyImport =
    LazyImport::new("ferrograd._dispatch.protocols", "OPERATIONS");
/// `__array_ufunc__` for all other ufuncs.
pub(crate) static ARRAY_UFUNC: LazyImport =
    LazyImport::new("ferrograd._dispatch.protocols", "array_ufunc");
/// `__array_function__`.
pub(crate) static ARRAY_FUNCTION: LazyImport =
    LazyImport::new("ferrograd._dispatch.protocols", "array_function");
/// What NumPy is told that asks for the array of a tensor in a graph.
pub(crate) static ARRAY_OF: LazyImport =
    LazyImport::new("ferrograd._dispatch.array_refusal", "convert_to_array");
/// What refuses `float(t)` of a tensor in a graph where a library asks for it.
pub(crate) static NUMBER_OF: LazyImport =
    LazyImport::new("ferrograd._dispatch.array_refusal", "check_number_conversion");
/// The specification of einops' backends, followed by ours; and adding ours to a loaded einops.
pub(crate) static EINOPS_SPEC: LazyImport =
    LazyImport::new("ferrograd._dispatch.einops", "find_backends_spec");
pub(crate) static EINOPS_REGISTER: LazyImport =
    LazyImport::new("ferrograd._dispatch.einops", "register_backend");
/// The import spec of a module that stands elsewhere; raises `ImportError` with a hint for some that do not exist.
pub(crate) static FIND_MODULE: LazyImport =
    LazyImport::new("ferrograd._inspect.module_finder", "find_module");
/// The product of a tensor and a sparse array of SciPy's.
pub(crate) static SPARSE_PRODUCT: LazyImport =
    LazyImport::new("ferrograd.scipy.sparse._arrays", "product");
/// The class of `t.size`.
pub(crate) static SIZE_CLASS: LazyImport =
    LazyImport::new("ferrograd._tensor.size_attribute", "Size");
/// `autograd.grad` of a batch of gradients.
pub(crate) static BATCHED_GRAD: LazyImport =
    LazyImport::new("ferrograd.autograd._batched_grad", "batched_grad");
/// What the backward of a functor is given.
pub(crate) static FUNCTOR_OPERATION: LazyImport =
    LazyImport::new("ferrograd.functors._functor_node", "Op");
/// A call of a custom function that a step of a recorded function makes again.
pub(crate) static FUNCTION_CALL: LazyImport =
    LazyImport::new("ferrograd._compile.host_call", "FunctionCall");
/// The constructors behind `t.new_zeros()` and its like.
pub(crate) static ZEROS: LazyImport = LazyImport::new("ferrograd._tensor.creation", "zeros");
pub(crate) static NAMED_TUPLE: LazyImport =
    LazyImport::new("ferrograd._dispatch.named_tuples", "make_named_tuple");
pub(crate) static ONES: LazyImport = LazyImport::new("ferrograd._tensor.creation", "ones");
pub(crate) static EMPTY: LazyImport = LazyImport::new("ferrograd._tensor.creation", "empty");
pub(crate) static FULL: LazyImport = LazyImport::new("ferrograd._tensor.creation", "full");
pub(crate) static TENSOR: LazyImport = LazyImport::new("ferrograd", "tensor");

/// An attribute of a Python module, imported at the first use.
pub(crate) struct LazyImport {
    module: &'static str,
    name: &'static str,
    object: PyOnceLock<Py<PyAny>>,
}

impl LazyImport {
    const fn new(module: &'static str, name: &'static str) -> LazyImport {
        LazyImport { module, name, object: PyOnceLock::new() }
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        self.object.import(py, self.module, self.name)
    }
}
