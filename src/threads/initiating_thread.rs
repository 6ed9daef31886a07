//! The thread on whose behalf the current thread works.
//!
//! Invariant: ids are unique, and a helper of a pass has the id of the thread that began the pass.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The id of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitiatingThread(u64);

thread_local! {
    static ORIGIN: Cell<u64> = const { Cell::new(0) };
}

impl InitiatingThread {
    /// The thread on whose behalf this one works: itself, unless it is a helper.
    #[inline]
    pub fn current() -> InitiatingThread {
        match ORIGIN.get() {
            0 => InitiatingThread::assign(),
            number => InitiatingThread(number),
        }
    }

    #[cold]
    fn assign() -> InitiatingThread {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        ORIGIN.set(number);
        InitiatingThread(number)
    }

    /// Acts on behalf of this thread while the guard lives.
    pub fn adopt(self) -> OriginGuard {
        OriginGuard(ORIGIN.replace(self.0))
    }
}

/// The guard of [`InitiatingThread::adopt`].
#[must_use = "the thread works on its own behalf again when this is dropped"]
pub struct OriginGuard(u64);

impl Drop for OriginGuard {
    fn drop(&mut self) {
        ORIGIN.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_numbers_of_their_own() {
        let here = InitiatingThread::current();
        assert_eq!(here, InitiatingThread::current());
        let there = std::thread::spawn(InitiatingThread::current).join().unwrap();
        assert_ne!(here, there);
    }

    #[test]
    fn a_helper_acts_for_the_caller() {
        let here = InitiatingThread::current();
        let helper = std::thread::spawn(move || {
            let own = InitiatingThread::current();
            let acting = here.adopt();
            let meanwhile = InitiatingThread::current();
            drop(acting);
            (own == InitiatingThread::current(), meanwhile)
        });
        assert_eq!(helper.join().unwrap(), (true, here));
    }
}
