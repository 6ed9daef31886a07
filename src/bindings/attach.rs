//! Attaches the current thread to the Python interpreter.
//!
//! Invariant: no lock of the crate is held while attaching: a thread that waits for the interpreter, or runs Python
//! code, may wait for a thread that waits for that lock.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::threads::assert_no_lock_held;

/// Runs `work` with the thread attached to the interpreter (holding the GIL).
#[inline]
#[track_caller]
pub(crate) fn attached<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    assert_no_lock_held();
    let mut work = Some(work);
    let mut run = |py: Python<'_>| work.take().map(|work| work(py));
    match Python::try_attach(&mut run).flatten() {
        Some(done) => done,
        None => attach_during_shutdown(&mut run),
    }
}

/// Refuses sub-interpreters: threads attach to the main interpreter, and static objects belong to it.
///
/// # Errors
/// `ImportError` in a sub-interpreter.
pub(crate) fn require_main_interpreter(_py: Python<'_>) -> PyResult<()> {
    // SAFETY: the thread is attached; the two addresses are only compared.
    if unsafe { ffi::PyInterpreterState_Get() == ffi::PyInterpreterState_Main() } {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "ferrograd: this is a sub-interpreter, and neither NumPy nor ferrograd can be in one; import them in the main \
         interpreter, or use threads or processes",
    ))
}

/// Runs `work` when attaching was refused because the interpreter is shutting down. Finalisers still run then, on a
/// thread that is already attached.
#[cold]
fn attach_during_shutdown<R>(run: &mut impl FnMut(Python<'_>) -> Option<R>) -> R {
    // SAFETY: `PyGILState_Check` may be called at any time.
    let attached = unsafe { ffi::PyGILState_Check() } == 1;
    // SAFETY: checked above.
    let done = attached.then(|| run(unsafe { Python::assume_attached() })).flatten();
    done.expect("the Python interpreter has ended")
}
