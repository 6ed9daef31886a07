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
use crate::bindings::compile::argument_match::{ArgumentTree, Arguments, number};
use crate::bindings::compile::differentiable_program::PyDifferentiableProgram;
use crate::bindings::compile::program::{Objects, PyProgram};
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::compile::program::Signature;
use crate::dtype::DType;
use crate::graph::Mode;
use crate::threads::{Mutex, MutexGuard};

/// How results become the return value.
enum ResultStructure {
    Single,
    Tuple,
    /// This Python function builds it from the list of results.
    Built(Py<PyAny>),
}

/// What a cached call runs.
enum Callee {
    Program(Py<PyProgram>),
    /// A program with a backward program, and the function that its node may call again.
    Differentiable(Py<PyDifferentiableProgram>, Py<PyAny>),
    /// The function itself, for the remaining number of calls, if there is no program.
    Function(Py<PyAny>, Vec<Signature>, AtomicU64),
}

/// A call that ran before.
struct CachedCall {
    callee: Callee,
    argument_tree: ArgumentTree,
    mode: Mode,
    default_dtype: DType,
    structure: ResultStructure,
}

/// How many cached calls are tried before the Python package looks the call up.
const MAX_CACHED: usize = 4;

/// The cached calls, most recent first.
type CachedCalls = SmallVec<[Arc<CachedCall>; MAX_CACHED]>;

/// A callable that runs a cached program if one matches, and calls `_call(args, kwargs)` otherwise.
#[pyclass(name = "_Replayed", module = "ferrograd._core", subclass, frozen)]
pub(crate) struct CompiledCall {
    cached_calls: Mutex<CachedCalls>,
}

#[pymethods]
impl CompiledCall {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> CompiledCall {
        CompiledCall { cached_calls: Mutex::default() }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if let Some(results) = slf.get().try_cached(py, args, kwargs)? {
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
        let Some(argument_tree) = ArgumentTree::of(&call.0, &call.1, &values, ordered) else {
            return Ok(());
        };
        let callee = match original {
            Some(original) => Callee::Differentiable(
                program.cast::<PyDifferentiableProgram>()?.clone().unbind(),
                original,
            ),
            None => Callee::Program(program.cast::<PyProgram>()?.clone().unbind()),
        };
        let structure = match form {
            0 => ResultStructure::Single,
            1 => ResultStructure::Tuple,
            _ => ResultStructure::Built(build),
        };
        self.add(0, CachedCall::of(callee, argument_tree, structure));
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
        let Some(argument_tree) = ArgumentTree::of(&call.0, &call.1, &values, ordered) else {
            return false;
        };
        let signatures = values.iter().map(|value| signature(&value));
        let Some(signatures) = signatures.collect::<Option<Vec<_>>>() else { return false };
        let callee = Callee::Function(function, signatures, AtomicU64::new(count));
        self.add(MAX_CACHED, CachedCall::of(callee, argument_tree, ResultStructure::Single));
        true
    }

    /// The cached programs may reference the function, and so this object.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(cached_calls) = self.cached_calls.try_lock() else { return Ok(()) };
        for cached in &*cached_calls {
            // A call in progress holds a reference as well.
            if Arc::strong_count(cached) == 1 {
                cached.traverse(&visit)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        self._forget();
    }

    /// Drops the cached calls.
    fn _forget(&self) {
        let dropped = std::mem::take(&mut *self.cached_calls());
        drop(dropped);
    }
}

impl CompiledCall {
    fn cached_calls(&self) -> MutexGuard<'_, CachedCalls> {
        self.cached_calls.lock()
    }

    /// Inserts a cached call at this position; spent ones are dropped.
    fn add(&self, place: usize, cached: CachedCall) {
        let mut cached_calls = self.cached_calls();
        let (mut retained, mut dropped): (CachedCalls, CachedCalls) =
            std::mem::take(&mut *cached_calls).into_iter().partition(|cached| !cached.is_spent());
        if retained.len() == MAX_CACHED {
            dropped.extend(retained.pop());
        }
        retained.insert(place.min(retained.len()), Arc::new(cached));
        *cached_calls = retained;
        drop(cached_calls);
        drop(dropped);
    }

    fn try_cached<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if capture::active() {
            return Ok(None);
        }
        let context = (Mode::current(), default_dtype());
        for number in 0.. {
            // A comparison of arguments may run Python code (`__eq__` of keyword names): hold no lock.
            let Some(cached) = self.cached_calls().get(number).cloned() else { break };
            let Some(arguments) = cached.arguments(py, args, kwargs, context) else { continue };
            let results = match &cached.callee {
                Callee::Function(function, _, remaining) => {
                    call_function(function.bind(py), args, kwargs, remaining)?
                }
                _ => cached.run(py, arguments)?,
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
fn call_function<'py>(
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    remaining: &AtomicU64,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let count = remaining.load(Ordering::Relaxed);
    if count == 0 {
        return Ok(None);
    }
    remaining.store(count - 1, Ordering::Relaxed);
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
    Some(Signature { dtype: numpy::native_dtype(&array.dtype())?, dims: array.shape().into() })
}

impl CachedCall {
    fn of(callee: Callee, argument_tree: ArgumentTree, structure: ResultStructure) -> CachedCall {
        CachedCall {
            callee,
            argument_tree,
            mode: Mode::current(),
            default_dtype: default_dtype(),
            structure,
        }
    }

    /// Whether it stands for the function itself and its count is used up.
    fn is_spent(&self) -> bool {
        matches!(&self.callee, Callee::Function(_, _, remaining) if remaining.load(Ordering::Relaxed) == 0)
    }

    /// The inputs of the program, if the call matches.
    fn arguments<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        context: (Mode, DType),
    ) -> Option<Arguments<'py>> {
        let signatures: &[Signature] = match &self.callee {
            Callee::Program(program) => program.bind(py).get().arguments(),
            Callee::Differentiable(program, _) => program.bind(py).get().arguments(),
            Callee::Function(_, signatures, _) => signatures,
        };
        ((self.mode, self.default_dtype) == context).then_some(())?;
        self.argument_tree.arguments(args, kwargs, signatures)
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: Arguments<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let results = match &self.callee {
            Callee::Program(program) => {
                program.get().run_arguments(py, &arguments, self.argument_tree.has_tensors)?
            }
            Callee::Differentiable(program, original) => {
                program.get().call(py, arguments, original.bind(py))?
            }
            Callee::Function(..) => None,
        };
        results.map(|results| self.build_result(py, results)).transpose()
    }

    fn build_result<'py>(
        &self,
        py: Python<'py>,
        mut results: Objects<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.structure {
            ResultStructure::Single => {
                Ok(results.pop().unwrap_or_else(|| py.None().into_bound(py)))
            }
            ResultStructure::Tuple => Ok(PyTuple::new(py, results)?.into_any()),
            ResultStructure::Built(build) => build.bind(py).call1((PyList::new(py, results)?,)),
        }
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.callee {
            Callee::Program(program) => visit.call(program)?,
            Callee::Differentiable(program, original) => {
                visit.call(program)?;
                visit.call(original)?;
            }
            Callee::Function(function, ..) => visit.call(function)?,
        }
        match &self.structure {
            ResultStructure::Built(build) => visit.call(build),
            ResultStructure::Single | ResultStructure::Tuple => Ok(()),
        }
    }
}
