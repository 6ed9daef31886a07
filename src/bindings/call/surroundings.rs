//! What a thread is in the middle of: modes, saved-tensor hooks, observers, and the depth of its stack.
//!
//! Owns: putting all of it back after Python code that the engine called, and the refusal to call deeper than the stack
//! allows. Never changes any of it otherwise.
//! Invariant: after a pass, a hook, a repetition or a backward in Python the thread is in what it was in before.

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

use crate::bindings::call::observe::{self, Observers};
use crate::graph::{Mode, ModeGuard};
use crate::tensor::packing;
use crate::threads::stack::{self, Stack};

/// What this thread is in; put back when the value is dropped.
#[must_use = "the thread is put back when the guard is dropped"]
pub(crate) struct Surroundings {
    _mode: ModeGuard,
    _blocks: packing::BlocksGuard,
    _observers: Observers,
}

impl Surroundings {
    /// Keeps what this thread is in.
    pub(crate) fn keep(py: Python<'_>) -> Surroundings {
        Surroundings {
            _mode: ModeGuard::new(Mode::current()),
            _blocks: packing::keep(),
            _observers: observe::keep(py),
        }
    }
}

/// What the deepest call must find: enough for a kernel, an error and a few frames of the interpreter.
const RESERVE: usize = 96 << 10;

/// Whether this thread has the stack for one more call into Python that may come back.
///
/// # Errors
/// `RecursionError` when it has not.
#[inline]
pub(crate) fn room(op: &str) -> PyResult<()> {
    match stack::current() {
        Some(Stack { left, size }) if left < RESERVE.min(size / 3) => Err(too_deep(op, left, size)),
        _ => Ok(()),
    }
}

#[cold]
fn too_deep(op: &str, left: usize, size: usize) -> PyErr {
    let (left, size) = (left >> 10, size >> 10);
    PyRecursionError::new_err(format!(
        "{op}: calls within calls have left {left} KiB of this thread's stack of {size} KiB; nest them less \
         deep, or give the thread more with threading.stack_size()"
    ))
}
