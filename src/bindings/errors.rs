//! The one place where errors cross the border between Rust and Python.
//!
//! Owns: the exception classes (made from `error::CLASSES`) and both conversions.
//! Never words a message: `error.rs` does.
//! Invariant: a Python exception that travels through Rust comes back as the same object, with a note
//! that says which operation it interrupted.

use pyo3::exceptions::{
    PyBaseException, PyException, PyKeyboardInterrupt, PyRuntimeError, PyUserWarning,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::bindings::attach::attached;
use crate::error::{CLASSES, Error, ForeignError, Result};

static TYPES: PyOnceLock<Vec<(&'static str, Py<PyType>)>> = PyOnceLock::new();

/// The name of the class that every exception of the package inherits.
const BASE: &str = "FerrogradError";
/// The warning that `float(t)` and `int(t)` give where they leave a graph.
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

fn create(py: Python<'_>) -> PyResult<Vec<(&'static str, Py<PyType>)>> {
    // PyTorch raises RuntimeError for nearly everything, and programs written for it catch that.
    let exception = py.get_type::<PyRuntimeError>().into_any();
    let doc = "What every exception of ferrograd inherits, beside the builtin that fits.";
    let base = new_class(py, BASE, doc, vec![exception])?;
    let mut types = vec![(BASE, base.clone_ref(py))];
    for (name, parents, doc) in CLASSES {
        let mut bases = vec![base.bind(py).as_any().clone()];
        for parent in *parents {
            let (home, name) = parent.rsplit_once('.').unwrap_or(("builtins", *parent));
            bases.push(py.import(home)?.getattr(name)?);
        }
        types.push((name, new_class(py, name, doc, bases)?));
    }
    let doc = "A conversion to a Python number that leaves a graph.";
    let parent = py.get_type::<PyUserWarning>().into_any();
    types.push((WARNING, new_class(py, WARNING, doc, vec![parent])?));
    Ok(types)
}

/// The names of the classes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    [BASE, WARNING].into_iter().chain(CLASSES.iter().map(|(name, ..)| *name))
}

/// The class of this name, if there is one.
pub(crate) fn named<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !names().any(|known| known == name) {
        return Ok(None);
    }
    types(py)?;
    Ok(Some(class(py, name).into_any()))
}

/// Every class, created at the first call.
fn types(py: Python<'_>) -> PyResult<&'static [(&'static str, Py<PyType>)]> {
    Ok(TYPES.get_or_try_init(py, || create(py))?.as_slice())
}

fn class<'py>(py: Python<'py>, name: &str) -> Bound<'py, PyType> {
    let known = types(py).ok().and_then(|all| all.iter().find(|(known, _)| *known == name));
    match known {
        Some((_, class)) => class.bind(py).clone(),
        None if name == "BaseException" => py.get_type::<PyBaseException>(),
        None if name == "KeyboardInterrupt" => py.get_type::<PyKeyboardInterrupt>(),
        None => py.get_type::<PyException>(),
    }
}

/// The class of the warning about leaving a graph.
pub(crate) fn graph_cut_warning(py: Python<'_>) -> Bound<'_, PyType> {
    class(py, WARNING)
}

/// The Python exception of an error.
#[cold]
pub(crate) fn to_python(error: Box<Error>) -> PyErr {
    attached(|py| match *error {
        Error::Foreign(foreign) => returning(py, foreign),
        Error::Noted { error, note } => {
            let raised = to_python(error);
            // A courtesy, as in `returning`.
            let _ = raised.add_note(py, note.as_str());
            raised
        }
        error => PyErr::from_type(class(py, error.class()), (error.to_string(),)),
    })
}

/// The exception that set out as `from_python`.
fn returning(py: Python<'_>, foreign: ForeignError) -> PyErr {
    match foreign.payload.downcast::<PyErr>() {
        Ok(raised) => {
            if !foreign.during.is_empty() {
                // A note is a courtesy: an exception that takes none is raised without it.
                let _ = raised.add_note(py, foreign.during.as_str());
            }
            *raised
        }
        Err(_) => PyErr::from_type(class(py, "InternalError"), (foreign.during,)),
    }
}

/// Wraps an exception for its way through Rust; `during` becomes a note, unless empty.
#[cold]
pub(crate) fn from_python(raised: PyErr, during: impl Into<String>) -> Box<Error> {
    Box::new(Error::Foreign(ForeignError { payload: Box::new(raised), during: during.into() }))
}

impl From<Box<Error>> for PyErr {
    fn from(error: Box<Error>) -> PyErr {
        to_python(error)
    }
}

/// Shorthand for an argument whose type is wrong.
#[cold]
pub(crate) fn bad_type(op: &str, what: impl Into<String>, remedy: impl Into<String>) -> PyErr {
    to_python(Box::new(Error::ArgumentType {
        op: op.to_owned().into(),
        what: what.into(),
        remedy: remedy.into(),
    }))
}

/// Shorthand for an argument whose value is wrong.
#[cold]
pub(crate) fn bad_value(op: &str, what: impl Into<String>, remedy: impl Into<String>) -> PyErr {
    to_python(Box::new(Error::Argument {
        op: op.to_owned().into(),
        what: what.into(),
        remedy: remedy.into(),
    }))
}

/// Runs Rust code that may fail, with its error turned into an exception.
pub(crate) fn python<T>(result: Result<T>) -> PyResult<T> {
    result.map_err(to_python)
}

/// The name of an object's type, for messages.
#[cold]
pub(crate) fn type_name(ob: &Bound<'_, PyAny>) -> String {
    ob.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string())
}
