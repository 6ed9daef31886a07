//! Signals during long work: a loop that may never end asks from time to time whether it shall stop.
//!
//! Owns: the host's answer, and the clock that says when it is asked. Never stops anything by itself: the loop returns the error.
//! Invariant: without a host nothing is asked.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::Result;

/// What the host raises when a signal came.
pub type Check = fn() -> Result<()>;

static CHECK: OnceLock<Check> = OnceLock::new();

/// Lets loops ask the host. The first one stays.
pub fn set_check(check: Check) {
    CHECK.get_or_init(|| check);
}

/// When the host is asked: long work asks this clock now and then, which is cheaper.
#[derive(Debug, Default)]
pub struct Clock(Option<Instant>);

impl Clock {
    const EVERY: Duration = Duration::from_millis(20);

    /// Whether it is time. The first question begins the wait.
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = self.0.is_some_and(|last| now - last >= Self::EVERY);
        if due || self.0.is_none() {
            self.0 = Some(now);
        }
        due
    }
}

/// The questions of one loop.
#[derive(Debug, Default)]
pub struct Signals {
    clock: Clock,
    iterations: u32,
}

impl Signals {
    /// So often it looks at the clock.
    const ITERATIONS: u32 = 16;

    /// To be called once per iteration.
    ///
    /// # Errors
    /// What a signal handler of the host raised.
    pub fn check(&mut self) -> Result<()> {
        self.iterations = self.iterations.wrapping_add(1);
        if !self.iterations.is_multiple_of(Self::ITERATIONS) || !self.clock.is_due() {
            return Ok(());
        }
        CHECK.get().map_or(Ok(()), |check| check())
    }
}
