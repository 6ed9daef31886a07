//! The Python object of a tensor and its identity.
//!
//! Owns: the class, and the weak reference by which a tensor with state finds its object again.
//! Never computes. The handle inside is fixed: in-place operations change what it points to.
//! Invariant: while the object of a tensor with state lives, wrapping that tensor yields it again.

use std::sync::{Arc, OnceLock};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyWeakrefMethods, PyWeakrefReference};

use crate::bindings::object::free_list;
use crate::bindings::object::node::CoOwned;
use crate::dtype::{Complex128, DType, Half, with_dtype};
use crate::error::Result;
use crate::ops::core::broadcast::astype;
use crate::tensor::{Meta, Tensor};

/// A multi-dimensional array that remembers how it was computed.
#[pyclass(name = "Tensor", module = "ferrograd", frozen, weakref, subclass)]
pub(crate) struct PyTensor {
    pub(crate) tensor: Tensor,
    /// The object whose memory this one shows.
    pub(crate) base: Option<Py<PyTensor>>,
    /// The object of the node that this one counts, once there is one.
    pub(crate) node: OnceLock<CoOwned>,
}

impl From<Tensor> for PyTensor {
    #[inline]
    fn from(tensor: Tensor) -> PyTensor {
        PyTensor { tensor, base: None, node: OnceLock::new() }
    }
}

impl PyTensor {
    /// After a change in place: a view tells the history of the memory which tensor it is a view of.
    #[inline]
    pub(crate) fn written(&self) {
        if let Some(base) = &self.base {
            self.tensor.set_base_of_view(&base.get().tensor);
        }
    }
}

/// The identity kept in a tensor's state: a weak reference to its Python object.
struct Object(Py<PyWeakrefReference>);

/// The Python object of the tensor that a computation yields.
#[inline]
pub(crate) fn wrap_computed<'py>(
    py: Python<'py>,
    compute: impl FnOnce() -> Result<Tensor>,
) -> PyResult<Bound<'py, PyAny>> {
    let plain = |tensor: &Tensor| (tensor.meta().is_none() && !tensor.is_view()).then_some(None);
    free_list::computed(py, compute, plain, |tensor| wrap_slow(py, tensor))
}

/// The same of a tensor that may be a view of `source`.
#[inline]
pub(crate) fn wrap_part<'py>(
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
    free_list::computed(py, compute, base, |tensor| wrap_of(source, tensor))
}

/// The object that a view of `source` is a view of.
#[inline]
fn base_of(source: &Bound<'_, PyTensor>) -> Py<PyTensor> {
    let base = source.get().base.as_ref();
    base.map_or_else(|| source.clone().unbind(), |base| base.clone_ref(source.py()))
}

#[inline(never)]
fn wrap_slow(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    wrap(py, tensor)
}

/// The Python object of a tensor: the one it already has, or a new one.
#[inline]
pub(crate) fn wrap(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    if tensor.meta().is_some() {
        return wrap_known(py, tensor);
    }
    // The memory of a view that an operation made of its own intermediate is the view's alone.
    let alone = tensor.is_view() && tensor.storage().is_unique_outside_captures();
    let tensor = if alone { tensor.owner() } else { tensor };
    Ok(free_list::object(py, tensor, None)?.into_any())
}

/// The same for a result of an operation on `source`, which it may be a view of.
#[inline]
pub(crate) fn wrap_of<'py>(
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
    let object = free_list::object(py, tensor, Some(base_of(source)))?;
    if linked {
        remember(&object)?;
    }
    Ok(object.into_any())
}

#[cold]
fn wrap_known(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    if let Some(object) = known_object(py, &tensor) {
        return Ok(object);
    }
    let object = free_list::object(py, tensor, None)?;
    remember(&object)?;
    Ok(object.into_any())
}

/// The living object of a tensor with state.
pub(crate) fn known_object<'py>(py: Python<'py>, tensor: &Tensor) -> Option<Bound<'py, PyAny>> {
    object_of(py, tensor.meta()?)
}

/// The living object that a tensor's state leads to.
pub(crate) fn object_of<'py>(py: Python<'py>, meta: &Meta) -> Option<Bound<'py, PyAny>> {
    // To ask a weak reference runs no code of Python's.
    meta.with_identity(|identity| {
        let object: &Object = (**identity).downcast_ref()?;
        object.0.bind(py).upgrade()
    })
}

/// Makes this object the one its tensor's state leads to.
pub(crate) fn remember(object: &Bound<'_, PyTensor>) -> PyResult<()> {
    let weak = PyWeakrefReference::new(object.as_any())?;
    object.get().tensor.ensure_meta().set_identity(Arc::new(Object(weak.unbind())));
    Ok(())
}

/// A tensor that requires grad, as Python sees it.
pub(crate) fn leaf(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyTensor>> {
    let object = free_list::object(py, tensor, None)?;
    object.get().tensor.make_leaf(true)?;
    remember(&object)?;
    Ok(object)
}

/// A gradient as a Python object that must not be changed.
pub(crate) fn read_only(py: Python<'_>, grad: Tensor) -> PyResult<Bound<'_, PyAny>> {
    wrap(py, grad.read_only())
}

/// The one element as a Python number.
pub(crate) fn item<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
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
