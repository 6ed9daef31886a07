//! Call sites: where the user's program called an operation, from Python's frames. Also warnings at that line, and why
//! a tensor has no history.
//! Frames of this package are skipped.

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

/// The most frames in a call site.
const MAX_FRAMES: usize = 16;

struct FrameReader;

impl CallStack for FrameReader {
    fn here(&self, whole: bool) -> Option<Arc<str>> {
        let limit = if whole { MAX_FRAMES } else { 1 };
        // An unreadable frame means an unknown site; it must not fail the operation.
        attached(|py| frames(py, limit).ok()).map(Arc::from)
    }
}

/// Registers the call-site lookup and the warning function with the core.
pub(crate) fn register() {
    graph::set_call_stack(&FrameReader);
    set_warn(warn);
}

fn package_folder(py: Python<'_>) -> PyResult<&'static str> {
    static FOLDER: PyOnceLock<String> = PyOnceLock::new();
    FOLDER
        .get_or_try_init(py, || {
            let file: String = py.import(PACKAGE)?.getattr("__file__")?.extract()?;
            let end = file.rfind(['/', '\\']).map_or(file.len(), |i| i + 1);
            Ok(file[..end].to_owned())
        })
        .map(String::as_str)
}

/// `file:line in function` of the innermost user frames, innermost last.
fn frames(py: Python<'_>, limit: usize) -> PyResult<String> {
    let package_folder = package_folder(py)?;
    let mut lines: Vec<String> = Vec::new();
    let mut frame = GET_FRAME.import(py, "sys", "_getframe")?.call0()?;
    while !frame.is_none() && lines.len() < limit {
        let code = frame.getattr("f_code")?;
        let file: String = code.getattr("co_filename")?.extract()?;
        if !file.starts_with(package_folder) {
            let line: usize = frame.getattr("f_lineno")?.extract()?;
            let function: String = code.getattr("co_qualname")?.extract()?;
            lines.push(format!("{file}:{line} in {function}"));
        }
        frame = frame.getattr("f_back")?;
    }
    lines.reverse();
    Ok(lines.join("\n"))
}

/// The number of package frames above the user's innermost frame.
fn frames_of_package(py: Python<'_>) -> PyResult<i32> {
    let (package_folder, mut count) = (package_folder(py)?, 0);
    let mut frame = GET_FRAME.import(py, "sys", "_getframe")?.call0()?;
    while !frame.is_none() {
        let file: String = frame.getattr("f_code")?.getattr("co_filename")?.extract()?;
        if !file.starts_with(package_folder) {
            return Ok(count);
        }
        count += 1;
        frame = frame.getattr("f_back")?;
    }
    Ok(0)
}

/// Issues a warning at the innermost line of the user's program.
pub(crate) fn warn_user(py: Python<'_>, class: &Bound<'_, PyAny>, text: &str) -> PyResult<()> {
    PyErr::warn(py, class, &std::ffi::CString::new(text)?, 1 + frames_of_package(py)?)
}

/// Issues a warning of the core as NumPy's warning class.
fn warn(warning: Warning) -> Result<()> {
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

/// Whether the calling Python instruction assigns to an element or a slice: NumPy then converts a tensor by `float(t)`.
pub(crate) fn is_subscript_assignment(py: Python<'_>) -> bool {
    static NAMES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let instruction = || -> PyResult<String> {
        let frame = GET_FRAME.import(py, "sys", "_getframe")?.call0()?;
        let code = frame.getattr("f_code")?.getattr("co_code")?;
        let operation = code.get_item(frame.getattr("f_lasti")?)?;
        NAMES.import(py, "opcode", "opname")?.get_item(operation)?.extract()
    };
    instruction().is_ok_and(|name| name == "STORE_SUBSCR" || name == "STORE_SLICE")
}

/// Switches anomaly mode on this thread and returns the previous mode word.
#[pyfunction]
pub(crate) fn _switch_anomaly(on: bool, check_nan: bool) -> u32 {
    let before = Mode::current();
    before.with(ANOMALY, on).with(CHECK_NAN, on && check_nan).set();
    before.0
}

/// Switches the recording of call sites on this thread and returns the previous mode word.
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
