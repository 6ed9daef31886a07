//! The fast path of a compiled function: runs one of the last programs if its guards and arguments match.
//!
//! `_Replayed` is the base class of Python's `Compiled`; a miss calls `Compiled._call`. Invariant: a program runs
//! only in the mode in which it ran before, on arguments with the signature of its trace.

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

/// How results become the return value.
enum Form {
    One,
    Tuple,
    /// This Python function builds it from the list of results.
    Built(Py<PyAny>),
}

/// What a cached call runs.
enum Runs {
    Plain(Py<PyProgram>),
    /// A program with a backward program, and the function that its node may call again.
    Joint(Py<PyJoint>, Py<PyAny>),
    /// The function itself, for the remaining number of calls, if there is no program.
    Function(Py<PyAny>, Vec<Signature>, AtomicU64),
}

/// A call that ran before.
struct Last {
    runs: Runs,
    places: Places,
    mode: Mode,
    default_dtype: DType,
    form: Form,
}

/// How many cached calls are tried before the Python package looks the call up.
const TRIED: usize = 4;

/// The cached calls, most recent first.
type Lasts = SmallVec<[Arc<Last>; TRIED]>;

/// A callable that runs a cached program if one matches, and calls `_call(args, kwargs)` otherwise.
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

    /// Caches a program for calls like this one, whose traced arguments are `values`. A program with a backward
    /// program comes with the `original` function.
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

    /// Runs the function itself for the next `count` calls like this one, because there is no program; `false` if
    /// such calls cannot be matched.
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

    /// The cached programs may reference the function, and so this object.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(lasts) = self.lasts.try_lock() else { return Ok(()) };
        for last in &*lasts {
            // A call in progress holds a reference as well.
            if Arc::strong_count(last) == 1 {
                last.traverse(&visit)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        self._forget();
    }

    /// Drops the cached calls.
    fn _forget(&self) {
        let gone = std::mem::take(&mut *self.lasts());
        drop(gone);
    }
}

impl Replayed {
    fn lasts(&self) -> MutexGuard<'_, Lasts> {
        self.lasts.lock()
    }

    /// Inserts a cached call at this position; spent ones are dropped.
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
            // A comparison of arguments may run Python code (`__eq__` of keyword names): hold no lock.
            let Some(last) = self.lasts().get(number).cloned() else { break };
            let Some(arguments) = last.arguments(py, args, kwargs, surroundings) else { continue };
            let results = match &last.runs {
                Runs::Function(function, _, left) => called(function.bind(py), args, kwargs, left)?,
                _ => last.run(py, arguments)?,
            };
            if results.is_some() {
                return Ok(results);
            }
            // Its guards failed; try the next one.
        }
        Ok(None)
    }
}

/// Calls the function itself, until its count is used up.
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

/// The signature of an array, a tensor or a number.
fn signature(value: &Bound<'_, PyAny>) -> Option<Signature> {
    if let Ok(tensor) = value.cast::<PyTensor>() {
        return Some(Signature::of(&tensor.get().tensor));
    }
    if let Some(number) = number(value) {
        return Some(Signature::of(&number));
    }
    let array = value.cast_exact::<PyUntypedArray>().ok()?;
    Some(Signature { dtype: numpy::native(&array.dtype())?, dims: array.shape().into() })
}

impl Last {
    fn of(runs: Runs, places: Places, form: Form) -> Last {
        Last { runs, places, mode: Mode::current(), default_dtype: default_dtype(), form }
    }

    /// Whether it stands for the function itself and its count is used up.
    fn is_over(&self) -> bool {
        matches!(&self.runs, Runs::Function(_, _, left) if left.load(Ordering::Relaxed) == 0)
    }

    /// The inputs of the program, if the call matches.
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
