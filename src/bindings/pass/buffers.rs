//! Whether arrays that a program makes must take tensors.
//!
//! Owns: the rule, and the mark of functions that are called outside a transform as if one ran. Never makes an array.
//! Invariant: a mark belongs to its thread, and who sets it puts back what was there.

use std::cell::Cell;

use pyo3::prelude::*;

use crate::array::capture;
use crate::graph::{GRAD, Mode, TRANSFORM};

thread_local! {
    static MARKED: Cell<bool> = const { Cell::new(false) };
}

/// Marks what this thread runs, or not, and returns whether it was marked.
#[pyfunction]
pub(crate) fn _switch_recorded_arrays(on: bool) -> bool {
    MARKED.replace(on)
}

/// Whether a transform, a recording or a marked function runs here. Under `no_grad` nothing that is written has a
/// derivative, but a program must see the write.
#[pyfunction]
pub(crate) fn _records_arrays() -> bool {
    let mode = Mode::current();
    (mode.has(GRAD) && (mode.has(TRANSFORM) || MARKED.get())) || capture::active()
}
