//! Compiled functions with a backward program (`DifferentiableProgram` in Python), and Python functions that their nodes call
//! again.
//!
//! Invariant: a node owns the function that it may call, and the garbage collector sees it.

use std::any::Any;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3::{PyTraverseError, PyVisit, intern};

use crate::array::Storage;
use crate::bindings::attach::attached;
use crate::bindings::backward::engine_host::run_pass;
use crate::bindings::call::callback::Callback;
use crate::bindings::call::intercept::without_gil;
use crate::bindings::call::python_host_call;
use crate::bindings::call::thread_state::{ThreadStateGuard, check_stack};
use crate::bindings::compile::guards::Guards;
use crate::bindings::compile::leaf_key::{Argument, Arguments};
use crate::bindings::compile::program::{Objects, call, is_large, trim_cache};
use crate::bindings::compile::run_count::RunCount;
use crate::bindings::custom_op::trace_with_retry;
use crate::bindings::errors::{bad_type, from_python};
use crate::bindings::object::{PyTensor, wrap};
use crate::compile::autograd::{DifferentiableProgram, NotDifferentiable, OriginalFunction};
use crate::compile::program::Signature;
use crate::error::{Error, Result};
use crate::graph::HostObjects;
use crate::tensor::Tensor;
use smallvec::SmallVec;

/// A traced function with its backward program.
#[pyclass(name = "DifferentiableProgram", module = "ferrograd._core", frozen)]
pub(crate) struct PyDifferentiableProgram {
    program: Arc<DifferentiableProgram>,
    guards: Guards,
    /// Whether a run is long enough to release the GIL.
    large: bool,
    run_count: RunCount,
}

/// The program, whether there is none because tensors escape, and another reason why there is none.
type Outcome = (Option<PyDifferentiableProgram>, bool, Option<&'static str>);

/// Calls `function`, which returns a list of tensors, with copies of the tensors, and traces it together with its
/// gradients. Without a program: whether tensors escape, and any other reason; neither if no result requires grad.
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
    let traced = trace_with_retry(|| trace(py, function, (&plain, &requires), (weak, may_keep)))?;
    trim_cache();
    match traced {
        Ok(program) => {
            let (large, guards) = (is_large(program.forward()), Guards::of(watch)?);
            let (program, run_count) = (Arc::new(program), RunCount::new());
            Ok((Some(PyDifferentiableProgram { program, guards, large, run_count }), false, None))
        }
        Err(NotDifferentiable::Because(reason)) => Ok((None, false, Some(reason))),
        Err(NotDifferentiable::ValuesEscape) => Ok((None, true, None)),
        Err(NotDifferentiable::NoHistory) => Ok((None, false, None)),
    }
}

fn trace(
    py: Python<'_>,
    function: &Bound<'_, PyAny>,
    (arguments, requires): (&[Tensor], &[bool]),
    (has_scalars, may_keep): (bool, bool),
) -> PyResult<std::result::Result<DifferentiableProgram, NotDifferentiable>> {
    let mut raised = None;
    let recorded = run_pass(py, "compile", |host| {
        DifferentiableProgram::trace(arguments, requires, (has_scalars, may_keep), host, |copies| {
            call(py, function, copies).map(|(_, tensors)| tensors).map_err(|error| {
                let converted = from_python(error.clone_ref(py), "raised while it was recorded");
                raised = Some(error);
                converted
            })
        })
    });
    recorded.map_err(|error| raised.unwrap_or(error))
}

/// A Python function that a node may call again.
pub(crate) struct PythonFunction(Callback);

impl PythonFunction {
    pub(crate) fn new(function: Callback) -> PythonFunction {
        PythonFunction(function)
    }
}

impl OriginalFunction for PythonFunction {
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

    fn has_copy_of(&self, memory: &Storage) -> bool {
        attached(|py| {
            let function = self.0.get(py)?;
            let has_copy_of = function.getattr_opt(intern!(py, "has_copy_of")).ok()??;
            has_copy_of.call1((memory.ptr().addr(),)).ok()?.extract::<bool>().ok()
        })
        .unwrap_or(false)
    }

    fn share(&self) -> Box<dyn OriginalFunction> {
        Box::new(PythonFunction(self.0.share()))
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        Some(self)
    }
}

impl HostObjects for PythonFunction {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        self.0.visit(visit);
    }

    fn clear(&self) {
        self.0.clear();
    }
}

impl PyDifferentiableProgram {
    /// The dtypes and shapes of the arguments.
    pub(crate) fn arguments(&self) -> &[Signature] {
        self.program.arguments()
    }

    /// Runs the forward program and records its node: see `run`.
    pub(crate) fn call<'py>(
        &self,
        py: Python<'py>,
        arguments: Arguments<'py>,
        original: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Objects<'py>>> {
        if self.program.is_stale() || self.guards.are_violated(py) {
            return Ok(None);
        }
        let tensor = |(given, want): (Argument<'py>, &Signature)| given.into_tensor(want);
        let tensors = arguments.into_iter().zip(self.arguments()).map(tensor);
        let tensors: SmallVec<[Tensor; 8]> = tensors.collect::<PyResult<_>>()?;
        if tensors.iter().any(|tensor| self.program.writes_to(tensor)) {
            return Ok(None);
        }
        let original = Box::new(PythonFunction(Callback::new("compile", original)?));
        let apply = || self.program.apply(&tensors, original);
        let results = if self.large { without_gil(py, apply) } else { apply() };
        let results = match results {
            Err(error) if matches!(*error, Error::Diverged { .. }) => return Ok(None),
            results => results?,
        };
        self.run_count.add_run();
        self.guards.set_flags(py)?;
        results.into_iter().map(|x| wrap(py, x)).collect::<PyResult<_>>().map(Some)
    }
}

#[pymethods]
impl PyDifferentiableProgram {
    /// Runs the forward program on tensors and records its node, which may call `original` again. None if a guard
    /// fails.
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

    /// The steps of both programs: kernel, operands read, operands written.
    fn steps(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        self.program.describe_steps()
    }

    /// The programs own the Python callbacks of their steps, and nodes may own the programs as well. Guarded
    /// containers may reference the traced function.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.guards.traverse(&visit)?;
        if Arc::strong_count(&self.program) > 1 {
            return Ok(());
        }
        python_host_call::traverse(self.program.host_objects(), &visit)
    }

    fn __clear__(&self) {
        self.program.host_objects().for_each(HostObjects::clear);
    }

    /// The kind and the formulas of each step.
    fn _explain(&self) -> Vec<(&'static str, Vec<String>)> {
        self.program.explain()
    }

    /// The buffers that steps use: id, source, bytes.
    fn _memory(&self) -> Vec<(u32, String, usize)> {
        self.program.memory()
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
        self.program.trim();
    }

    /// Whether it reads tensors that are no arguments.
    #[getter]
    fn reads_outside(&self) -> bool {
        self.program.reads_outside()
    }

    /// Bytes of temporaries of one run of both programs.
    #[getter]
    fn temporary_bytes(&self) -> usize {
        self.program.temporary_bytes()
    }
}
