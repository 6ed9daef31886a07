//! The fast path of a compiled function: runs one of the last programs if its guards and arguments match.
//!
//! `_CompiledCall` is the base class of Python's `Compiled`; a miss calls `Compiled._call`. Invariant: a program runs
//! only in the mode in which it ran before, on arguments with the signature of its trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use smallvec::SmallVec;

use crate::array::observer;
use crate::bindings::call::default_dtype::default_dtype;
use crate::bindings::compile::call_signature::CallSignature;
use crate::bindings::compile::differentiable_program::PyDifferentiableProgram;
use crate::bindings::compile::leaf_key::Arguments;
use crate::bindings::compile::program::PyProgram;
use crate::bindings::compile::result_structure::ResultStructure;
use crate::dtype::DType;
use crate::graph::Mode;
use crate::threads::{Mutex, MutexGuard};

/// What a cached call runs.
enum Callee {
    Program(Py<PyProgram>, Py<ResultStructure>),
    /// A program with a backward program, and the function that its node may call again.
    Differentiable(Py<PyDifferentiableProgram>, Py<PyAny>, Py<ResultStructure>),
    /// The function itself, for the remaining number of calls, if there is no program.
    Function(Py<PyAny>, AtomicU64),
}

/// A call that ran before.
struct CachedCall {
    callee: Callee,
    signature: Py<CallSignature>,
    /// Whether there is a tensor among the arguments: results are tensors then.
    has_tensors: bool,
    mode: Mode,
    default_dtype: DType,
}

/// How many cached calls are tried before the Python package looks the call up.
const MAX_CACHED: usize = 4;

/// The cached calls, most recent first.
type CachedCalls = SmallVec<[Arc<CachedCall>; MAX_CACHED]>;

/// A callable that runs a cached program if one matches, and calls `_call(args, kwargs)` otherwise.
#[pyclass(name = "_CompiledCall", module = "ferrograd._core", subclass, frozen)]
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

    /// Caches a program for calls of this signature. A program with a backward program comes with the `original`
    /// function.
    #[pyo3(signature = (program, signature, structure, original))]
    fn _remember<'py>(
        &self,
        program: &Bound<'py, PyAny>,
        signature: &Bound<'py, CallSignature>,
        structure: Py<ResultStructure>,
        original: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        if !signature.get().is_direct() {
            return Ok(());
        }
        let callee = match original {
            Some(original) => Callee::Differentiable(
                program.cast::<PyDifferentiableProgram>()?.clone().unbind(),
                original,
                structure,
            ),
            None => Callee::Program(program.cast::<PyProgram>()?.clone().unbind(), structure),
        };
        self.add(0, CachedCall::of(callee, signature));
        Ok(())
    }

    /// Runs the function itself for the next `count` calls of this signature, because there is no program; `false` if
    /// such calls cannot be matched.
    fn _remember_function(
        &self,
        function: Py<PyAny>,
        signature: &Bound<'_, CallSignature>,
        count: u64,
    ) -> bool {
        let is_direct = signature.get().is_direct();
        if is_direct {
            let callee = Callee::Function(function, AtomicU64::new(count));
            self.add(MAX_CACHED, CachedCall::of(callee, signature));
        }
        is_direct
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
        if observer::is_active() {
            return Ok(None);
        }
        let context = (Mode::current(), default_dtype());
        for number in 0.. {
            // A comparison of arguments may run Python code (`__eq__` of keyword names): hold no lock.
            let Some(cached) = self.cached_calls().get(number).cloned() else { break };
            let Some(arguments) = cached.arguments(args, kwargs, context) else { continue };
            let results = match &cached.callee {
                Callee::Function(function, remaining) => {
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

impl CachedCall {
    fn of(callee: Callee, signature: &Bound<'_, CallSignature>) -> CachedCall {
        CachedCall {
            callee,
            signature: signature.clone().unbind(),
            has_tensors: signature.get().has_tensors(),
            mode: Mode::current(),
            default_dtype: default_dtype(),
        }
    }

    /// Whether it stands for the function itself and its count is used up.
    fn is_spent(&self) -> bool {
        matches!(&self.callee, Callee::Function(_, remaining) if remaining.load(Ordering::Relaxed) == 0)
    }

    /// The inputs of the program, if the call matches.
    fn arguments<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        context: (Mode, DType),
    ) -> Option<Arguments<'py>> {
        ((self.mode, self.default_dtype) == context).then_some(())?;
        self.signature.get().inputs(args, kwargs)
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: Arguments<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (results, structure) = match &self.callee {
            Callee::Program(program, structure) => {
                (program.get().run_arguments(py, &arguments, self.has_tensors)?, structure)
            }
            Callee::Differentiable(program, original, structure) => {
                (program.get().call(py, arguments, original.bind(py))?, structure)
            }
            Callee::Function(..) => return Ok(None),
        };
        results.map(|results| structure.get().assemble(py, results)).transpose()
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.callee {
            Callee::Program(program, structure) => {
                visit.call(program)?;
                visit.call(structure)?;
            }
            Callee::Differentiable(program, original, structure) => {
                visit.call(program)?;
                visit.call(original)?;
                visit.call(structure)?;
            }
            Callee::Function(function, _) => visit.call(function)?,
        }
        visit.call(&self.signature)
    }
}
