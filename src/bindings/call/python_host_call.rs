//! Host callbacks: Python code inside a traced function, which every run of the program calls again.
//!
//! Converts tensors to arguments of such code and its results to tensors; the callbacks of one run share a dict.
//! `compile::host_call` decides what is traced. Invariant: an exception of the code reaches the caller as it was raised.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::bindings::attach::attached;
use crate::bindings::call::callback::Callback;
use crate::bindings::call::thread_state::{ThreadStateGuard, check_stack};
use crate::bindings::errors::{from_python, to_py_result};
use crate::bindings::object::{PyTensor, wrap};
use crate::compile::host_call;
use crate::compile::host_call::{HostCallback, Object};
use crate::error::{Error, Result};
use crate::graph::HostObjects;
use crate::tensor::Tensor;
use crate::threads::Mutex;

/// A Python callback `function(dict, *tensors)` that returns a list of tensors; the callbacks of one run share the
/// dict. Its optional methods `hold` and `give_back` save and restore state when a run is discarded.
struct PythonHostCode(Callback);

fn as_raised(raised: PyErr) -> Box<Error> {
    from_python(raised, "")
}

impl PythonHostCode {
    fn function<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.0.get(py).ok_or_else(|| {
            let what = "the collector took the function away".into();
            Box::new(Error::Internal { op: "compile".into(), what })
        })
    }

    fn results(returned: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
        let list = returned.cast::<PyList>()?;
        let tensor = |ob: Bound<'_, PyAny>| Ok(ob.cast::<PyTensor>()?.get().tensor.detach());
        list.iter().map(tensor).collect()
    }
}

impl HostCallback for PythonHostCode {
    fn call(&self, inputs: Vec<Tensor>, run: &Object) -> Result<Vec<Tensor>> {
        attached(|py| {
            let function = self.function(py)?;
            let call = || {
                check_stack("compile")?;
                let _state = ThreadStateGuard::new(py);
                let shared = run_dict(py, run)?;
                let inputs = inputs.into_iter().map(|input| wrap(py, input));
                let arguments: Vec<_> = std::iter::once(Ok(shared.into_any()))
                    .chain(inputs)
                    .collect::<PyResult<_>>()?;
                PythonHostCode::results(&function.call1(PyTuple::new(py, arguments)?)?)
            };
            call().map_err(as_raised)
        })
    }

    fn new_run(&self) -> Object {
        new_run()
    }

    fn save_state(&self) -> Result<Option<Object>> {
        attached(|py| {
            let save_state = self.function(py)?.getattr_opt(pyo3::intern!(py, "save_state"));
            let Some(save_state) = save_state.map_err(as_raised)? else { return Ok(None) };
            let state = save_state.call0().map_err(as_raised)?;
            Ok(Some(Arc::new(state.unbind()) as Object))
        })
    }

    fn restore_state(&self, held: &Object) {
        attached(|py| {
            let (Ok(function), Some(state)) = (self.function(py), held.downcast_ref::<Py<PyAny>>())
            else {
                return;
            };
            if let Err(raised) = function.call_method1(pyo3::intern!(py, "restore_state"), (state,))
            {
                raised.write_unraisable(py, Some(&function));
            }
        });
    }

    fn host_objects(&self) -> &dyn HostObjects {
        &self.0
    }
}

/// A Python object as the code of a step.
pub(crate) fn python_host_code(
    op: &str,
    function: &Bound<'_, PyAny>,
) -> PyResult<Arc<dyn HostCallback>> {
    Ok(Arc::new(PythonHostCode(Callback::new(op, function)?)))
}

/// A new dict for the callbacks of one run.
pub(crate) fn new_run() -> Object {
    attached(|py| Arc::new(PyDict::new(py).unbind()) as Object)
}

/// The dict shared by the callbacks of a run.
pub(crate) fn run_dict<'py>(py: Python<'py>, run: &Object) -> PyResult<Bound<'py, PyDict>> {
    let dict = run.downcast_ref::<Py<PyDict>>().map(|dict| dict.bind(py).clone());
    to_py_result(dict.ok_or_else(|| {
        Box::new(Error::Internal { op: "compile".into(), what: "a run shares no dict".into() })
    }))
}

/// Interns a name for the life of the process.
#[cold]
pub(crate) fn intern_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = String::leak(name.to_owned());
    names.insert(name);
    name
}

/// Calls `function(shared, *inputs)`, which returns a list of tensors; during a trace, every run of the program calls
/// it again.
#[pyfunction]
pub(crate) fn _call_foreign<'py>(
    name: &str,
    function: &Bound<'py, PyAny>,
    inputs: Vec<Bound<'py, PyTensor>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = function.py();
    let code = python_host_code(name, function)?;
    let tensors: Vec<&Tensor> = inputs.iter().map(|input| &input.get().tensor).collect();
    let results = host_call::call(intern_name(name), &tensors, code)?;
    let results: Vec<_> =
        results.into_iter().map(|result| wrap(py, result)).collect::<PyResult<_>>()?;
    PyList::new(py, results)
}

/// Reports the Python objects owned by host code to the garbage collector.
pub(crate) fn traverse<'a>(
    owners: impl Iterator<Item = &'a dyn HostObjects>,
    visit: &PyVisit<'_>,
) -> std::result::Result<(), PyTraverseError> {
    let mut found = Ok(());
    for owner in owners {
        owner.visit(&mut |ob: &dyn Any| {
            if let (Ok(()), Some(ob)) = (&found, ob.downcast_ref::<Py<PyAny>>()) {
                found = visit.call(ob);
            }
        });
    }
    found
}
