//! How often a program ran, and when it ran last: what decides which program goes when there are too many.
//!
//! Owns: these two numbers. Never decides anything: `python/ferrograd/_compile` does. Invariant: a run costs a few loads and
//! stores, and no exclusive access; threads that run programs at once may lose a count.

use std::sync::atomic::{AtomicU64, Ordering};

static CLOCK: AtomicU64 = AtomicU64::new(1);

/// The uses of a program.
pub(crate) struct Usage {
    last: AtomicU64,
    runs: AtomicU64,
}

impl Usage {
    /// Those of a new program: its recording counts as use, and not as a run.
    pub(crate) fn new() -> Usage {
        Usage { last: AtomicU64::new(tick()), runs: AtomicU64::new(0) }
    }

    /// Takes note of a run.
    #[inline]
    pub(crate) fn note(&self) {
        self.last.store(tick(), Ordering::Relaxed);
        self.runs.store(self.runs.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The time of the last run, which has no unit, and the number of runs.
    pub(crate) fn told(&self) -> (u64, u64) {
        (self.last.load(Ordering::Relaxed), self.runs.load(Ordering::Relaxed))
    }
}

#[inline]
fn tick() -> u64 {
    let now = CLOCK.load(Ordering::Relaxed) + 1;
    CLOCK.store(now, Ordering::Relaxed);
    now
}
