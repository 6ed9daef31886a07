//! The short way of a compiled function: the programs that were run last, if the arguments are like those of one of them.
//!
//! Owns: the base class of `Compiled`, with the call of an object of it. Never records, and never says what is wrong with
//! a call: what is like none of the last ones is left to `Compiled._call`. Invariant: a program is run only in the mode in
//! which it was run before, on arguments of the kinds, dtypes and shapes that it was recorded with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use smallvec::SmallVec;

use crate::array::capture;
use crate::bindings::call::default_dtype::default_dtype;
use crate::bindings::compile::argument_match::{Arguments, Places, number};
use crate::bindings::compile::joint_program::PyJoint;
use crate::bindings::compile::trace::{Objects, PyProgram};
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::compile::traced_function::Signature;
use crate::dtype::DType;
use crate::graph::Mode;
use crate::threads::{Mutex, MutexGuard};

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
    /// The function itself, so many times, where no program serves.
    Function(Py<PyAny>, Vec<Signature>, AtomicU64),
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
        values: (Bound<'py, PyList>, bool),
        form: u8,
        build: Py<PyAny>,
        original: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let (values, ordered) = values;
        let Some(places) = Places::of(&call.0, &call.1, &values, ordered) else { return Ok(()) };
        let runs = match original {
            Some(original) => Runs::Joint(program.cast::<PyJoint>()?.clone().unbind(), original),
            None => Runs::Plain(program.cast::<PyProgram>()?.clone().unbind()),
        };
        let form = match form {
            0 => Form::One,
            1 => Form::Tuple,
            _ => Form::Built(build),
        };
        self.add(0, Last::of(runs, places, form));
        Ok(())
    }

    /// Makes the next `count` calls whose arguments are like these run the function itself, where no program serves; whether
    /// such calls can be told.
    fn _remember_function<'py>(
        &self,
        function: Py<PyAny>,
        call: (Bound<'py, PyTuple>, Bound<'py, PyDict>),
        values: (Bound<'py, PyList>, bool),
        count: u64,
    ) -> bool {
        let (values, ordered) = values;
        let Some(places) = Places::of(&call.0, &call.1, &values, ordered) else { return false };
        let wants = values.iter().map(|value| signature(&value));
        let Some(wants) = wants.collect::<Option<Vec<_>>>() else { return false };
        let runs = Runs::Function(function, wants, AtomicU64::new(count));
        self.add(TRIED, Last::of(runs, places, Form::One));
        true
    }

    /// The programs of the function may lead back to it.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(lasts) = self.lasts.try_lock() else { return Ok(()) };
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
    fn lasts(&self) -> MutexGuard<'_, Lasts> {
        self.lasts.lock()
    }

    /// Adds an entry at this place among those that are tried; those that will not run any more go.
    fn add(&self, place: usize, last: Last) {
        let mut lasts = self.lasts();
        let (mut kept, mut gone): (Lasts, Lasts) =
            std::mem::take(&mut *lasts).into_iter().partition(|last| !last.is_over());
        if kept.len() == TRIED {
            gone.extend(kept.pop());
        }
        kept.insert(place.min(kept.len()), Arc::new(last));
        *lasts = kept;
        drop(lasts);
        drop(gone);
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
        for number in 0.. {
            // To compare arguments may run code of theirs: `__eq__` of the names of keywords.
            let Some(last) = self.lasts().get(number).cloned() else { break };
            let Some(arguments) = last.arguments(py, args, kwargs, surroundings) else { continue };
            let results = match &last.runs {
                Runs::Function(function, _, left) => called(function.bind(py), args, kwargs, left)?,
                _ => last.run(py, arguments)?,
            };
            if results.is_some() {
                return Ok(results);
            }
            // Its surroundings are others; the next one may be of these.
        }
        Ok(None)
    }
}

/// Calls the function itself, unless it has been called often enough to try again what else there is.
fn called<'py>(
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    left: &AtomicU64,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let count = left.load(Ordering::Relaxed);
    if count == 0 {
        return Ok(None);
    }
    left.store(count - 1, Ordering::Relaxed);
    function.call(args, kwargs).map(Some)
}

/// What an array, a tensor or a number is like.
fn signature(value: &Bound<'_, PyAny>) -> Option<Signature> {
    if let Ok(tensor) = value.cast::<PyTensor>() {
        return Some(Signature::of(&tensor.get().tensor));
    }
    if let Some(number) = number(value) {
        return Some(Signature::of(&number));
    }
    let array = value.cast_exact::<PyUntypedArray>().ok()?;
    Some(Signature { dtype: numpy::native_dtype(&array.dtype())?, dims: array.shape().into() })
}

impl Last {
    fn of(runs: Runs, places: Places, form: Form) -> Last {
        Last { runs, places, mode: Mode::current(), default_dtype: default_dtype(), form }
    }

    /// Whether it stands for the function itself, which has been called as often as it should.
    fn is_over(&self) -> bool {
        matches!(&self.runs, Runs::Function(_, _, left) if left.load(Ordering::Relaxed) == 0)
    }

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
            Runs::Function(_, wants, _) => wants,
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
            Runs::Function(..) => None,
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
            Runs::Function(function, ..) => visit.call(function)?,
        }
        match &self.form {
            Form::Built(build) => visit.call(build),
            Form::One | Form::Tuple => Ok(()),
        }
    }
}
