//! Mutual exclusion that costs a load and a store while no other thread is in the engine.
//!
//! Owns: the lock, its guard, and how a thread waits. It never parks: whoever waits gives way to other threads, so it is for sections of a few
//! instructions, and for the rare longer one that nobody waits for. In the child of a fork, a lock that another thread held
//! stays held, as every lock does.
//! Invariant: one guard at a time. A thread that is alone takes the lock without a locked instruction: nobody else can be at it.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::alone;
use super::held_locks::Held;

/// A value that one thread at a time may use.
#[derive(Default)]
pub struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a guard only, of which there is one at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A lock that nobody has.
    pub const fn new(value: T) -> Lock<T> {
        Lock { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock and takes it.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        while !self.take() {
            self.wait();
        }
        Guard(self, Held::new())
    }

    /// Takes the lock if nobody has it.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.take().then(|| Guard(self, Held::new()))
    }

    #[inline(always)]
    fn take(&self) -> bool {
        if !alone() {
            let taken =
                self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
            return taken.is_ok();
        }
        // What the last holder did is known: it had the host's lock, or its reason went before.
        let free = !self.held.load(Ordering::Relaxed);
        self.held.store(true, Ordering::Relaxed);
        free
    }

    #[cold]
    fn wait(&self) {
        wait_while(|| self.held.load(Ordering::Relaxed));
    }
}

/// Gives way to other threads as long as this holds.
#[cold]
pub fn wait_while(busy: impl Fn() -> bool) {
    let mut turns = 0u32;
    while busy() {
        turns += 1;
        match turns {
            0..64 => std::hint::spin_loop(),
            64..256 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

/// The right to use the value, until it is dropped.
pub struct Guard<'a, T>(&'a Lock<T>, Held);

// SAFETY: a shared guard gives shared access to the value only.
unsafe impl<T: Sync> Sync for Guard<'_, T> {}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
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
    fn whoever_comes_second_waits_or_leaves() {
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
