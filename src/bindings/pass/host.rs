//! What the engine needs of Python: the GIL and the signals.
//!
//! Owns: the decision when a backward pass releases the GIL, and the exception a signal raised.
//! Never looks inside a graph beyond its cost estimate.
//! Invariant: an interrupted pass raises what Python's signal handler raised.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

use crate::bindings::errors::to_python;
use crate::error::{Error, Result};
use crate::graph::Host;
use crate::ops::derive::backward::Points;

/// Passes estimated below this many nanoseconds keep the GIL: the engine runs them serially.
const DETACH_NS: f32 = 150_000.0;

/// The host of one pass.
#[derive(Default)]
struct Interpreter {
    raised: Mutex<Option<PyErr>>,
}

impl Host for Interpreter {
    fn attached(&self, batch: &mut dyn FnMut()) {
        Python::attach(|_| batch());
    }

    fn interrupted(&self) -> bool {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => false,
            Err(raised) => {
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
                true
            }
        })
    }
}

/// How deep passes may nest on one thread: each level takes Rust and Python stack.
const DEEPEST: u32 = 320;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// One level of passes within passes.
struct Level;

impl Level {
    fn enter() -> PyResult<Level> {
        let depth = DEPTH.get();
        if depth == DEEPEST {
            return Err(PyRecursionError::new_err(format!(
                "backward: passes within passes are nested more than {DEEPEST} deep on this thread; \
                 start the inner ones outside the backward of a function"
            )));
        }
        DEPTH.set(depth + 1);
        Ok(Level)
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Runs a pass from these roots, without the GIL where it is worth it.
pub(crate) fn run_pass<T: Send>(
    py: Python<'_>,
    roots: Points,
    pass: impl FnOnce(Points, &dyn Host) -> Result<T> + Send,
) -> PyResult<T> {
    run_passes(py, roots, 1, pass)
}

/// The same for what amounts to so many passes.
pub(crate) fn run_passes<T: Send>(
    py: Python<'_>,
    roots: Points,
    times: usize,
    pass: impl FnOnce(Points, &dyn Host) -> Result<T> + Send,
) -> PyResult<T> {
    let _level = Level::enter()?;
    let host = Interpreter::default();
    let cost: f32 = roots.iter().map(|root| root.edge.node().total_cost()).sum();
    let result = if cost * times as f32 > DETACH_NS {
        py.detach(|| pass(roots, &host))
    } else {
        pass(roots, &host)
    };
    result.map_err(|error| match *error {
        Error::Interrupted { .. } => {
            let raised = host.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
            raised.unwrap_or_else(|| to_python(error))
        }
        _ => to_python(error),
    })
}
