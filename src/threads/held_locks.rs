//! The locks that this thread holds, counted where debug assertions are on.
//!
//! Owns: the count. Every lock of the crate is a [`Lock`](super::Lock) or a [`Mutex`](super::Mutex), whose guards count.
//! Invariant: foreign code (a host language, a hook, a destructor of a host object) may ask for any lock of ours, so it
//! runs while the count is zero.

use std::marker::PhantomData;

#[cfg(debug_assertions)]
thread_local! {
    static COUNT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// One lock that this thread holds: part of a guard, which therefore stays on its thread.
pub(super) struct Held(PhantomData<*const ()>);

// SAFETY: shared, it gives access to nothing.
unsafe impl Sync for Held {}

impl Held {
    #[inline(always)]
    pub(super) fn new() -> Held {
        #[cfg(debug_assertions)]
        COUNT.set(COUNT.get() + 1);
        Held(PhantomData)
    }
}

#[cfg(debug_assertions)]
impl Drop for Held {
    fn drop(&mut self) {
        COUNT.set(COUNT.get() - 1);
    }
}

/// To be called before foreign code runs, and where it enters: panics with debug assertions if this thread holds a lock.
#[inline(always)]
#[track_caller]
pub fn assert_no_lock_held() {
    #[cfg(debug_assertions)]
    assert!(COUNT.get() == 0 || std::thread::panicking(), "foreign code runs under a lock");
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::super::{Lock, Mutex};
    use super::*;

    #[test]
    fn foreign_code_runs_under_no_lock() {
        let refused = || std::panic::catch_unwind(assert_no_lock_held).is_err();
        let (lock, mutex) = (Lock::new(1), Mutex::new(2));
        assert!(!refused());
        let first = lock.lock();
        assert!(refused());
        let second = mutex.try_lock();
        drop(first);
        assert!(second.is_some() && refused());
        assert!(mutex.try_lock().is_none() && refused());
        drop(second);
        assert!(!refused());
    }
}
