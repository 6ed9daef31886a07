//! What the engine needs of Python: the GIL and the signals.
//!
//! Owns: how a pass releases the GIL, and the exception a signal raised.
//! Never looks inside a graph, and never decides when to release: the engine does.
//! Invariant: an interrupted pass raises what Python's signal handler raised.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

use crate::bindings::attach::attached;
use crate::bindings::call::intercept::detached;
use crate::bindings::call::thread_state::{ThreadStateGuard, room};
use crate::bindings::errors::{from_python, to_python};
use crate::error::{Error, Result};
use crate::graph::Host;
use crate::threads::{Mutex, signals};

/// The host of one pass.
#[derive(Default)]
struct Interpreter {
    raised: Mutex<Option<PyErr>>,
    /// The GIL is released, but for batches.
    detached: AtomicBool,
}

impl Host for Interpreter {
    fn attached(&self, batch: &mut dyn FnMut()) {
        attached(|_| batch());
    }

    fn detached(&self, work: &mut (dyn FnMut() + Send)) {
        if self.detached.swap(true, Ordering::Relaxed) {
            return work();
        }
        attached(|py| detached(py, work));
        self.detached.store(false, Ordering::Relaxed);
    }

    fn interrupted(&self) -> bool {
        attached(|py| match py.check_signals() {
            Ok(()) => false,
            Err(raised) => {
                *self.raised.lock() = Some(raised);
                true
            }
        })
    }
}

/// Lets long loops of programs ask for signals.
pub(crate) fn register() {
    signals::set_check(|| {
        attached(|py| py.check_signals())
            .map_err(|raised| from_python(raised, "raised by a signal"))
    });
}

/// Runs a pass, or what amounts to several, with the host that it needs.
pub(crate) fn run_pass<T>(
    py: Python<'_>,
    op: &'static str,
    pass: impl FnOnce(&dyn Host) -> Result<T>,
) -> PyResult<T> {
    room(op)?;
    let _kept = ThreadStateGuard::new(py);
    let host = Interpreter::default();
    pass(&host).map_err(|error| match *error {
        Error::Interrupted { .. } => {
            let raised = host.raised.lock().take();
            raised.unwrap_or_else(|| to_python(error))
        }
        _ => to_python(error),
    })
}
