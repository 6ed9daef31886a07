//! Replay as Python starts it: record a call, run its program on arrays, tensors and numbers.
//!
//! Owns: `Program`, the way of arguments into it and of results out of it. Never decides when a function is recorded:
//! `python/ferrograd/_compile` does. Invariant: an argument is read where it lies if it has the dtype, shape and order
//! that were recorded, and is otherwise converted or refused as the recorded function would have.

use ::numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use smallvec::SmallVec;

use crate::array::{Elements, capture};
use crate::bindings::call::door::SMALL;
use crate::bindings::exchange::numpy;
use crate::bindings::object::{PyTensor, wrap};
use crate::bindings::pass::foreign;
use crate::error::Error;
use crate::graph::{Foreign, GRAD, Mode, SERIAL, TRANSFORM};
use crate::ops::derive::replay::{Replay, elements, in_order};
use crate::tensor::Tensor;

/// A recorded function: the list of what its kernels did.
#[pyclass(name = "Program", module = "ferrograd._core", frozen)]
pub(crate) struct PyProgram {
    replay: Replay,
    /// Whether a run is worth releasing the GIL.
    large: bool,
}

/// Calls `function` with copies of the tensors and records it; it returns a list of tensors.
#[pyfunction]
pub(crate) fn _record<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    arguments: Vec<Bound<'py, PyTensor>>,
    weak: bool,
) -> PyResult<(PyProgram, Bound<'py, PyList>)> {
    let tensors: Vec<Tensor> = arguments.iter().map(|a| a.get().tensor.clone()).collect();
    let mut returned = None;
    let (replay, _) = Replay::record(&tensors, weak, |copies| -> PyResult<Vec<Tensor>> {
        let wrapped: PyResult<Vec<_>> = copies.iter().map(|t| wrap(py, t.clone())).collect();
        let results = function.call1(PyTuple::new(py, wrapped?)?)?.cast_into::<PyList>()?;
        let tensors =
            results.iter().map(|result| Ok(result.cast::<PyTensor>()?.get().tensor.clone()));
        let tensors: PyResult<Vec<Tensor>> = tensors.collect();
        returned = Some(results);
        tensors
    })?;
    let results = returned.unwrap_or_else(|| PyList::empty(py));
    let large = replay.work() > SMALL;
    Ok((PyProgram { replay, large }, results))
}

/// Whether this thread records a program.
#[pyfunction]
pub(crate) fn _is_recording_program() -> bool {
    capture::active()
}

/// Whether programs may be recorded and run here: not inside a recording, a custom function or inference mode, and where nobody observes operations.
#[pyfunction]
pub(crate) fn _may_replay() -> bool {
    !capture::active() && Mode::current().0 & !(GRAD | SERIAL | TRANSFORM) == 0
}

/// Whether a transform is differentiating a function here: what such a function closes over may be another tensor next time.
#[pyfunction]
pub(crate) fn _is_in_transform() -> bool {
    Mode::current().has(TRANSFORM)
}

/// An argument of a run.
pub(crate) enum Argument<'py> {
    /// An array whose elements are read where they lie.
    Array(Bound<'py, PyUntypedArray>),
    /// A tensor, or a copy of something else.
    Tensor(Tensor),
}

impl Argument<'_> {
    fn elements(&self) -> Elements<'_> {
        match self {
            Argument::Array(array) => numpy::elements(array),
            Argument::Tensor(tensor) => elements(tensor),
        }
    }
}

#[pymethods]
impl PyProgram {
    /// Runs the program. Results are arrays, or tensors where `tensors` is true. None when what the function read or
    /// decided while it was recorded is different now.
    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyList>,
        tensors: bool,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let mut bound: SmallVec<[Argument<'py>; 8]> = SmallVec::new();
        for (i, argument) in arguments.iter().enumerate() {
            bound.push(self.argument(i, &argument)?);
        }
        self.replay(py, &bound, tensors)?.map(|results| PyList::new(py, results)).transpose()
    }

    /// The steps: name, what is read, what is written.
    fn steps(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        self.replay.program().described()
    }

    /// Whether it reads memory that is no argument.
    #[getter]
    fn reads_outside(&self) -> bool {
        self.replay.program().read_where_it_lies().next().is_some()
    }

    /// The program owns the Python code that its steps call, which may lead back to the program.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        foreign::traverse(self.replay.foreign(), &visit)
    }

    fn __clear__(&self) {
        self.replay.foreign().for_each(Foreign::clear);
    }

    /// Bytes of temporaries of one run.
    #[getter]
    fn temporary_bytes(&self) -> usize {
        self.replay.program().temporary_bytes()
    }
}

/// The results of a run.
pub(crate) type Objects<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;

impl PyProgram {
    pub(crate) fn replay<'py>(
        &self,
        py: Python<'py>,
        bound: &[Argument<'py>],
        tensors: bool,
    ) -> PyResult<Option<Objects<'py>>> {
        let written = |argument: &Argument<'_>| match argument {
            Argument::Tensor(tensor) => self.replay.writes_to(tensor),
            Argument::Array(_) => false,
        };
        if self.replay.is_stale() || bound.iter().any(written) {
            return Ok(None);
        }
        let inputs: SmallVec<[Elements<'_>; 8]> = bound.iter().map(Argument::elements).collect();
        let program = self.replay.program();
        let results = program.allocate()?;
        let done = if self.large {
            py.detach(|| program.run(&inputs, &results))
        } else {
            program.run(&inputs, &results)
        };
        match done {
            Err(error) if matches!(*error, Error::Diverged { .. }) => return Ok(None),
            done => done?,
        }
        self.replay.finish(&results)?;
        let object = |number| -> PyResult<Bound<'py, PyAny>> {
            let result = self.replay.result(number, &results, |i| match &bound[i] {
                Argument::Tensor(tensor) => Ok(tensor.clone()),
                Argument::Array(array) => {
                    numpy::copy("compile", array, self.replay.arguments()[i].dtype)
                }
            })?;
            match (tensors, result.ndim()) {
                (true, _) => wrap(py, result),
                (false, 0) => numpy::scalar(py, &result),
                (false, _) => numpy::export(py, &result, true),
            }
        };
        (0..self.replay.results()).map(object).collect::<PyResult<_>>().map(Some)
    }

    /// An array that lies as the recorded argument did.
    pub(crate) fn in_place<'py>(
        &self,
        number: usize,
        given: &Bound<'py, PyAny>,
    ) -> Option<Argument<'py>> {
        let want = &self.replay.arguments()[number];
        let array = given.cast_exact::<PyUntypedArray>().ok()?;
        let here = array.shape() == &want.dims[..]
            && array.is_c_contiguous()
            && numpy::native(&array.dtype()) == Some(want.dtype)
            && numpy::is_aligned(array);
        here.then(|| Argument::Array(array.clone()))
    }

    /// Whether a tensor can be read where it lies.
    pub(crate) fn takes(&self, number: usize, given: &Tensor) -> bool {
        let want = &self.replay.arguments()[number];
        given.dtype() == want.dtype
            && given.shape() == &want.dims[..]
            && given.is_contiguous()
            && !given.requires_grad()
    }

    fn argument<'py>(&self, number: usize, given: &Bound<'py, PyAny>) -> PyResult<Argument<'py>> {
        let want = &self.replay.arguments()[number];
        if let Some(array) = self.in_place(number, given) {
            return Ok(array);
        }
        if let Ok(array) = given.cast_exact::<PyUntypedArray>() {
            return Ok(Argument::Tensor(numpy::copy("compile", array, want.dtype)?));
        }
        if let Ok(number) = given.cast_exact::<PyFloat>() {
            return Ok(Argument::Tensor(Tensor::from(number.value())));
        }
        let tensor = &given.cast::<PyTensor>()?.get().tensor;
        Ok(Argument::Tensor(in_order(tensor)?))
    }
}
