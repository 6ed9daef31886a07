//! Thread modes: the functions behind Python's context managers.

use pyo3::prelude::*;

use crate::array::observer;
use crate::graph::{
    DISALLOW_SAVED_MUTATION, GRAD, INFERENCE, Mode, RECORDED_ARRAYS, SERIAL, TRANSFORM,
    grad_enabled,
};

/// Whether operations of this thread are recorded.
#[pyfunction]
pub(crate) fn is_grad_enabled() -> bool {
    grad_enabled()
}

/// Whether this thread is in inference mode.
#[pyfunction]
pub(crate) fn is_inference_mode_enabled() -> bool {
    Mode::current().has(INFERENCE)
}

/// Switches recording on this thread and returns the previous mode word.
#[pyfunction]
pub(crate) fn _switch_grad(on: bool) -> u32 {
    let before = Mode::current();
    before.with(GRAD, on).set();
    before.0
}

/// Sets whether writing to memory of a saved value copies the value first on this thread, and returns the previous mode
/// word.
#[pyfunction]
pub(crate) fn _disallow_saved_mutation(on: bool) -> u32 {
    let before = Mode::current();
    before.with(DISALLOW_SAVED_MUTATION, on).set();
    before.0
}

/// Sets whether arrays created on this thread can hold tensors, and returns the previous setting.
#[pyfunction]
pub(crate) fn _switch_recorded_arrays(on: bool) -> bool {
    let before = Mode::current();
    before.with(RECORDED_ARRAYS, on).set();
    before.has(RECORDED_ARRAYS)
}

/// Whether newly created arrays must be able to hold tensors: a transform or a trace is active, or a function asked for
/// it. Under `no_grad` writes have no derivative, but a trace must see them.
#[pyfunction]
pub(crate) fn _records_arrays() -> bool {
    let mode = Mode::current();
    (mode.has(GRAD) && (mode.has(TRANSFORM) || mode.has(RECORDED_ARRAYS))) || observer::is_active()
}

/// Switches inference mode on this thread and returns the previous mode word.
#[pyfunction]
pub(crate) fn _switch_inference(on: bool) -> u32 {
    let before = Mode::current();
    let grad = if on { before.with(GRAD, false) } else { before };
    grad.with(INFERENCE, on).set();
    before.0
}

/// Sets whether backward passes of this thread may run nodes on other threads, and returns the previous mode word.
#[pyfunction]
pub(crate) fn _switch_multithreading(on: bool) -> u32 {
    let before = Mode::current();
    before.with(SERIAL, !on).set();
    before.0
}

/// Whether backward passes of this thread may run nodes on other threads.
#[pyfunction]
pub(crate) fn is_multithreading_enabled() -> bool {
    !Mode::current().has(SERIAL)
}

/// Restores a mode word.
#[pyfunction]
pub(crate) fn _restore_mode(word: u32) {
    Mode(word).set();
}
