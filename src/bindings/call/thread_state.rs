//! The state of a thread that calls may change: modes, saved-tensor hooks, observers, and the depth of its stack.
//!
//! Owns: putting all of it back after Python code that the engine called, and the refusal to call deeper than the stack
//! allows. Never changes any of it otherwise.
//! Invariant: after a pass, a hook, a recomputation or a backward in Python the thread's state is what it was before.

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

use crate::bindings::call::observe::{self, Observers};
use crate::graph::{Mode, ModeGuard};
use crate::tensor::saved_tensor_hooks;
use crate::threads::assert_no_lock_held;
use crate::threads::stack_depth;
use crate::threads::stack_depth::Stack;

/// The state of this thread, restored when the value is dropped.
#[must_use = "the state is restored when the guard is dropped"]
pub(crate) struct ThreadStateGuard {
    _mode: ModeGuard,
    _blocks: saved_tensor_hooks::BlocksGuard,
    _observers: Observers,
}

impl ThreadStateGuard {
    /// Takes the state of this thread.
    pub(crate) fn new(py: Python<'_>) -> ThreadStateGuard {
        assert_no_lock_held();
        ThreadStateGuard {
            _mode: ModeGuard::new(Mode::current()),
            _blocks: saved_tensor_hooks::save_blocks(),
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
    assert_no_lock_held();
    match stack_depth::current() {
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
