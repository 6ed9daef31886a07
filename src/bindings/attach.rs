//! Entering Python from the engine.
//!
//! Owns: the attachment of a thread to the interpreter. Never runs Python code itself.
//! Invariant: no lock of the crate is held: who waits for the interpreter, or runs Python code, may wait for a thread that
//! waits for that lock. A finaliser that runs while the interpreter ends enters as any other code.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::threads::assert_no_lock_held;

/// Runs `work` attached to the interpreter.
#[inline]
#[track_caller]
pub(crate) fn attached<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    assert_no_lock_held();
    let mut work = Some(work);
    let mut run = |py: Python<'_>| work.take().map(|work| work(py));
    match Python::try_attach(&mut run).flatten() {
        Some(done) => done,
        None => at_the_end(&mut run),
    }
}

/// Refuses the interpreters of a process but the main one: threads attach to that, and static objects belong to it.
///
/// # Errors
/// `ImportError` in any other.
pub(crate) fn only_in_the_main_interpreter(_py: Python<'_>) -> PyResult<()> {
    // SAFETY: the thread is attached; the addresses are compared and nothing else.
    if unsafe { ffi::PyInterpreterState_Get() == ffi::PyInterpreterState_Main() } {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "ferrograd: this is a sub-interpreter, and neither NumPy nor ferrograd can be in one; import them in the main \
         interpreter, or use threads or processes",
    ))
}

/// Runs `work` on a thread that the interpreter, which ends, has called: it takes nobody else in.
#[cold]
fn at_the_end<R>(run: &mut impl FnMut(Python<'_>) -> Option<R>) -> R {
    // SAFETY: it may be asked at any time, and says whether this thread is attached.
    let attached = unsafe { ffi::PyGILState_Check() } == 1;
    // SAFETY: this thread is attached.
    let done = attached.then(|| run(unsafe { Python::assume_attached() })).flatten();
    done.expect("the Python interpreter has ended")
}
