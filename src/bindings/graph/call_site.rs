//! Where the Python program is when the core is called, and why a tensor has no history.
//!
//! Owns: the walk over Python frames, what the innermost one is at, the switches of the modes that ask for it, warnings, and
//! `_cut_because`.
//! Never keeps a frame. Invariant: frames of this package are left out, so a site is a line of the user's program.

use std::sync::Arc;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::bindings::attach::attached;
use crate::bindings::errors::from_python;
use crate::bindings::object::PyTensor;
use crate::bindings::package::PACKAGE;
use crate::error::{Result, Warning, set_warn};
use crate::graph::{self, ANOMALY, CALL_SITES, CHECK_NAN, CallStack, Mode};

static GET_FRAME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The most frames of a whole site.
const DEEPEST: usize = 16;

struct Interpreter;

impl CallStack for Interpreter {
    fn here(&self, whole: bool) -> Option<Arc<str>> {
        let most = if whole { DEEPEST } else { 1 };
        // A frame that cannot be read leaves the site unknown; it must not fail the operation.
        attached(|py| frames(py, most).ok()).map(Arc::from)
    }
}

/// Lets the engine ask where the program is, and the core give warnings.
pub(crate) fn register() {
    graph::set_call_stack(&Interpreter);
    set_warn(say);
}

/// The folder of this package.
fn package(py: Python<'_>) -> PyResult<&'static str> {
    static FOLDER: PyOnceLock<String> = PyOnceLock::new();
    FOLDER
        .get_or_try_init(py, || {
            let file: String = py.import(PACKAGE)?.getattr("__file__")?.extract()?;
            let end = file.rfind(['/', '\\']).map_or(file.len(), |i| i + 1);
            Ok(file[..end].to_owned())
        })
        .map(String::as_str)
}

/// `file:line in function` of the innermost frames of the user's program, the innermost last.
fn frames(py: Python<'_>, most: usize) -> PyResult<String> {
    let package = package(py)?;
    let mut lines: Vec<String> = Vec::new();
    let mut frame = GET_FRAME.import(py, "sys", "_getframe")?.call0()?;
    while !frame.is_none() && lines.len() < most {
        let code = frame.getattr("f_code")?;
        let file: String = code.getattr("co_filename")?.extract()?;
        if !file.starts_with(package) {
            let line: usize = frame.getattr("f_lineno")?.extract()?;
            let function: String = code.getattr("co_qualname")?.extract()?;
            lines.push(format!("{file}:{line} in {function}"));
        }
        frame = frame.getattr("f_back")?;
    }
    lines.reverse();
    Ok(lines.join("\n"))
}

/// How many frames of this package stand above the user's program.
fn frames_of_package(py: Python<'_>) -> PyResult<i32> {
    let (package, mut count) = (package(py)?, 0);
    let mut frame = GET_FRAME.import(py, "sys", "_getframe")?.call0()?;
    while !frame.is_none() {
        let file: String = frame.getattr("f_code")?.getattr("co_filename")?.extract()?;
        if !file.starts_with(package) {
            return Ok(count);
        }
        count += 1;
        frame = frame.getattr("f_back")?;
    }
    Ok(0)
}

/// Gives a warning of this class at the innermost line of the user's program.
pub(crate) fn warn_user(py: Python<'_>, class: &Bound<'_, PyAny>, text: &str) -> PyResult<()> {
    PyErr::warn(py, class, &std::ffi::CString::new(text)?, 1 + frames_of_package(py)?)
}

/// A warning of the core in the classes of NumPy.
fn say(warning: Warning) -> Result<()> {
    static COMPLEX: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let said = attached(|py| {
        let class = match warning {
            Warning::Imaginary => COMPLEX.import(py, "numpy.exceptions", "ComplexWarning")?.clone(),
            Warning::InvalidCast => py.get_type::<PyRuntimeWarning>().into_any(),
        };
        warn_user(py, &class, warning.text())
    });
    said.map_err(|raised| from_python(raised, ""))
}

/// Whether the program is at an assignment to an element or a slice: NumPy then takes numbers out of a tensor as
/// `float(t)` does.
pub(crate) fn assigning(py: Python<'_>) -> bool {
    static NAMES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let instruction = || -> PyResult<String> {
        let frame = GET_FRAME.import(py, "sys", "_getframe")?.call0()?;
        let code = frame.getattr("f_code")?.getattr("co_code")?;
        let operation = code.get_item(frame.getattr("f_lasti")?)?;
        NAMES.import(py, "opcode", "opname")?.get_item(operation)?.extract()
    };
    instruction().is_ok_and(|name| name == "STORE_SUBSCR" || name == "STORE_SLICE")
}

/// Switches anomaly mode on this thread and returns the mode word before.
#[pyfunction]
pub(crate) fn _switch_anomaly(on: bool, check_nan: bool) -> u32 {
    let before = Mode::current();
    before.with(ANOMALY, on).with(CHECK_NAN, on && check_nan).set();
    before.0
}

/// Switches the record of call sites on this thread and returns the mode word before.
#[pyfunction]
pub(crate) fn _switch_sites(on: bool) -> u32 {
    let before = Mode::current();
    before.with(CALL_SITES, on).set();
    before.0
}

/// Whether this thread is in anomaly mode.
#[pyfunction]
pub(crate) fn is_anomaly_enabled() -> bool {
    Mode::current().has(ANOMALY)
}

/// Whether anomaly mode looks for NaN on this thread.
#[pyfunction]
pub(crate) fn is_anomaly_check_nan_enabled() -> bool {
    Mode::current().has(CHECK_NAN)
}

/// What cut a tensor from the graph, where, and what to do instead; None when that is not known.
#[pyfunction]
pub(crate) fn _cut_because(tensor: &Bound<'_, PyTensor>) -> Option<String> {
    tensor.get().tensor.cut_message()
}
