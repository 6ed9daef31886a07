//! Mutual exclusion that parks whoever waits, for sections that may be longer than a few instructions.
//!
//! Owns: the mutex and its guard. It knows no poison: what it protects is whole also where a section panicked.
//! Invariant: every guard is counted among the locks that its thread holds.

use std::ops::{Deref, DerefMut};
use std::sync::{self, PoisonError, TryLockError};

use super::held_locks::Held;

/// A value that one thread at a time may use.
#[derive(Default)]
pub struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A mutex that nobody has.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    /// Waits for the mutex and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { guard, _held: Held::new() }
    }

    /// Takes the mutex if nobody has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let guard = match self.0.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(MutexGuard { guard, _held: Held::new() })
    }

    /// The value, which nobody else can use any more.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to use the value, until it is dropped.
pub struct MutexGuard<'a, T> {
    guard: sync::MutexGuard<'a, T>,
    _held: Held,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
