//! Pickling of tensors: the elements, and requires_grad, grad and name of a leaf. Tensors with history are refused.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bindings::backward::transform_arguments::_has_history;
use crate::bindings::errors::to_python;
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, set_identity};
use crate::error::Error;
use crate::tensor::Tensor;

/// A leaf from its parts: what `pickle` and `copy` call.
#[pyfunction(name = "_rebuild")]
pub(crate) fn rebuild<'py>(
    class_: &Bound<'py, PyAny>,
    array: &Bound<'py, PyAny>,
    requires_grad: bool,
    grad: Option<&Bound<'py, PyAny>>,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let object = class_.call_method1(pyo3::intern!(py, "__new__"), (class_, array))?;
    let object = object.cast_into::<PyTensor>()?;
    let tensor = &object.get().tensor;
    tensor.set_requires_grad(requires_grad)?;
    if name.is_some() {
        tensor.set_name(name);
    }
    if let Some(grad) = grad {
        tensor.set_grad(Some(tensor_from_array(grad)?))?;
    }
    set_identity(&object)?;
    Ok(object.into_any())
}

fn tensor_from_array(array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = array.cast()?;
    numpy::copy("pickle", array, numpy::dtype_for_copy("pickle", array)?)
}

#[pymethods]
impl PyTensor {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let tensor = &slf.get().tensor;
        if _has_history(slf) {
            return Err(to_python(Box::new(Error::State {
                op: "pickle".into(),
                what:
                    "a tensor with history cannot be pickled, for its graph stays in this process"
                        .into(),
                remedy: "pass x.detach() for the values, as to save them, to plot them or to send them to a process",
            })));
        }
        static REBUILD: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
        let rebuild = REBUILD.import(py, "ferrograd._core", "_rebuild")?.clone();
        let grad = tensor.grad().map(|grad| numpy::to_new_array(py, &grad)).transpose()?;
        let name = tensor.name().map(|name| name.to_string());
        let parts =
            (slf.get_type(), numpy::to_new_array(py, tensor)?, tensor.requires_grad(), grad, name);
        if slf.is_exact_instance_of::<PyTensor>() {
            return (rebuild, parts).into_pyobject(py);
        }
        let state = slf.call_method0(pyo3::intern!(py, "__getstate__"))?;
        (rebuild, parts, state).into_pyobject(py)
    }
}
