//! Programs bound to their arguments, as Python and C call them.
//!
//! Owns: `BoundProgram`, and the way of arguments into it. Never copies an argument. Invariant: a call reads the arrays and
//! tensors that were given, and returns the same objects.

use std::sync::{Arc, OnceLock};

use ::numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::call::intercept::without_gil;
use crate::bindings::compile::argument_match;
use crate::bindings::compile::argument_match::in_place;
use crate::bindings::compile::guards::Watched;
use crate::bindings::compile::trace::{PyProgram, object};
use crate::bindings::errors::to_python;
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::compile::bound_function::{BoundReplay, Callable, stale};
use crate::error::Error;
use crate::tensor::Tensor;
use crate::threads::NotAlone;

/// A compiled function with the memory of its arguments and results: see `Compiled.bind`.
#[pyclass(name = "BoundProgram", module = "ferrograd._core", frozen)]
pub(crate) struct PyBoundProgram {
    bound: Arc<BoundReplay>,
    watched: Arc<Watched>,
    callable: OnceLock<Callable>,
    returns: Py<PyAny>,
    large: bool,
}

#[pymethods]
impl PyProgram {
    /// Binds the program to these arguments; `build` makes of the list of results what calls return.
    fn bind<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyList>,
        tensors: bool,
        build: &Bound<'py, PyAny>,
    ) -> PyResult<PyBoundProgram> {
        let given = arguments.iter().enumerate();
        let arguments: Vec<Tensor> =
            given.map(|(i, given)| self.lasting_argument(i, &given)).collect::<PyResult<_>>()?;
        let bound = Arc::new(self.replay.bind(&arguments)?);
        let results = bound.results().iter().map(|result| match result.ndim() {
            0 if !tensors => numpy::export(py, result, true),
            _ => object(py, result.clone(), tensors),
        });
        let results = results.collect::<PyResult<Vec<_>>>()?;
        let returns = build.call1((PyList::new(py, results)?,))?.unbind();
        let (watched, callable) = (self.watched.clone(), OnceLock::new());
        Ok(PyBoundProgram { bound, watched, callable, returns, large: self.is_large() })
    }
}

impl PyProgram {
    /// An argument as a tensor over its own memory.
    fn lasting_argument(&self, number: usize, given: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        if let Some(value) = argument_match::number(given) {
            return Ok(value);
        }
        if let Ok(tensor) = given.cast::<PyTensor>() {
            return Ok(tensor.get().tensor.clone());
        }
        let shared = match in_place(&self.replay.arguments()[number], given, true) {
            Some(_) => Some(numpy::share("bind", given)?),
            None => None,
        };
        let array = given.cast::<PyUntypedArray>()?;
        let lies = |tensor: &Tensor| numpy::elements(array).ptr() == tensor.ptr().cast_const();
        shared.filter(|tensor| array.is_empty() || lies(tensor)).ok_or_else(|| {
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
    /// Reads the arguments, overwrites the results and returns them.
    fn __call__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.watched.have_changed(py) {
            return Err(to_python(stale()));
        }
        if self.large {
            without_gil(py, || self.bound.run())?;
        } else {
            self.bound.run()?;
        }
        self.watched.set(py)?;
        Ok(self.returns.clone_ref(py))
    }

    /// The address of the function `int (*)(void *data)` that runs the program.
    #[getter]
    fn address(&self) -> PyResult<usize> {
        Ok(self.callable()?.address())
    }

    /// What to pass to that function.
    #[getter]
    fn data(&self) -> PyResult<usize> {
        Ok(self.callable()?.data())
    }

    /// What calls return.
    #[getter]
    fn results(&self, py: Python<'_>) -> Py<PyAny> {
        self.returns.clone_ref(py)
    }
}

impl PyBoundProgram {
    fn callable(&self) -> PyResult<&Callable> {
        if let Some(made) = self.callable.get() {
            return Ok(made);
        }
        let made = self.bound.callable()?;
        // Whoever has the address may call it at any time and without the GIL.
        std::mem::forget(NotAlone::new());
        Ok(self.callable.get_or_init(|| made))
    }
}
