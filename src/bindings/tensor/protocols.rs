//! NumPy's protocols (`__array_ufunc__`, `__array_function__`) and the array API namespace; also methods whose function
//! takes the tensor as second argument.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyNotImplemented, PyTuple};

use crate::bindings::call::dispatch;
use crate::bindings::errors::{bad_type, bad_value};
use crate::bindings::interop::foreign_arrays;
use crate::bindings::interop::foreign_arrays::OverrideRule;
use crate::bindings::object::PyTensor;
use crate::bindings::package;

/// The supported versions of the array API standard.
const API_VERSIONS: [&str; 4] = ["2021.12", "2022.12", "2023.12", "2024.12"];

#[pymethods]
impl PyTensor {
    /// `polygamma(n, x)` of this tensor, SciPy's order of arguments turned round.
    fn polygamma<'py>(
        slf: &Bound<'py, Self>,
        n: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match dispatch::find("polygamma") {
            Some(decl) => dispatch::call(slf.py(), decl, &[n.clone(), slf.as_any().clone()], &[]),
            None => Err(bad_type("polygamma", "the operation does not exist", "report this")),
        }
    }

    /// `compress(condition, x, axis)` of this tensor, as NumPy's method.
    #[pyo3(signature = (condition, axis=None))]
    fn compress<'py>(
        slf: &Bound<'py, Self>,
        condition: &Bound<'py, PyAny>,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let axis = axis.into_pyobject(slf.py())?;
        match dispatch::find("compress") {
            Some(decl) => {
                let args = [condition.clone(), slf.as_any().clone(), axis];
                dispatch::call(slf.py(), decl, &args, &[])
            }
            None => Err(bad_type("compress", "the operation does not exist", "report this")),
        }
    }

    #[pyo3(signature = (ufunc, method, *inputs, **kwargs))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &Bound<'py, PyAny>,
        inputs: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        for input in inputs {
            if foreign_arrays::should_defer(OverrideRule::Ufunc, &input)? {
                return Ok(PyNotImplemented::get(py).to_owned().into_any());
            }
        }
        if kwargs.is_none_or(|kwargs| kwargs.is_empty()) && method.eq(intern!(py, "__call__"))? {
            let table = package::UFUNC_OPERATIONS.get(py)?;
            if let Some(ours) = table.cast::<PyDict>()?.get_item(ufunc)? {
                return ours.call1(inputs);
            }
        }
        let apply = package::ARRAY_UFUNC.get(py)?;
        apply.call1((ufunc, method, inputs, kwargs))
    }

    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        func: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyAny>,
        kwargs: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let apply = package::ARRAY_FUNCTION.get(py)?;
        apply.call1((func, types, args, kwargs))
    }

    /// The namespace of the array API standard, `ferrograd.array_api`.
    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        slf: &Bound<'py, Self>,
        api_version: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyModule>> {
        let Some(version) = api_version else { return slf.py().import(package::ARRAY_API) };
        if !version.extract::<String>().is_ok_and(|name| API_VERSIONS.contains(&name.as_str())) {
            let what = format!("there is no version {}", version.repr()?);
            let remedy = "ask for \"2024.12\" or an earlier one, or leave it out";
            return Err(bad_value("__array_namespace__", what, remedy));
        }
        slf.py().import(package::ARRAY_API)
    }
}
