//! The short way of a compiled function: the program that was run last, if the arguments are like the last ones.
//!
//! Owns: the base class of `Compiled`, with the call of an object of it. Never records, and never says what is wrong with
//! a call: what is not like the last one is left to `Compiled._call`. Invariant: a program is run only in the mode in
//! which it was recorded, on arguments of the kinds, dtypes and shapes that it was recorded with.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use smallvec::SmallVec;

use crate::array::capture;
use crate::bindings::call::default_dtype::default_dtype;
use crate::bindings::object::PyTensor;
use crate::bindings::pass::replay::{Argument, Objects, PyProgram};
use crate::dtype::DType;
use crate::graph::Mode;
use crate::tensor::Tensor;

/// What an argument was when its program was recorded.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Array,
    Tensor,
    Float,
}

impl Kind {
    fn of(given: &Bound<'_, PyAny>) -> Kind {
        if given.is_exact_instance_of::<PyFloat>() {
            Kind::Float
        } else if given.cast::<PyTensor>().is_ok() {
            Kind::Tensor
        } else {
            Kind::Array
        }
    }
}

/// How the results of a program become those of the function.
enum Form {
    One,
    Tuple,
    /// By this function of the list.
    Built(Py<PyAny>),
}

/// The program that was run last.
struct Last {
    program: Py<PyProgram>,
    kinds: SmallVec<[Kind; 8]>,
    mode: Mode,
    default_dtype: DType,
    form: Form,
}

/// A callable that runs the last program again where it can, and calls `_call(args, kwargs)` where it cannot.
#[pyclass(name = "_Replayed", module = "ferrograd._core", subclass, frozen)]
pub(crate) struct Replayed {
    last: Mutex<Option<std::sync::Arc<Last>>>,
}

#[pymethods]
impl Replayed {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Replayed {
        Replayed { last: Mutex::new(None) }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if kwargs.is_none_or(PyDictMethods::is_empty)
            && let Some(results) = slf.get().again(py, args)?
        {
            return Ok(results);
        }
        let kwargs = kwargs.cloned().unwrap_or_else(|| PyDict::new(py));
        slf.call_method1(pyo3::intern!(py, "_call"), (args, kwargs))
    }

    /// Makes this the program of calls whose arguments are like these, each of which is an argument of the program.
    fn _remember<'py>(
        &self,
        program: Bound<'py, PyProgram>,
        arguments: &Bound<'py, PyList>,
        form: u8,
        build: Py<PyAny>,
    ) {
        let kinds = arguments.iter().map(|given| Kind::of(&given)).collect();
        let form = match form {
            0 => Form::One,
            1 => Form::Tuple,
            _ => Form::Built(build),
        };
        let (mode, default_dtype) = (Mode::current(), default_dtype());
        self.set(Some(Last { program: program.unbind(), kinds, mode, default_dtype, form }));
    }

    /// The programs of the function may lead back to it.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(last) = self.last.try_lock() else { return Ok(()) };
        let Some(last) = &*last else { return Ok(()) };
        visit.call(&last.program)?;
        match &last.form {
            Form::Built(build) => visit.call(build),
            Form::One | Form::Tuple => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.set(None);
    }

    /// Forgets the program.
    fn _forget(&self) {
        self.set(None);
    }
}

impl Replayed {
    fn set(&self, last: Option<Last>) {
        let mut slot = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *slot, last.map(std::sync::Arc::new));
        drop(slot);
        drop(old);
    }

    fn again<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(last) = last else { return Ok(None) };
        let surroundings = (last.mode, last.default_dtype) == (Mode::current(), default_dtype());
        if args.len() != last.kinds.len() || !surroundings || capture::active() {
            return Ok(None);
        }
        let program = last.program.get();
        let mut bound: SmallVec<[Argument<'py>; 8]> = SmallVec::new();
        for (i, (given, &kind)) in args.iter_borrowed().zip(&last.kinds).enumerate() {
            let Some(argument) = like(program, i, kind, &given) else { return Ok(None) };
            bound.push(argument);
        }
        let tensors = last.kinds.contains(&Kind::Tensor);
        let Some(results) = program.replay(py, &bound, tensors)? else { return Ok(None) };
        formed(py, &last.form, results).map(Some)
    }
}

/// An argument, if it is like the one that was recorded.
fn like<'py>(
    program: &PyProgram,
    number: usize,
    kind: Kind,
    given: &Bound<'py, PyAny>,
) -> Option<Argument<'py>> {
    match kind {
        Kind::Array => program.in_place(number, given),
        Kind::Float => {
            let value = given.cast_exact::<PyFloat>().ok()?.value();
            Some(Argument::Tensor(Tensor::from(value)))
        }
        Kind::Tensor => {
            let tensor = &given.cast_exact::<PyTensor>().ok()?.get().tensor;
            program.takes(number, tensor).then(|| Argument::Tensor(tensor.clone()))
        }
    }
}

fn formed<'py>(
    py: Python<'py>,
    form: &Form,
    mut results: Objects<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    match form {
        Form::One => Ok(results.pop().unwrap_or_else(|| py.None().into_bound(py))),
        Form::Tuple => Ok(PyTuple::new(py, results)?.into_any()),
        Form::Built(build) => build.bind(py).call1((PyList::new(py, results)?,)),
    }
}
