//! `BoundProgram`: a program bound to its arguments, callable from Python and C.
//!
//! Invariant: a call reads the bound arrays and tensors without a copy, and returns the same objects every time.

use std::sync::{Arc, OnceLock};

use ::numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::call::intercept::without_gil;
use crate::bindings::compile::guards::Guards;
use crate::bindings::compile::leaf_key;
use crate::bindings::compile::leaf_key::matching_array;
use crate::bindings::compile::program::{PyProgram, result_object};
use crate::bindings::compile::result_structure::ResultStructure;
use crate::bindings::errors::to_python;
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::compile::bound_program::{BoundProgram, CClosure, stale_error};
use crate::error::Error;
use crate::tensor::Tensor;
use crate::threads::NotAlone;

/// A compiled function with the memory of its arguments and results: see `Compiled.bind`.
#[pyclass(name = "BoundProgram", module = "ferrograd._core", frozen)]
pub(crate) struct PyBoundProgram {
    bound: Arc<BoundProgram>,
    guards: Arc<Guards>,
    callable: OnceLock<CClosure>,
    returns: Py<PyAny>,
    large: bool,
}

#[pymethods]
impl PyProgram {
    /// Binds the program to these arguments; `structure` is that of the return value.
    fn bind<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyList>,
        tensors: bool,
        structure: &Bound<'py, ResultStructure>,
    ) -> PyResult<PyBoundProgram> {
        let numbered = arguments.iter().enumerate();
        let arguments: Vec<Tensor> = numbered
            .map(|(i, argument)| self.bound_argument(i, &argument))
            .collect::<PyResult<_>>()?;
        let bound = Arc::new(self.program.bind(&arguments)?);
        let results = bound.results().iter().map(|result| match result.ndim() {
            0 if !tensors => numpy::export(py, result, true),
            _ => result_object(py, result.clone(), tensors),
        });
        let results = results.collect::<PyResult<Vec<_>>>()?;
        let returns = structure.get().assemble(py, results)?.unbind();
        let (guards, callable) = (self.guards.clone(), OnceLock::new());
        Ok(PyBoundProgram { bound, guards, callable, returns, large: self.is_large() })
    }
}

impl PyProgram {
    /// An argument as a tensor over the caller's memory.
    fn bound_argument(&self, number: usize, argument: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        if let Some(value) = leaf_key::number(argument) {
            return Ok(value);
        }
        if let Ok(tensor) = argument.cast::<PyTensor>() {
            return Ok(tensor.get().tensor.clone());
        }
        let shared = match matching_array(&self.program.arguments()[number], argument, true) {
            Some(_) => Some(numpy::share("bind", argument)?),
            None => None,
        };
        let array = argument.cast::<PyUntypedArray>()?;
        let shares_memory =
            |tensor: &Tensor| numpy::elements(array).ptr() == tensor.ptr().cast_const();
        shared.filter(|tensor| array.is_empty() || shares_memory(tensor)).ok_or_else(|| {
            to_python(Box::new(Error::Argument {
                op: "bind".into(),
                what: format!(
                    "argument {number} cannot be read where it lies: it is no array of numbers in C order and aligned"
                ),
                remedy: "pass such an array, or call the function".into(),
            }))
        })
    }
}

#[pymethods]
impl PyBoundProgram {
    /// Runs the program: reads the arguments, overwrites the results and returns them.
    fn __call__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.guards.are_violated(py) {
            return Err(to_python(stale_error()));
        }
        if self.large {
            without_gil(py, || self.bound.run())?;
        } else {
            self.bound.run()?;
        }
        self.guards.set_flags(py)?;
        Ok(self.returns.clone_ref(py))
    }

    /// The address of the C function `int (*)(void *data)` that runs the program.
    #[getter]
    fn address(&self) -> PyResult<usize> {
        Ok(self.callable()?.address())
    }

    /// The `data` argument of that function.
    #[getter]
    fn data(&self) -> PyResult<usize> {
        Ok(self.callable()?.data())
    }

    /// The return value of calls.
    #[getter]
    fn results(&self, py: Python<'_>) -> Py<PyAny> {
        self.returns.clone_ref(py)
    }
}

impl PyBoundProgram {
    fn callable(&self) -> PyResult<&CClosure> {
        if let Some(made) = self.callable.get() {
            return Ok(made);
        }
        let made = self.bound.callable()?;
        // C code may call the address from any thread and without the GIL.
        std::mem::forget(NotAlone::new());
        Ok(self.callable.get_or_init(|| made))
    }
}
