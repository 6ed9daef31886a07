//! The short way of a compiled function: the programs that were run last, if the arguments are like those of one of them.
//!
//! Owns: the base class of `Compiled`, with the call of an object of it. Never records, and never says what is wrong with
//! a call: what is like none of the last ones is left to `Compiled._call`. Invariant: a program is run only in the mode in
//! which it was run before, on arguments of the kinds, dtypes and shapes that it was recorded with.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use smallvec::SmallVec;

use crate::array::capture;
use crate::bindings::call::default_dtype::default_dtype;
use crate::bindings::pass::arguments::{Arguments, Places};
use crate::bindings::pass::joint::PyJoint;
use crate::bindings::pass::replay::{Objects, PyProgram};
use crate::dtype::DType;
use crate::graph::Mode;
use crate::ops::derive::replay::Signature;

/// How the results of a program become those of the function.
enum Form {
    One,
    Tuple,
    /// By this function of the list.
    Built(Py<PyAny>),
}

/// What runs.
enum Runs {
    Plain(Py<PyProgram>),
    /// A call is one node, which may call the function of tensors again.
    Joint(Py<PyJoint>, Py<PyAny>),
}

/// A program that was run.
struct Last {
    runs: Runs,
    places: Places,
    mode: Mode,
    default_dtype: DType,
    form: Form,
}

/// How many programs are tried before the package looks the call up.
const TRIED: usize = 4;

/// Those that were run, the last one first.
type Lasts = SmallVec<[Arc<Last>; TRIED]>;

/// A callable that runs one of the last programs again where it can, and calls `_call(args, kwargs)` where it cannot.
#[pyclass(name = "_Replayed", module = "ferrograd._core", subclass, frozen)]
pub(crate) struct Replayed {
    lasts: Mutex<Lasts>,
}

#[pymethods]
impl Replayed {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Replayed {
        Replayed { lasts: Mutex::default() }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if let Some(results) = slf.get().again(py, args, kwargs)? {
            return Ok(results);
        }
        let kwargs = kwargs.cloned().unwrap_or_else(|| PyDict::new(py));
        slf.call_method1(pyo3::intern!(py, "_call"), (args, kwargs))
    }

    /// Makes this a program of calls whose arguments are like these, of which it takes `values`. A program whose call is a
    /// node comes with the function of tensors that the node may call.
    #[pyo3(signature = (program, call, values, form, build, original))]
    fn _remember<'py>(
        &self,
        program: &Bound<'py, PyAny>,
        call: (Bound<'py, PyTuple>, Bound<'py, PyDict>),
        values: &Bound<'py, PyList>,
        form: u8,
        build: Py<PyAny>,
        original: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let Some(places) = Places::of(&call.0, &call.1, values) else { return Ok(()) };
        let runs = match original {
            Some(original) => Runs::Joint(program.cast::<PyJoint>()?.clone().unbind(), original),
            None => Runs::Plain(program.cast::<PyProgram>()?.clone().unbind()),
        };
        let form = match form {
            0 => Form::One,
            1 => Form::Tuple,
            _ => Form::Built(build),
        };
        let (mode, default_dtype) = (Mode::current(), default_dtype());
        let last = Arc::new(Last { runs, places, mode, default_dtype, form });
        let mut lasts = self.lasts();
        let gone = if lasts.len() == TRIED { lasts.pop() } else { None };
        lasts.insert(0, last);
        drop(lasts);
        drop(gone);
        Ok(())
    }

    /// The programs of the function may lead back to it.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(lasts) = self.lasts.try_lock() else { return Ok(()) };
        for last in &*lasts {
            // A call that goes on owns it as well.
            if Arc::strong_count(last) == 1 {
                last.traverse(&visit)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        self._forget();
    }

    /// Forgets the programs.
    fn _forget(&self) {
        let gone = std::mem::take(&mut *self.lasts());
        drop(gone);
    }
}

impl Replayed {
    fn lasts(&self) -> std::sync::MutexGuard<'_, Lasts> {
        self.lasts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn again<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if capture::active() {
            return Ok(None);
        }
        let surroundings = (Mode::current(), default_dtype());
        let like = |last: &Arc<Last>| {
            let arguments = last.arguments(py, args, kwargs, surroundings)?;
            Some((Arc::clone(last), arguments))
        };
        let found = self.lasts().iter().find_map(like);
        let Some((last, arguments)) = found else { return Ok(None) };
        last.run(py, arguments)
    }
}

impl Last {
    /// The arguments that the program takes, if the call is like the recorded one.
    fn arguments<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        surroundings: (Mode, DType),
    ) -> Option<Arguments<'py>> {
        let wants: &[Signature] = match &self.runs {
            Runs::Plain(program) => program.bind(py).get().arguments(),
            Runs::Joint(program, _) => program.bind(py).get().arguments(),
        };
        ((self.mode, self.default_dtype) == surroundings).then_some(())?;
        self.places.arguments(args, kwargs, wants)
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: Arguments<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let results = match &self.runs {
            Runs::Plain(program) => program.get().replay(py, &arguments, self.places.tensors)?,
            Runs::Joint(program, original) => {
                program.get().call(py, arguments, original.bind(py))?
            }
        };
        results.map(|results| self.formed(py, results)).transpose()
    }

    fn formed<'py>(
        &self,
        py: Python<'py>,
        mut results: Objects<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.form {
            Form::One => Ok(results.pop().unwrap_or_else(|| py.None().into_bound(py))),
            Form::Tuple => Ok(PyTuple::new(py, results)?.into_any()),
            Form::Built(build) => build.bind(py).call1((PyList::new(py, results)?,)),
        }
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.runs {
            Runs::Plain(program) => visit.call(program)?,
            Runs::Joint(program, original) => {
                visit.call(program)?;
                visit.call(original)?;
            }
        }
        match &self.form {
            Form::Built(build) => visit.call(build),
            Form::One | Form::Tuple => Ok(()),
        }
    }
}
