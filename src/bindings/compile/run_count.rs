//! Run counts of programs, by which `python/ferrograd/_compile` evicts programs from its cache.
//!
//! Counters are relaxed loads and stores, so that concurrent runs may lose a count.

use std::sync::atomic::{AtomicU64, Ordering};

static CLOCK: AtomicU64 = AtomicU64::new(1);

/// The run count of a program.
pub(crate) struct RunCount {
    last_run: AtomicU64,
    runs: AtomicU64,
}

impl RunCount {
    /// A new program: its trace counts as a use, not as a run.
    pub(crate) fn new() -> RunCount {
        RunCount { last_run: AtomicU64::new(next_tick()), runs: AtomicU64::new(0) }
    }

    /// Counts a run.
    #[inline]
    pub(crate) fn add_run(&self) {
        self.last_run.store(next_tick(), Ordering::Relaxed);
        self.runs.store(self.runs.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// A logical time of the last run, and the number of runs.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.last_run.load(Ordering::Relaxed), self.runs.load(Ordering::Relaxed))
    }
}

#[inline]
fn next_tick() -> u64 {
    let now = CLOCK.load(Ordering::Relaxed) + 1;
    CLOCK.store(now, Ordering::Relaxed);
    now
}
