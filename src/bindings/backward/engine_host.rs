//! The engine's view of the Python interpreter: releasing the GIL during a pass, and raising the exception of a signal
//! handler.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

use crate::bindings::attach::attached;
use crate::bindings::call::intercept::without_gil;
use crate::bindings::call::thread_state::{ThreadStateGuard, check_stack};
use crate::bindings::errors::{from_python, to_python};
use crate::error::{Error, Result};
use crate::graph::Host;
use crate::threads::{Mutex, signals};

/// The host interface of one backward pass.
#[derive(Default)]
struct PassHost {
    raised: Mutex<Option<PyErr>>,
    /// Whether the pass has released the GIL.
    detached: AtomicBool,
}

impl Host for PassHost {
    fn attached(&self, batch: &mut dyn FnMut()) {
        attached(|_| batch());
    }

    fn detached(&self, work: &mut (dyn FnMut() + Send)) {
        if self.detached.swap(true, Ordering::Relaxed) {
            return work();
        }
        attached(|py| without_gil(py, work));
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

/// Lets long loops of compiled programs check for signals.
pub(crate) fn register() {
    signals::set_check(|| {
        attached(|py| py.check_signals())
            .map_err(|raised| from_python(raised, "raised by a signal"))
    });
}

/// Runs one or more backward passes with the host interface of this thread.
pub(crate) fn run_pass<T>(
    py: Python<'_>,
    op: &'static str,
    pass: impl FnOnce(&dyn Host) -> Result<T>,
) -> PyResult<T> {
    check_stack(op)?;
    let _state = ThreadStateGuard::new(py);
    let host = PassHost::default();
    pass(&host).map_err(|error| match *error {
        Error::Interrupted { .. } => {
            let raised = host.raised.lock().take();
            raised.unwrap_or_else(|| to_python(error))
        }
        _ => to_python(error),
    })
}
