//! `Program` for Python: traces a call, and runs the program on arrays, tensors and numbers.
//!
//! Invariant: an argument with the dtype, shape and order of the trace is read without a copy; another one is
//! converted or refused as the traced function would.

use std::sync::{Arc, OnceLock};

use ::numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use smallvec::{SmallVec, smallvec};

use crate::array::{self, ElementWord, Elements, ElementsMut, Storage, observer};
use crate::bindings::call::intercept::{GIL_RELEASE_ELEMENTS, without_gil};
use crate::bindings::call::python_host_call;
use crate::bindings::compile::guards::Guards;
use crate::bindings::compile::leaf_key;
use crate::bindings::compile::leaf_key::{Argument, matching_array};
use crate::bindings::compile::run_count::RunCount;
use crate::bindings::custom_op::trace_with_retry;
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, wrap};
use crate::compile::program::{Executable, GradMemory, Output, Program, dry_run, to_contiguous};
use crate::compile::trace::buffers;
use crate::error::{Error, Result};
use crate::graph::{GRAD, HostObjects, Mode, SERIAL, TRANSFORM};
use crate::tensor::Tensor;

/// A traced function as a list of kernels.
#[pyclass(name = "Program", module = "ferrograd._core", frozen)]
pub(crate) struct PyProgram {
    pub(super) program: Arc<Program>,
    pub(super) guards: Arc<Guards>,
    /// Decided at the first run, which plans the program.
    run_options: OnceLock<RunOptions>,
    run_count: RunCount,
}

/// How runs are done.
struct RunOptions {
    /// Whether a run is long enough to release the GIL.
    large: bool,
    /// The results that the program may write directly into small NumPy arrays: see `Program::contiguous_results`.
    direct_results: Option<Vec<usize>>,
}

/// Freed memory beyond this is returned to the system after a trace.
const MAX_CACHED_BYTES: usize = 64 << 20;

/// Larger results use our pool, which recycles memory; NumPy would ask the system for it.
const MAX_NUMPY_BYTES: usize = 1 << 14;

/// Calls `function`, which returns a list of tensors, with copies of the tensors, and traces it. `watch` has the
/// dicts and lists that it read. No program if tensors escape and `may_keep` allows it.
#[pyfunction]
pub(crate) fn _record<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    arguments: Vec<Bound<'py, PyTensor>>,
    weak: bool,
    may_keep: bool,
    watch: &Bound<'py, PyAny>,
) -> PyResult<(Option<PyProgram>, Bound<'py, PyList>)> {
    let tensors: Vec<Tensor> = arguments.iter().map(|a| a.get().tensor.clone()).collect();
    let (program, results) = trace_with_retry(|| trace(py, function, &tensors, (weak, may_keep)))?;
    trim_cache();
    let wrap_program = |program: Program| {
        let guards = Arc::new(Guards::of(watch)?);
        let (program, run_options, run_count) =
            (Arc::new(program), OnceLock::new(), RunCount::new());
        PyResult::Ok(PyProgram { program, guards, run_options, run_count })
    };
    Ok((program.map(wrap_program).transpose()?, results))
}

/// Whether a run is long enough to release the GIL: many elements, or loops and branches.
pub(super) fn is_large(program: &Executable) -> bool {
    program.work() > GIL_RELEASE_ELEMENTS || program.has_objects()
}

/// A trace keeps every buffer alive until it ends; much free memory is returned to the system then.
pub(super) fn trim_cache() {
    if array::cached_bytes() > MAX_CACHED_BYTES {
        array::trim();
    }
}

fn trace<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    tensors: &[Tensor],
    (has_scalars, may_keep): (bool, bool),
) -> PyResult<(Option<Program>, Bound<'py, PyList>)> {
    // Python's tensor objects of the results are dropped before the trace ends: another reference to one is an
    // escape.
    let called = |copies: &[Tensor]| call(py, function, copies).map(|(_, tensors)| tensors);
    let (program, results) = Program::try_trace(tensors, has_scalars, may_keep, called)?;
    let results: PyResult<Vec<_>> = results.into_iter().map(|x| wrap(py, x)).collect();
    Ok((program, PyList::new(py, results?)?))
}

/// Calls a Python function of tensors that returns a list of tensors.
pub(crate) fn call<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    inputs: &[Tensor],
) -> PyResult<(Bound<'py, PyList>, Vec<Tensor>)> {
    let wrapped: PyResult<Vec<_>> = inputs.iter().map(|x| wrap(py, x.clone())).collect();
    let results = function.call1(PyTuple::new(py, wrapped?)?)?.cast_into::<PyList>()?;
    let tensor = |result: Bound<'py, PyAny>| Ok(result.cast::<PyTensor>()?.get().tensor.clone());
    let tensors: PyResult<Vec<Tensor>> = results.iter().map(tensor).collect();
    Ok((results, tensors?))
}

/// Returns `convert(function())` and undoes the side effects of `function`.
#[pyfunction]
pub(crate) fn _dry_run<'py>(
    function: &Bound<'py, PyAny>,
    convert: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    trace_with_retry(|| {
        let called: PyResult<_> = dry_run(|| function.call0(), |found| convert.call1((found,)));
        called
    })
}

/// The results of a call as NumPy arrays and scalars with memory of their own; results that share memory share one
/// copy.
#[pyfunction]
pub(crate) fn _as_arrays<'py>(
    py: Python<'py>,
    results: Vec<Bound<'py, PyTensor>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut copies: Vec<(Storage, Storage)> = Vec::new();
    let all = || results.iter().map(|result| &result.get().tensor);
    let array = |result: &Tensor| {
        let memory = result.storage();
        if result.ndim() == 0 {
            return numpy::scalar(py, result);
        }
        if all().filter(|other| other.storage().same(memory)).count() == 1 {
            return numpy::to_new_array(py, result);
        }
        let known = copies.iter().find(|(of, _)| of.same(memory)).map(|(_, copy)| copy.clone());
        let copy = match known {
            Some(copy) => copy,
            None => {
                let copy = memory.copy()?;
                copies.push((memory.data_handle(), copy.clone()));
                copy
            }
        };
        let shared = Tensor::assemble(copy, result.layout().clone(), result.dtype(), None);
        numpy::export(py, &shared, true)
    };
    all().map(array).collect()
}

/// Whether a change in place was refused during the active trace: see `admit_change`.
#[pyfunction]
pub(crate) fn _was_change_refused() -> bool {
    buffers::was_write_refused()
}

/// Whether this thread is tracing.
#[pyfunction]
pub(crate) fn _is_recording_program() -> bool {
    observer::is_active()
}

/// Whether a tensor's contents are traced, so that Python must not read them.
#[pyfunction]
pub(crate) fn _is_computed_anew(x: &Bound<'_, PyTensor>) -> bool {
    observer::is_active() && observer::refuses_read(x.get().tensor.storage().ptr().addr())
}

/// Whether programs may be traced and run here: not inside a trace, a custom function, inference mode or an observer
/// of operations.
#[pyfunction]
pub(crate) fn _may_replay() -> bool {
    !observer::is_active() && Mode::current().0 & !(GRAD | SERIAL | TRANSFORM) == 0
}

/// Whether a transform is differentiating a function here: what that function closes over may change between calls.
#[pyfunction]
pub(crate) fn _is_in_transform() -> bool {
    Mode::current().has(TRANSFORM)
}

#[pymethods]
impl PyProgram {
    /// Runs the program. Results are arrays, or tensors if `tensors` is true. None if a guard fails.
    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyList>,
        tensors: bool,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let mut inputs: SmallVec<[Argument<'py>; 8]> = SmallVec::new();
        for (i, argument) in arguments.iter().enumerate() {
            inputs.push(self.argument(i, &argument)?);
        }
        self.run_arguments(py, &inputs, tensors)?
            .map(|results| PyList::new(py, results))
            .transpose()
    }

    /// The steps: kernel, operands read, operands written.
    fn steps(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        self.program.executable().describe_steps()
    }

    /// The kind and the formulas of each step.
    fn _explain(&self) -> Vec<(&'static str, Vec<String>)> {
        self.program.executable().explain()
    }

    /// The buffers that steps use: id, source, bytes.
    fn _memory(&self) -> Vec<(u32, String, usize)> {
        self.program.executable().memory()
    }

    /// Whether a guard fails.
    fn _is_stale(&self, py: Python<'_>) -> bool {
        self.program.is_stale() || self.guards.are_violated(py)
    }

    /// A logical time of the last run, and the number of runs.
    #[getter]
    fn _used(&self) -> (u64, u64) {
        self.run_count.counts()
    }

    /// Frees the memory of temporaries.
    fn _trim(&self) {
        self.program.executable().trim();
    }

    /// Whether it reads tensors that are no arguments.
    #[getter]
    fn reads_outside(&self) -> bool {
        self.program.executable().external_read().iter().any(|memory| !memory.is_external_memory())
    }

    /// The Python callbacks of its steps, and guarded containers, may reference the program.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A bound program may own them as well.
        if Arc::strong_count(&self.program) > 1 {
            return Ok(());
        }
        self.guards.traverse(&visit)?;
        python_host_call::traverse(self.program.host_objects(), &visit)
    }

    fn __clear__(&self) {
        self.program.host_objects().for_each(HostObjects::clear);
    }

    /// Bytes of temporaries of one run.
    #[getter]
    fn temporary_bytes(&self) -> usize {
        self.program.executable().temporary_bytes()
    }
}

/// The results of a run.
pub(crate) type Objects<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;

impl PyProgram {
    fn run_options(&self) -> &RunOptions {
        self.run_options.get_or_init(|| {
            let program = self.program.executable();
            let small =
                program.results().iter().all(|&buffer| program.nbytes(buffer) <= MAX_NUMPY_BYTES);
            let direct_results = self.program.contiguous_results().filter(|_| small);
            RunOptions { large: is_large(program), direct_results }
        })
    }

    /// Whether a run is long enough to release the GIL.
    pub(super) fn is_large(&self) -> bool {
        self.run_options().large
    }

    pub(crate) fn run_arguments<'py>(
        &self,
        py: Python<'py>,
        arguments: &[Argument<'py>],
        tensors: bool,
    ) -> PyResult<Option<Objects<'py>>> {
        let written = |argument: &Argument<'_>| match argument {
            Argument::Tensor(tensor) => self.program.writes_to(tensor),
            Argument::Array(_) => false,
        };
        let Some(gradients) = self.program.unique_grad_memory()? else { return Ok(None) };
        if self.guards.are_violated(py) || arguments.iter().any(written) {
            return Ok(None);
        }
        let mut inputs: SmallVec<[Elements<'_>; 8]> =
            arguments.iter().map(Argument::elements).collect();
        if !self.program.grads_disjoint_from(&gradients, &inputs) {
            return Ok(None);
        }
        inputs.extend(gradients.elements());
        let _writing = self.program.begin_run(&gradients)?;
        if !tensors && let Some(direct_results) = &self.run_options().direct_results {
            return self.write_arrays(py, (&inputs, &gradients), direct_results);
        }
        let Some(results) = self.run_detached(py, || self.program.executable().compute(&inputs))?
        else {
            return Ok(None);
        };
        self.program.finish_run(&results, &gradients)?;
        self.finish_run(py)?;
        let to_object = |number| -> PyResult<Bound<'py, PyAny>> {
            let result = self.program.result(number, &results, |i| match &arguments[i] {
                Argument::Tensor(tensor) => Ok(tensor.clone()),
                Argument::Array(array) => {
                    numpy::copy("compile", array, self.program.arguments()[i].dtype)
                }
            })?;
            result_object(py, result, tensors)
        };
        (0..self.program.results()).map(to_object).collect::<PyResult<_>>().map(Some)
    }

    /// Runs the program, which writes its results directly into new arrays.
    fn write_arrays<'py>(
        &self,
        py: Python<'py>,
        (inputs, gradients): (&[Elements<'_>], &GradMemory),
        direct_results: &[usize],
    ) -> PyResult<Option<Objects<'py>>> {
        let outputs = &self.program.executable().outputs()[..direct_results.len()];
        let mut words: SmallVec<[ElementWord; 4]> = smallvec![[0; 2]; direct_results.len()];
        let array = |output: &Output| match output.layout.dims() {
            [] => Ok(None),
            dims => numpy::empty(py, dims, output.dtype).map(Some),
        };
        let arrays: SmallVec<[Option<Bound<'py, PyUntypedArray>>; 4]> =
            outputs.iter().map(array).collect::<PyResult<_>>()?;
        let mut destinations: SmallVec<[Option<ElementsMut<'_>>; 4]> = arrays
            .iter()
            .zip(&mut words)
            .map(|(array, word)| match array {
                Some(array) => Some(numpy::elements_mut(array)),
                None => Some(ElementsMut::word(word)),
            })
            .collect();
        let mut results: SmallVec<[ElementsMut<'_>; 4]> =
            direct_results.iter().filter_map(|&number| destinations[number].take()).collect();
        let program = self.program.executable();
        let outcome = self.run_detached(py, || program.run(inputs, &mut results))?;
        drop((destinations, results));
        if outcome.is_none() {
            return Ok(None);
        }
        self.program.finish_run(&[], gradients)?;
        self.finish_run(py)?;
        let to_object =
            |(array, (output, word)): (Option<Bound<'py, _>>, (&Output, &ElementWord))| match array
            {
                Some(array) => Ok(Bound::into_any(array)),
                None => numpy::scalar_from_word(py, output.dtype, word),
            };
        let objects = arrays.into_iter().zip(outputs.iter().zip(&words)).map(to_object);
        objects.collect::<PyResult<_>>().map(Some)
    }

    /// Called after a run: counts it and sets flags.
    fn finish_run(&self, py: Python<'_>) -> PyResult<()> {
        self.run_count.add_run();
        self.guards.set_flags(py)
    }

    /// Calls `run`, without the GIL if it is long; `None` if a decision diverged.
    fn run_detached<T: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<Option<T>> {
        let outcome = if self.is_large() { without_gil(py, run) } else { run() };
        match outcome {
            Err(error) if matches!(*error, Error::Diverged { .. }) => Ok(None),
            outcome => Ok(Some(outcome?)),
        }
    }

    fn argument<'py>(
        &self,
        number: usize,
        argument: &Bound<'py, PyAny>,
    ) -> PyResult<Argument<'py>> {
        let signature = &self.program.arguments()[number];
        if let Some(array) = matching_array(signature, argument, true) {
            return Ok(Argument::Array(array));
        }
        if let Ok(array) = argument.cast_exact::<PyUntypedArray>() {
            return Ok(Argument::Tensor(numpy::copy("compile", array, signature.dtype)?));
        }
        if let Some(number) = leaf_key::number(argument) {
            return Ok(Argument::Tensor(number));
        }
        let tensor = &argument.cast::<PyTensor>()?.get().tensor;
        Ok(Argument::Tensor(to_contiguous(tensor)?))
    }
}

/// A result as a Python object.
pub(super) fn result_object<'py>(
    py: Python<'py>,
    result: Tensor,
    tensor: bool,
) -> PyResult<Bound<'py, PyAny>> {
    match (tensor, result.ndim()) {
        (true, _) => wrap(py, result),
        (false, 0) => numpy::scalar(py, &result),
        (false, _) => numpy::export(py, &result, true),
    }
}
