//! The exception classes of the package (from `error::CLASSES`), and the conversion between Rust errors and Python
//! exceptions.
//! A Python exception that passes through Rust comes back as the same object, with a note naming the interrupted
//! operation.

use pyo3::exceptions::{
    PyBaseException, PyException, PyKeyboardInterrupt, PyRuntimeError, PyUserWarning,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::bindings::attach::attached;
use crate::error::{CLASSES, Error, HostError, Result};

static CLASS_OBJECTS: PyOnceLock<Vec<(&'static str, Py<PyType>)>> = PyOnceLock::new();

/// The base class of every exception of the package.
const BASE: &str = "FerrogradError";
/// The warning of `float(t)` and `int(t)` on a tensor that is part of a graph.
const WARNING: &str = "GraphCutWarning";

fn new_class<'py>(
    py: Python<'py>,
    name: &str,
    doc: &str,
    bases: Vec<Bound<'py, PyAny>>,
) -> PyResult<Py<PyType>> {
    let body = PyDict::new(py);
    body.set_item("__doc__", doc)?;
    body.set_item("__module__", "ferrograd.errors")?;
    let class = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, body))?;
    Ok(class.cast_into::<PyType>()?.unbind())
}

fn create_classes(py: Python<'_>) -> PyResult<Vec<(&'static str, Py<PyType>)>> {
    // PyTorch raises RuntimeError for nearly everything, and programs written for it catch that.
    let exception = py.get_type::<PyRuntimeError>().into_any();
    let doc = "What every exception of ferrograd inherits, beside the builtin that fits.";
    let base = new_class(py, BASE, doc, vec![exception])?;
    let mut classes = vec![(BASE, base.clone_ref(py))];
    for (name, parents, doc) in CLASSES {
        let mut bases = vec![base.bind(py).as_any().clone()];
        for parent in *parents {
            let (home, name) = parent.rsplit_once('.').unwrap_or(("builtins", *parent));
            bases.push(py.import(home)?.getattr(name)?);
        }
        classes.push((name, new_class(py, name, doc, bases)?));
    }
    let doc = "A conversion to a Python number that leaves a graph.";
    let parent = py.get_type::<PyUserWarning>().into_any();
    classes.push((WARNING, new_class(py, WARNING, doc, vec![parent])?));
    Ok(classes)
}

pub(crate) fn class_names() -> impl Iterator<Item = &'static str> {
    [BASE, WARNING].into_iter().chain(CLASSES.iter().map(|(name, ..)| *name))
}

/// The exception class of this name, if there is one.
pub(crate) fn class_named<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !class_names().any(|known| known == name) {
        return Ok(None);
    }
    classes(py)?;
    Ok(Some(class(py, name).into_any()))
}

/// All classes, created at the first call.
fn classes(py: Python<'_>) -> PyResult<&'static [(&'static str, Py<PyType>)]> {
    Ok(CLASS_OBJECTS.get_or_try_init(py, || create_classes(py))?.as_slice())
}

fn class<'py>(py: Python<'py>, name: &str) -> Bound<'py, PyType> {
    let known = classes(py).ok().and_then(|all| all.iter().find(|(known, _)| *known == name));
    match known {
        Some((_, class)) => class.bind(py).clone(),
        None if name == "BaseException" => py.get_type::<PyBaseException>(),
        None if name == "KeyboardInterrupt" => py.get_type::<PyKeyboardInterrupt>(),
        None => py.get_type::<PyException>(),
    }
}

pub(crate) fn graph_cut_warning(py: Python<'_>) -> Bound<'_, PyType> {
    class(py, WARNING)
}

/// Converts an error into a Python exception.
#[cold]
pub(crate) fn to_python(error: Box<Error>) -> PyErr {
    attached(|py| match *error {
        Error::Host(error) => unwrap_host_error(py, error),
        Error::Noted { error, note } => {
            let raised = to_python(error);
            // An exception that takes no note is raised without it.
            let _ = raised.add_note(py, note.as_str());
            raised
        }
        error => PyErr::from_type(class(py, error.class()), (error.to_string(),)),
    })
}

/// Unwraps the Python exception that `from_python` wrapped.
fn unwrap_host_error(py: Python<'_>, error: HostError) -> PyErr {
    match error.payload.downcast::<PyErr>() {
        Ok(raised) => {
            if !error.during.is_empty() {
                // An exception that takes no note is raised without it.
                let _ = raised.add_note(py, error.during.as_str());
            }
            *raised
        }
        Err(_) => PyErr::from_type(class(py, "InternalError"), (error.during,)),
    }
}

/// Wraps a Python exception as a Rust error; `during` becomes a note, unless it is empty.
#[cold]
pub(crate) fn from_python(raised: PyErr, during: impl Into<String>) -> Box<Error> {
    Box::new(Error::Host(HostError { payload: Box::new(raised), during: during.into() }))
}

impl From<Box<Error>> for PyErr {
    fn from(error: Box<Error>) -> PyErr {
        to_python(error)
    }
}

/// An `ArgumentTypeError`.
#[cold]
pub(crate) fn bad_type(op: &str, what: impl Into<String>, remedy: impl Into<String>) -> PyErr {
    to_python(Box::new(Error::ArgumentType {
        op: op.to_owned().into(),
        what: what.into(),
        remedy: remedy.into(),
    }))
}

/// An `ArgumentError`.
#[cold]
pub(crate) fn bad_value(op: &str, what: impl Into<String>, remedy: impl Into<String>) -> PyErr {
    to_python(Box::new(Error::Argument {
        op: op.to_owned().into(),
        what: what.into(),
        remedy: remedy.into(),
    }))
}

/// Converts the error of a Rust result into an exception.
pub(crate) fn to_py_result<T>(result: Result<T>) -> PyResult<T> {
    result.map_err(to_python)
}

/// The name of an object's type, for messages.
#[cold]
pub(crate) fn type_name(ob: &Bound<'_, PyAny>) -> String {
    ob.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string())
}
