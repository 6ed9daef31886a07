//! The Python object of a tensor. A tensor with autograd state refers weakly to its object, so that wrapping it again
//! returns the same object.
//! The handle inside is fixed: in-place operations change what it points to.

use std::sync::{Arc, OnceLock};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyWeakrefMethods, PyWeakrefReference};

use crate::bindings::object::free_list;
use crate::bindings::object::node::NodeObjectRef;
use crate::dtype::{Complex128, DType, Half, with_dtype};
use crate::error::Result;
use crate::ops::core::broadcast::astype;
use crate::tensor::{Meta, Tensor};

/// A multi-dimensional array that remembers how it was computed.
#[pyclass(name = "Tensor", module = "ferrograd", frozen, weakref, subclass)]
pub(crate) struct PyTensor {
    pub(crate) tensor: Tensor,
    /// The object that this one is a view of.
    pub(crate) base: Option<Py<PyTensor>>,
    /// The Python object of the node that this tensor counts, if it exists.
    pub(crate) node: OnceLock<NodeObjectRef>,
}

impl From<Tensor> for PyTensor {
    #[inline]
    fn from(tensor: Tensor) -> PyTensor {
        PyTensor { tensor, base: None, node: OnceLock::new() }
    }
}

impl PyTensor {
    /// After an in-place change: tells the write log which tensor this one is a view of.
    #[inline]
    pub(crate) fn note_write(&self) {
        if let Some(base) = &self.base {
            self.tensor.set_base_of_view(&base.get().tensor);
        }
    }
}

/// The identity stored in a tensor's `Meta`: a weak reference to its Python object.
struct WeakIdentity(Py<PyWeakrefReference>);

/// Computes a tensor and wraps it.
#[inline]
pub(crate) fn wrap_computed<'py>(
    py: Python<'py>,
    compute: impl FnOnce() -> Result<Tensor>,
) -> PyResult<Bound<'py, PyAny>> {
    let plain = |tensor: &Tensor| (tensor.meta().is_none() && !tensor.is_view()).then_some(None);
    free_list::compute_object(py, compute, plain, |tensor| wrap_slow(py, tensor))
}

/// Computes a tensor that may be a view of `source`, and wraps it.
#[inline]
pub(crate) fn wrap_computed_view<'py>(
    source: &Bound<'py, PyTensor>,
    compute: impl FnOnce() -> Result<Tensor>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, from) = (source.py(), source.get());
    let base = |tensor: &Tensor| match tensor.is_view() {
        _ if tensor.meta().is_some() => None,
        false => Some(None),
        true if tensor.storage().same(from.tensor.storage()) => Some(Some(base_of(source))),
        true => None,
    };
    free_list::compute_object(py, compute, base, |tensor| wrap_result_of(source, tensor))
}

/// The base of a view of `source`.
#[inline]
fn base_of(source: &Bound<'_, PyTensor>) -> Py<PyTensor> {
    let base = source.get().base.as_ref();
    base.map_or_else(|| source.clone().unbind(), |base| base.clone_ref(source.py()))
}

#[inline(never)]
fn wrap_slow(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    wrap(py, tensor)
}

/// The Python object of a tensor: the existing one, or a new one.
#[inline]
pub(crate) fn wrap(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    if tensor.meta().is_some() {
        return wrap_known(py, tensor);
    }
    // The memory of a view that an operation made of its own intermediate is the view's alone.
    let alone = tensor.is_view() && tensor.storage().is_unique_outside_traces();
    let tensor = if alone { tensor.owner() } else { tensor };
    Ok(free_list::new_object(py, tensor, None)?.into_any())
}

/// The same for a result that may be a view of `source`.
#[inline]
pub(crate) fn wrap_result_of<'py>(
    source: &Bound<'py, PyTensor>,
    tensor: Tensor,
) -> PyResult<Bound<'py, PyAny>> {
    if !tensor.is_view() {
        return wrap(source.py(), tensor);
    }
    wrap_view(source, tensor)
}

#[inline(never)]
fn wrap_view<'py>(source: &Bound<'py, PyTensor>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    let from = &source.get().tensor;
    let known = tensor.meta().is_some_and(|meta| object_of(py, meta).is_some());
    if known {
        return wrap(py, tensor);
    }
    if from.is_value() || !tensor.storage().same(from.storage()) {
        return wrap(py, tensor.into_value());
    }
    let linked = tensor.meta().is_some();
    let object = free_list::new_object(py, tensor, Some(base_of(source)))?;
    if linked {
        set_identity(&object)?;
    }
    Ok(object.into_any())
}

#[cold]
fn wrap_known(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    if let Some(object) = known_object(py, &tensor) {
        return Ok(object);
    }
    let object = free_list::new_object(py, tensor, None)?;
    set_identity(&object)?;
    Ok(object.into_any())
}

/// The live Python object of a tensor with autograd state.
pub(crate) fn known_object<'py>(py: Python<'py>, tensor: &Tensor) -> Option<Bound<'py, PyAny>> {
    object_of(py, tensor.meta()?)
}

/// The live Python object that a tensor's `Meta` refers to.
pub(crate) fn object_of<'py>(py: Python<'py>, meta: &Meta) -> Option<Bound<'py, PyAny>> {
    // Upgrading a weak reference runs no Python code.
    meta.with_identity(|identity| {
        let object: &WeakIdentity = (**identity).downcast_ref()?;
        object.0.bind(py).upgrade()
    })
}

/// Makes this the object that its tensor's `Meta` refers to.
pub(crate) fn set_identity(object: &Bound<'_, PyTensor>) -> PyResult<()> {
    let weak = PyWeakrefReference::new(object.as_any())?;
    object.get().tensor.ensure_meta().set_identity(Arc::new(WeakIdentity(weak.unbind())));
    Ok(())
}

/// The Python object of a new leaf that requires grad.
pub(crate) fn new_leaf(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyTensor>> {
    let object = free_list::new_object(py, tensor, None)?;
    object.get().tensor.make_leaf(true)?;
    set_identity(&object)?;
    Ok(object)
}

/// A gradient as a read-only Python tensor.
pub(crate) fn wrap_read_only(py: Python<'_>, grad: Tensor) -> PyResult<Bound<'_, PyAny>> {
    wrap(py, grad.read_only())
}

/// The only element as a Python number.
pub(crate) fn item_to_python<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    match tensor.dtype() {
        DType::F16 => tensor.item::<Half>()?.to_f64().into_bound_py_any(py),
        DType::C128 | DType::C64 => {
            let number = astype(&tensor.detach(), DType::C128)?.item::<Complex128>()?;
            Ok(PyComplex::from_doubles(py, number.re, number.im).into_any())
        }
        DType::Bool => tensor.item::<bool>()?.into_bound_py_any(py),
        dtype if dtype.has_loops() => {
            with_dtype!(real dtype, T => tensor.item::<T>()?.into_bound_py_any(py))
        }
        // The other integers fit int64.
        _ => astype(&tensor.detach(), DType::I64)?.item::<i64>()?.into_bound_py_any(py),
    }
}
