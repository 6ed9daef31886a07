//! Saves and restores a thread's modes, saved-tensor hooks and observers around Python code that the engine calls, and
//! refuses calls when the stack is nearly used up.

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

use crate::bindings::call::observe::{self, ObserversGuard};
use crate::graph::{Mode, ModeGuard};
use crate::tensor::saved_tensor_hooks;
use crate::threads::assert_no_lock_held;
use crate::threads::remaining_stack;
use crate::threads::remaining_stack::Stack;

/// The state of this thread, restored on drop.
#[must_use = "the state is restored when the guard is dropped"]
pub(crate) struct ThreadStateGuard {
    _mode: ModeGuard,
    _blocks: saved_tensor_hooks::BlocksGuard,
    _observers: ObserversGuard,
}

impl ThreadStateGuard {
    /// Saves the state of this thread.
    pub(crate) fn new(py: Python<'_>) -> ThreadStateGuard {
        assert_no_lock_held();
        ThreadStateGuard {
            _mode: ModeGuard::new(Mode::current()),
            _blocks: saved_tensor_hooks::save_blocks(),
            _observers: observe::save_observers(py),
        }
    }
}

/// Stack that the deepest call still needs: a kernel, an error and a few interpreter frames.
const RESERVE: usize = 96 << 10;

/// Checks that the stack has space for one more call into Python that may call back.
///
/// # Errors
/// `RecursionError` if it has not.
#[inline]
pub(crate) fn check_stack(op: &str) -> PyResult<()> {
    assert_no_lock_held();
    match remaining_stack::current() {
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
