//! A spin lock that costs a load and a store while no other thread is in the engine.
//!
//! Waiters yield and sleep but never park: it is for sections of a few instructions, and for rare longer ones without
//! contention. After a fork, a lock that another thread held stays locked in the child.
//! Invariant: one guard at a time. A thread that is alone in the engine takes the lock without an atomic instruction.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::alone;
use super::held_locks::HeldLock;

/// A value behind a spin lock.
#[derive(Default)]
pub struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a guard only, and there is one guard at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> Lock<T> {
        Lock { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock and takes it.
    #[inline(always)]
    pub fn lock(&self) -> LockGuard<'_, T> {
        while !self.take() {
            self.wait();
        }
        LockGuard(self, HeldLock::new())
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        self.take().then(|| LockGuard(self, HeldLock::new()))
    }

    #[inline(always)]
    fn take(&self) -> bool {
        if !alone() {
            let taken =
                self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
            return taken.is_ok();
        }
        // Relaxed is enough: the last holder had the host's lock, or its `NotAlone` guard was dropped before (release).
        let free = !self.held.load(Ordering::Relaxed);
        self.held.store(true, Ordering::Relaxed);
        free
    }

    #[cold]
    fn wait(&self) {
        wait_while(|| self.held.load(Ordering::Relaxed));
    }
}

/// Spins, then yields, then sleeps, while `busy` returns true.
#[cold]
pub fn wait_while(busy: impl Fn() -> bool) {
    let mut spins = 0u32;
    while busy() {
        spins += 1;
        match spins {
            0..64 => std::hint::spin_loop(),
            64..256 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

/// The guard of a [`Lock`].
pub struct LockGuard<'a, T>(&'a Lock<T>, HeldLock);

// SAFETY: a shared guard gives shared access to the value only.
unsafe impl<T: Sync> Sync for LockGuard<'_, T> {}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this is the only guard.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this is the only guard.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.held.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_one_after_the_other() {
        let count = Lock::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(*count.lock(), 40_000);
    }

    #[test]
    fn a_second_thread_waits_or_fails_to_try() {
        let value = Lock::new(1);
        let guard = value.lock();
        assert!(value.try_lock().is_none());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| *value.lock());
            std::thread::sleep(Duration::from_millis(5));
            assert!(!second.is_finished());
            drop(guard);
            assert_eq!(second.join().ok(), Some(1));
        });
    }
}
