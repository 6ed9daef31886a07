//! `repr`, `str` and `format` of tensors, on top of NumPy's formatting of the elements.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::bindings::object::item_to_python;
use crate::bindings::object::node::display_name;
use crate::dtype::DType;

fn elements<'py>(slf: &PyTensor, py: Python<'py>, prefix: &str) -> PyResult<Bound<'py, PyAny>> {
    static ARRAY2STRING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let array = numpy::export(py, &slf.tensor, false)?;
    let options = PyDict::new(py);
    options.set_item("separator", if prefix.is_empty() { " " } else { ", " })?;
    options.set_item("prefix", prefix)?;
    ARRAY2STRING.import(py, "numpy", "array2string")?.call((array,), Some(&options))
}

#[pymethods]
impl PyTensor {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let tensor = &self.tensor;
        let mut parts = vec![elements(self, py, "tensor(")?.to_string()];
        if !matches!(tensor.dtype(), DType::F64 | DType::I64 | DType::Bool) || tensor.size() == 0 {
            parts.push(format!("dtype={}", tensor.dtype()));
        }
        if tensor.size() == 0 && tensor.ndim() > 1 {
            parts.push(format!("shape={}", crate::error::Dims::from(tensor.shape())));
        }
        match tensor.grad_fn() {
            Some(node) => parts.push(format!("grad_fn=<{}>", display_name(&node))),
            None if tensor.requires_grad() => parts.push("requires_grad=True".into()),
            None => {}
        }
        if let Some(name) = tensor.name() {
            parts.push(format!("name={name:?}"));
        }
        Ok(format!("tensor({})", parts.join(", ")))
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.tensor.ndim() == 0 {
            // Like NumPy's scalars: the shortest text that identifies the number.
            let array = numpy::export(py, &self.tensor, false)?;
            return Ok(array.get_item(PyTuple::empty(py))?.str()?.into_any());
        }
        elements(self, py, "")
    }

    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        if self.tensor.size() == 1 && !spec.is_empty() {
            return item_to_python(py, &self.tensor)?
                .call_method1(pyo3::intern!(py, "__format__"), (spec,));
        }
        self.__str__(py)?.call_method1(pyo3::intern!(py, "__format__"), (spec,))
    }
}
