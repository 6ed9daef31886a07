//! Signals during long work: a loop that may never end asks from time to time whether it shall stop.
//!
//! Owns: the host's answer, and how often it is asked. Never stops anything by itself: the loop returns the error.
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

/// The questions of one loop.
#[derive(Debug)]
pub struct Signals {
    asked: Instant,
    iterations: u32,
}

impl Signals {
    const EVERY: Duration = Duration::from_millis(50);
    /// So often it looks at the clock.
    const ITERATIONS: u32 = 16;

    /// Of a loop that begins.
    pub fn begin() -> Signals {
        Signals { asked: Instant::now(), iterations: 0 }
    }

    /// To be called once per iteration.
    ///
    /// # Errors
    /// What a signal handler of the host raised.
    pub fn check(&mut self) -> Result<()> {
        self.iterations = self.iterations.wrapping_add(1);
        if !self.iterations.is_multiple_of(Self::ITERATIONS) {
            return Ok(());
        }
        let now = Instant::now();
        if now - self.asked < Self::EVERY {
            return Ok(());
        }
        self.asked = now;
        CHECK.get().map_or(Ok(()), |check| check())
    }
}
