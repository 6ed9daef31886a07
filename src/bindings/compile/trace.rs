//! Replay as Python starts it: record a call, run its program on arrays, tensors and numbers.
//!
//! Owns: `Program`, the way of arguments into it and of results out of it. Never decides when a function is recorded:
//! `python/ferrograd/_compile` does. Invariant: an argument is read where it lies if it has the dtype, shape and order
//! that were recorded, and is otherwise converted or refused as the recorded function would have.

use std::sync::{Arc, OnceLock};

use ::numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use smallvec::{SmallVec, smallvec};

use crate::array::{self, Elements, ElementsMut, Storage, Word, capture};
use crate::bindings::call::host_call;
use crate::bindings::call::intercept::{GIL_RELEASE_ELEMENTS, without_gil};
use crate::bindings::compile::argument_match;
use crate::bindings::compile::argument_match::{Argument, in_place};
use crate::bindings::compile::guards::Watched;
use crate::bindings::compile::run_count::Usage;
use crate::bindings::custom_op::trace_with_retry;
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, wrap};
use crate::compile::traced_function::{
    Gradients, Output, Program, Replay, Signature, in_order, tried,
};
use crate::error::{Error, Result};
use crate::graph::{Foreign, GRAD, Mode, SERIAL, TRANSFORM};
use crate::tensor::Tensor;

/// A recorded function: the list of what its kernels did.
#[pyclass(name = "Program", module = "ferrograd._core", frozen)]
pub(crate) struct PyProgram {
    pub(super) replay: Arc<Replay>,
    pub(super) watched: Arc<Watched>,
    /// Found at the first run, which plans the program.
    manner: OnceLock<Manner>,
    usage: Usage,
}

/// How a program runs.
struct Manner {
    /// Whether a run is worth releasing the GIL.
    large: bool,
    /// The results that the program may write into small arrays of NumPy's: see `Replay::plain`.
    plain: Option<Vec<usize>>,
}

/// Freed memory that is kept for the next operations after a recording.
const KEPT_BYTES: usize = 64 << 20;

/// Larger results lie in our memory, which is used again; NumPy asks the system for it.
const SMALL_BYTES: usize = 1 << 14;

/// Calls `function` with copies of the tensors and records it; it returns a list of tensors, and `watch` has the
/// dicts and lists that it looked at. No program where `may_keep` lets it keep tensors.
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
    let (replay, results) = trace_with_retry(|| record(py, function, &tensors, (weak, may_keep)))?;
    give_memory_back();
    let program = |replay: Replay| {
        let watched = Arc::new(Watched::of(watch)?);
        let (replay, manner, usage) = (Arc::new(replay), OnceLock::new(), Usage::new());
        PyResult::Ok(PyProgram { replay, watched, manner, usage })
    };
    Ok((replay.map(program).transpose()?, results))
}

/// Whether a run is worth releasing the GIL: it takes long, or steps run programs, which may.
pub(super) fn is_large(program: &Program) -> bool {
    program.work() > GIL_RELEASE_ELEMENTS || program.has_objects()
}

/// A recording keeps every buffer that it met until it ends; those that are free then go back to the system if they are many.
pub(super) fn give_memory_back() {
    if array::cached_bytes() > KEPT_BYTES {
        array::trim();
    }
}

fn record<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    tensors: &[Tensor],
    (weak, may_keep): (bool, bool),
) -> PyResult<(Option<Replay>, Bound<'py, PyList>)> {
    // Python's objects of the results go before the recording ends: who holds one of them keeps it.
    let called = |copies: &[Tensor]| call(py, function, copies).map(|(_, tensors)| tensors);
    let (replay, results) = Replay::attempt(tensors, weak, may_keep, called)?;
    let results: PyResult<Vec<_>> = results.into_iter().map(|x| wrap(py, x)).collect();
    Ok((replay, PyList::new(py, results?)?))
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

/// What `taken` makes of the result of `function()`, which then has changed nothing that a recording gives back.
#[pyfunction]
pub(crate) fn _tried<'py>(
    function: &Bound<'py, PyAny>,
    taken: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    trace_with_retry(|| {
        let called: PyResult<_> = tried(|| function.call0(), |found| taken.call1((found,)));
        called
    })
}

/// The results of a call as arrays and scalars that nobody else has; those of one memory share a copy of it.
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

/// Whether a change in place was refused since this thread began to record a program: see `admit_change`.
#[pyfunction]
pub(crate) fn _was_change_refused() -> bool {
    capture::was_change_refused()
}

/// Whether this thread records a program.
#[pyfunction]
pub(crate) fn _is_recording_program() -> bool {
    capture::active()
}

/// Whether this thread records a program that computes what a tensor holds anew in every call, so that nobody may read it.
#[pyfunction]
pub(crate) fn _is_computed_anew(x: &Bound<'_, PyTensor>) -> bool {
    capture::active() && capture::leaves_for_program(x.get().tensor.storage().ptr().addr())
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

    /// For each step its kind, and what it computes as far as that is known.
    fn _told(&self) -> Vec<(&'static str, Vec<String>)> {
        self.replay.program().told()
    }

    /// The memory that steps use: number, where it comes from, bytes.
    fn _memory(&self) -> Vec<(u32, String, usize)> {
        self.replay.program().memory()
    }

    /// Whether what the function looked at beside its arguments is different now.
    fn _is_stale(&self, py: Python<'_>) -> bool {
        self.replay.is_stale() || self.watched.have_changed(py)
    }

    /// When it ran last, in no unit, and how often.
    #[getter]
    fn _used(&self) -> (u64, u64) {
        self.usage.told()
    }

    /// Gives the memory of temporaries back.
    fn _trim(&self) {
        self.replay.program().trim();
    }

    /// Whether it reads tensors that are no arguments.
    #[getter]
    fn reads_outside(&self) -> bool {
        self.replay.program().read_where_it_lies().iter().any(|memory| !memory.is_lent())
    }

    /// The Python code that its steps call, and what is watched, may lead back to the program.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A bound program may own the code, and what is watched, as well.
        if Arc::strong_count(&self.replay) > 1 {
            return Ok(());
        }
        self.watched.traverse(&visit)?;
        host_call::traverse(self.replay.foreign(), &visit)
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
    /// What the arguments are like.
    pub(crate) fn arguments(&self) -> &[Signature] {
        self.replay.arguments()
    }

    fn manner(&self) -> &Manner {
        self.manner.get_or_init(|| {
            let program = self.replay.program();
            let small =
                program.results().iter().all(|&buffer| program.nbytes(buffer) <= SMALL_BYTES);
            let plain = self.replay.plain().filter(|_| small);
            Manner { large: is_large(program), plain }
        })
    }

    /// Whether a run is worth releasing the GIL.
    pub(super) fn is_large(&self) -> bool {
        self.manner().large
    }

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
        let Some(gradients) = self.replay.own_surroundings()? else { return Ok(None) };
        if self.watched.have_changed(py) || bound.iter().any(written) {
            return Ok(None);
        }
        let mut inputs: SmallVec<[Elements<'_>; 8]> =
            bound.iter().map(Argument::elements).collect();
        if !self.replay.are_apart(&gradients, &inputs) {
            return Ok(None);
        }
        inputs.extend(gradients.elements());
        let _writing = self.replay.begin(&gradients)?;
        if !tensors && let Some(plain) = &self.manner().plain {
            return self.write_arrays(py, (&inputs, &gradients), plain);
        }
        let Some(results) = self.lasting(py, || self.replay.program().compute(&inputs))? else {
            return Ok(None);
        };
        self.replay.finish(&results, &gradients)?;
        self.done(py)?;
        let object = |number| -> PyResult<Bound<'py, PyAny>> {
            let result = self.replay.result(number, &results, |i| match &bound[i] {
                Argument::Tensor(tensor) => Ok(tensor.clone()),
                Argument::Array(array) => {
                    numpy::copy("compile", array, self.replay.arguments()[i].dtype)
                }
            })?;
            object(py, result, tensors)
        };
        (0..self.replay.results()).map(object).collect::<PyResult<_>>().map(Some)
    }

    /// Runs the program, which writes its results into new arrays.
    fn write_arrays<'py>(
        &self,
        py: Python<'py>,
        (inputs, gradients): (&[Elements<'_>], &Gradients),
        plain: &[usize],
    ) -> PyResult<Option<Objects<'py>>> {
        let outputs = &self.replay.program().outputs()[..plain.len()];
        let mut words: SmallVec<[Word; 4]> = smallvec![[0; 2]; plain.len()];
        let array = |output: &Output| match output.layout.dims() {
            [] => Ok(None),
            dims => numpy::empty(py, dims, output.dtype).map(Some),
        };
        let arrays: SmallVec<[Option<Bound<'py, PyUntypedArray>>; 4]> =
            outputs.iter().map(array).collect::<PyResult<_>>()?;
        let mut places: SmallVec<[Option<ElementsMut<'_>>; 4]> = arrays
            .iter()
            .zip(&mut words)
            .map(|(array, word)| match array {
                Some(array) => Some(numpy::elements_mut(array)),
                None => Some(ElementsMut::word(word)),
            })
            .collect();
        let mut results: SmallVec<[ElementsMut<'_>; 4]> =
            plain.iter().filter_map(|&number| places[number].take()).collect();
        let program = self.replay.program();
        let done = self.lasting(py, || program.run(inputs, &mut results))?;
        drop((places, results));
        if done.is_none() {
            return Ok(None);
        }
        self.replay.finish(&[], gradients)?;
        self.done(py)?;
        let object =
            |(array, (output, word)): (Option<Bound<'py, _>>, (&Output, &Word))| match array {
                Some(array) => Ok(Bound::into_any(array)),
                None => numpy::scalar_from_word(py, output.dtype, word),
            };
        let objects = arrays.into_iter().zip(outputs.iter().zip(&words)).map(object);
        objects.collect::<PyResult<_>>().map(Some)
    }

    /// What is left to do after a run.
    fn done(&self, py: Python<'_>) -> PyResult<()> {
        self.usage.note();
        self.watched.set(py)
    }

    /// Calls `run` without the GIL if that is worth it; `None` when the program must not run here.
    fn lasting<T: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<Option<T>> {
        let done = if self.is_large() { without_gil(py, run) } else { run() };
        match done {
            Err(error) if matches!(*error, Error::Diverged { .. }) => Ok(None),
            done => Ok(Some(done?)),
        }
    }

    fn argument<'py>(&self, number: usize, given: &Bound<'py, PyAny>) -> PyResult<Argument<'py>> {
        let want = &self.replay.arguments()[number];
        if let Some(array) = in_place(want, given, true) {
            return Ok(Argument::Array(array));
        }
        if let Ok(array) = given.cast_exact::<PyUntypedArray>() {
            return Ok(Argument::Tensor(numpy::copy("compile", array, want.dtype)?));
        }
        if let Some(number) = argument_match::number(given) {
            return Ok(Argument::Tensor(number));
        }
        let tensor = &given.cast::<PyTensor>()?.get().tensor;
        Ok(Argument::Tensor(in_order(tensor)?))
    }
}

/// A result as Python sees it.
pub(super) fn object<'py>(
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
