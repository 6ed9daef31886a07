//! On behalf of which thread a thread works.
//!
//! Owns: the numbers of threads. Invariant: a number is never given twice, and a helper of a pass has that of the thread
//! that began the pass.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A thread, by a number of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caller(u64);

thread_local! {
    static CALLER: Cell<u64> = const { Cell::new(0) };
}

impl Caller {
    /// The thread on whose behalf this one works: itself, where it helps nobody.
    #[inline]
    pub fn current() -> Caller {
        match CALLER.get() {
            0 => Caller::first(),
            number => Caller(number),
        }
    }

    #[cold]
    fn first() -> Caller {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        CALLER.set(number);
        Caller(number)
    }

    /// Works on behalf of this thread as long as the value lives.
    pub fn act(self) -> Acting {
        Acting(CALLER.replace(self.0))
    }
}

/// See [`Caller::act`].
#[must_use = "the thread works on its own behalf again when this is dropped"]
pub struct Acting(u64);

impl Drop for Acting {
    fn drop(&mut self) {
        CALLER.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_numbers_of_their_own() {
        let here = Caller::current();
        assert_eq!(here, Caller::current());
        let there = std::thread::spawn(Caller::current).join().unwrap();
        assert_ne!(here, there);
    }

    #[test]
    fn a_helper_acts_for_the_caller() {
        let here = Caller::current();
        let helper = std::thread::spawn(move || {
            let own = Caller::current();
            let acting = here.act();
            let meanwhile = Caller::current();
            drop(acting);
            (own == Caller::current(), meanwhile)
        });
        assert_eq!(helper.join().unwrap(), (true, here));
    }
}
