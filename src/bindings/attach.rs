//! Entering Python from the engine.
//!
//! Owns: the attachment of a thread to the interpreter. Never runs Python code itself.
//! Invariant: no lock of the crate is held: who waits for the interpreter, or runs Python code, may wait for a thread that
//! waits for that lock.

use pyo3::prelude::*;

use crate::threads::assert_no_lock_held;

/// Runs `work` attached to the interpreter.
#[inline]
#[track_caller]
pub(crate) fn attached<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    assert_no_lock_held();
    Python::attach(work)
}
