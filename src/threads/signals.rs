//! Signals (Ctrl-C) during long loops: a loop polls, and returns the host's error.
//!
//! Without a host, polling does nothing.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::Result;

/// Asks the host whether a signal handler raised.
pub type SignalCheck = fn() -> Result<()>;

static CHECK: OnceLock<SignalCheck> = OnceLock::new();

/// Sets the host's check; the first one stays.
pub fn set_check(check: SignalCheck) {
    CHECK.get_or_init(|| check);
}

/// Limits the checks to one per 20 ms: reading the interval is cheaper than asking the host.
#[derive(Debug, Default)]
pub struct PollInterval(Option<Instant>);

impl PollInterval {
    const LENGTH: Duration = Duration::from_millis(20);

    /// Whether the interval has passed. The first call starts it.
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = self.0.is_some_and(|last| now - last >= Self::LENGTH);
        if due || self.0.is_none() {
            self.0 = Some(now);
        }
        due
    }
}

/// Polls signals for one loop.
#[derive(Debug, Default)]
pub struct SignalPoller {
    interval: PollInterval,
    iterations: u32,
}

impl SignalPoller {
    /// Iterations per look at the clock.
    const ITERATIONS: u32 = 16;

    /// Called once per iteration.
    ///
    /// # Errors
    /// What a signal handler of the host raised.
    pub fn check(&mut self) -> Result<()> {
        self.iterations = self.iterations.wrapping_add(1);
        if !self.iterations.is_multiple_of(Self::ITERATIONS) || !self.interval.is_due() {
            return Ok(());
        }
        CHECK.get().map_or(Ok(()), |check| check())
    }
}
