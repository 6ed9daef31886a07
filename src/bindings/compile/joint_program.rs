//! Compiled functions whose results have a history, as Python starts them.
//!
//! Owns: `JointProgram`, and a Python function as the original of a node. Never decides when a function is recorded:
//! `python/ferrograd/_compile` does. Invariant: a node owns the function that it may call, and the collector sees it.

use std::any::Any;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3::{PyTraverseError, PyVisit, intern};

use crate::array::Storage;
use crate::bindings::attach::attached;
use crate::bindings::backward::engine_host::run_pass;
use crate::bindings::call::callback::Callback;
use crate::bindings::call::host_call;
use crate::bindings::call::intercept::without_gil;
use crate::bindings::call::thread_state::{ThreadStateGuard, check_stack};
use crate::bindings::compile::argument_match::{Argument, Arguments};
use crate::bindings::compile::guards::Watched;
use crate::bindings::compile::run_count::Usage;
use crate::bindings::compile::trace::{Objects, call, give_memory_back, is_large};
use crate::bindings::custom_op::trace_with_retry;
use crate::bindings::errors::{bad_type, from_python};
use crate::bindings::object::{PyTensor, wrap};
use crate::compile::autograd::{JointReplay, NotJoint, Original};
use crate::compile::traced_function::Signature;
use crate::error::{Error, Result};
use crate::graph::Foreign;
use crate::tensor::Tensor;
use smallvec::SmallVec;

/// A recorded function with its backward pass.
#[pyclass(name = "JointProgram", module = "ferrograd._core", frozen)]
pub(crate) struct PyJoint {
    joint: Arc<JointReplay>,
    watched: Watched,
    /// Whether a run is worth releasing the GIL.
    large: bool,
    usage: Usage,
}

/// The program, whether there is none because tensors are kept, and why there can be none.
type Outcome = (Option<PyJoint>, bool, Option<&'static str>);

/// Calls `function` with copies of the tensors and records it together with its gradients; it returns a list of tensors.
/// Where there can be no such program: whether it keeps tensors, and any other reason; neither if no result has a history.
#[pyfunction]
pub(crate) fn _record_joint<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    arguments: Vec<Bound<'py, PyTensor>>,
    weak: bool,
    may_keep: bool,
    watch: &Bound<'py, PyAny>,
) -> PyResult<Outcome> {
    let tensors: Vec<Tensor> = arguments.iter().map(|a| a.get().tensor.clone()).collect();
    let requires: Vec<bool> = tensors.iter().map(Tensor::requires_grad).collect();
    let plain: Vec<Tensor> = tensors.iter().map(Tensor::detach).collect();
    let found = trace_with_retry(|| record(py, function, (&plain, &requires), (weak, may_keep)))?;
    give_memory_back();
    match found {
        Ok(joint) => {
            let (large, watched) = (is_large(joint.forward()), Watched::of(watch)?);
            let (joint, usage) = (Arc::new(joint), Usage::new());
            Ok((Some(PyJoint { joint, watched, large, usage }), false, None))
        }
        Err(NotJoint::Because(reason)) => Ok((None, false, Some(reason))),
        Err(NotJoint::Kept) => Ok((None, true, None)),
        Err(NotJoint::Plain) => Ok((None, false, None)),
    }
}

fn record(
    py: Python<'_>,
    function: &Bound<'_, PyAny>,
    (arguments, requires): (&[Tensor], &[bool]),
    (weak, may_keep): (bool, bool),
) -> PyResult<std::result::Result<JointReplay, NotJoint>> {
    let mut raised = None;
    let recorded = run_pass(py, "compile", |host| {
        JointReplay::record(arguments, requires, (weak, may_keep), host, |copies| {
            call(py, function, copies).map(|(_, tensors)| tensors).map_err(|error| {
                let shown = from_python(error.clone_ref(py), "raised while it was recorded");
                raised = Some(error);
                shown
            })
        })
    });
    recorded.map_err(|error| raised.unwrap_or(error))
}

/// The function that a node may call again.
pub(crate) struct PythonFunction(Callback);

impl PythonFunction {
    pub(crate) fn new(function: Callback) -> PythonFunction {
        PythonFunction(function)
    }
}

impl Original for PythonFunction {
    fn call(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>> {
        let called = attached(|py| {
            let Some(function) = self.0.get(py) else {
                return Err(bad_type("compile", "the function is gone", "report this"));
            };
            check_stack("compile")?;
            let _state = ThreadStateGuard::new(py);
            call(py, &function, arguments).map(|(_, tensors)| tensors)
        });
        called.map_err(|raised| from_python(raised, "raised when a compiled function ran eagerly"))
    }

    fn keeps(&self, memory: &Storage) -> bool {
        attached(|py| {
            let function = self.0.get(py)?;
            let keeps = function.getattr_opt(intern!(py, "keeps")).ok()??;
            keeps.call1((memory.ptr().addr(),)).ok()?.extract::<bool>().ok()
        })
        .unwrap_or(false)
    }

    fn share(&self) -> Box<dyn Original> {
        Box::new(PythonFunction(self.0.share()))
    }

    fn foreign(&self) -> Option<&dyn Foreign> {
        Some(self)
    }
}

impl Foreign for PythonFunction {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        self.0.visit(visit);
    }

    fn clear(&self) {
        self.0.clear();
    }
}

impl PyJoint {
    /// What the arguments are like.
    pub(crate) fn arguments(&self) -> &[Signature] {
        self.joint.arguments()
    }

    /// Runs the forward program and records its node: see `run`.
    pub(crate) fn call<'py>(
        &self,
        py: Python<'py>,
        arguments: Arguments<'py>,
        original: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Objects<'py>>> {
        if self.joint.is_stale() || self.watched.have_changed(py) {
            return Ok(None);
        }
        let tensor = |(given, want): (Argument<'py>, &Signature)| given.into_tensor(want);
        let tensors = arguments.into_iter().zip(self.arguments()).map(tensor);
        let tensors: SmallVec<[Tensor; 8]> = tensors.collect::<PyResult<_>>()?;
        if tensors.iter().any(|tensor| self.joint.writes_to(tensor)) {
            return Ok(None);
        }
        let original = Box::new(PythonFunction(Callback::new("compile", original)?));
        let apply = || self.joint.apply(&tensors, original);
        let results = if self.large { without_gil(py, apply) } else { apply() };
        let results = match results {
            Err(error) if matches!(*error, Error::Diverged { .. }) => return Ok(None),
            results => results?,
        };
        self.usage.note();
        self.watched.set(py)?;
        results.into_iter().map(|x| wrap(py, x)).collect::<PyResult<_>>().map(Some)
    }
}

#[pymethods]
impl PyJoint {
    /// Runs the forward program on tensors and records its node, which may call `original` again. None when what the
    /// function read while it was recorded is different now.
    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: Vec<Bound<'py, PyTensor>>,
        original: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let arguments = arguments.iter().map(|a| Argument::Tensor(a.get().tensor.clone()));
        let results = self.call(py, arguments.collect(), original)?;
        results.map(|results| PyList::new(py, results)).transpose()
    }

    /// The steps of the forward and of the backward program: name, what is read, what is written.
    fn steps(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        self.joint.described()
    }

    /// The programs own the Python code that their steps call; nodes may own the programs as well. What is watched may
    /// lead to the function that the programs were recorded of.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.watched.traverse(&visit)?;
        if Arc::strong_count(&self.joint) > 1 {
            return Ok(());
        }
        host_call::traverse(self.joint.foreign(), &visit)
    }

    fn __clear__(&self) {
        self.joint.foreign().for_each(Foreign::clear);
    }

    /// For each step its kind, and what it computes as far as that is known.
    fn _told(&self) -> Vec<(&'static str, Vec<String>)> {
        self.joint.told()
    }

    /// The memory that steps use: number, where it comes from, bytes.
    fn _memory(&self) -> Vec<(u32, String, usize)> {
        self.joint.memory()
    }

    /// Whether what the function looked at beside its arguments is different now.
    fn _is_stale(&self, py: Python<'_>) -> bool {
        self.joint.is_stale() || self.watched.have_changed(py)
    }

    /// When it ran last, in no unit, and how often.
    #[getter]
    fn _used(&self) -> (u64, u64) {
        self.usage.told()
    }

    /// Gives the memory of temporaries back.
    fn _trim(&self) {
        self.joint.trim();
    }

    /// Whether it reads tensors that are no arguments.
    #[getter]
    fn reads_outside(&self) -> bool {
        self.joint.reads_outside()
    }

    /// Bytes of temporaries of one run of either program.
    #[getter]
    fn temporary_bytes(&self) -> usize {
        self.joint.temporary_bytes()
    }
}
