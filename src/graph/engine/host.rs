//! The host language (Python), as the engine sees it: its lock and its signals.
//!
//! Also the decision when work is long enough to release the host's lock.

use crate::error::{Error, Result};

/// Cheaper work runs serially and keeps the host's lock. At 50 µs, 64 branches of 1 000 elements (half a millisecond) fall
/// from 0.95 to 0.78 times the speed of one thread and 64 of a 24² product from 1.00 to 0.81; nothing gains
/// (`benches/workers.py 9`, on two cores).
pub(super) const MIN_DETACHED_NS: f32 = 150_000.0;

/// The host's lock (Python's GIL) and its signals.
pub trait Host: Sync {
    /// Runs `batch` with the host's lock. Called only on the thread that started the pass.
    fn attached(&self, batch: &mut dyn FnMut());

    /// Runs `work` without the host's lock (which may be released already). Called only on the thread that started the pass.
    fn detached(&self, work: &mut (dyn FnMut() + Send));

    /// Whether the user interrupted (Ctrl-C). Polled about every 20 ms on the thread that started the pass.
    fn interrupted(&self) -> bool;
}

/// No host: Rust alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn attached(&self, batch: &mut dyn FnMut()) {
        batch();
    }

    fn detached(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }

    fn interrupted(&self) -> bool {
        false
    }
}

/// Runs `work`, estimated at `cost_ns` nanoseconds, without the host's lock if it is long enough.
pub fn detach_if_long<T: Send>(
    host: &dyn Host,
    cost_ns: f32,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    if cost_ns < MIN_DETACHED_NS {
        return work();
    }
    let (mut work, mut result) = (Some(work), None);
    host.detached(&mut || result = work.take().map(|work| work()));
    result.unwrap_or_else(|| {
        let what = "the host did not run the work it was given".into();
        Err(Error::Internal { op: "backward".into(), what }.into())
    })
}
