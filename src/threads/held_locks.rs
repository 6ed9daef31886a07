//! The number of locks that this thread holds, in debug builds.
//!
//! Every lock of the crate is a [`Lock`](super::Lock) or a [`Mutex`](super::Mutex), whose guards are counted.
//! Invariant: foreign code (the interpreter, hooks, destructors of host objects) may take any lock of the crate, so it
//! runs only while the count is zero.

use std::marker::PhantomData;

#[cfg(debug_assertions)]
thread_local! {
    static COUNT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// One held lock: a field of a guard, which therefore stays on its thread.
pub(super) struct HeldLock(PhantomData<*const ()>);

// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for HeldLock {}

impl HeldLock {
    #[inline(always)]
    pub(super) fn new() -> HeldLock {
        #[cfg(debug_assertions)]
        COUNT.set(COUNT.get() + 1);
        HeldLock(PhantomData)
    }
}

#[cfg(debug_assertions)]
impl Drop for HeldLock {
    fn drop(&mut self) {
        COUNT.set(COUNT.get() - 1);
    }
}

/// Called before foreign code runs, and where it enters; in debug builds it panics if this thread holds a lock.
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
