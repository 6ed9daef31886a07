//! Whether the thread that asks is alone in the engine, so that it may count without locked instructions.
//!
//! Owns: the number of reasons why several threads may be in the engine at once. It orders nothing: the host's lock does.
//! Invariant: while the number is zero, every thread in the engine holds the host's lock. A reason is added by a thread that
//! holds the lock, before it gives the lock up or calls helpers; it goes when the thread has the lock again, when the helpers
//! have left, or when a thread that never had the lock is done. So whoever holds the lock and reads zero is alone until it
//! gives the lock up.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Without a host that has a lock there is one reason for ever.
static REASONS: AtomicUsize = AtomicUsize::new(1);

/// Whether no other thread is in the engine or comes in before this one gives the host's lock up.
#[inline(always)]
pub fn alone() -> bool {
    // Acquire: what a thread without the lock did before its reason went happens before plain counts.
    REASONS.load(Ordering::Acquire) == 0
}

/// Adds to a count, which goes round, and returns what it was: by a load and a store if this thread is alone, else in this order.
#[inline(always)]
pub fn add_alone(count: &AtomicU64, more: u64, order: Ordering) -> u64 {
    if !alone() {
        return count.fetch_add(more, order);
    }
    let before = count.load(Ordering::Relaxed);
    count.store(before.wrapping_add(more), Ordering::Relaxed);
    before
}

/// The same for a shorter count, in one order with all others.
#[inline(always)]
pub fn count_alone(count: &AtomicU32, more: u32) -> u32 {
    if !alone() {
        return count.fetch_add(more, Ordering::SeqCst);
    }
    let before = count.load(Ordering::Relaxed);
    count.store(before.wrapping_add(more), Ordering::Relaxed);
    before
}

/// The next version of a number that goes round; by a load and a store if this thread is alone.
#[inline(always)]
pub fn step_alone(version: &AtomicU32) -> u32 {
    if !alone() {
        return version.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    }
    let next = version.load(Ordering::Relaxed).wrapping_add(1);
    version.store(next, Ordering::Release);
    next
}

/// Replaces a word if it is still `before`, and says whether it was; by a store if this thread, which has just read it, is alone.
#[inline(always)]
pub fn replace_alone(word: &AtomicU64, before: u64, after: u64) -> bool {
    if !alone() {
        return word.compare_exchange(before, after, Ordering::AcqRel, Ordering::Acquire).is_ok();
    }
    word.store(after, Ordering::Release);
    true
}

/// A reason why other threads may be in the engine, for as long as the value lives.
#[must_use = "the reason goes with the value"]
pub struct NotAlone(());

impl NotAlone {
    /// Added while the caller holds the host's lock, or while there is another reason.
    #[allow(clippy::new_without_default)]
    pub fn new() -> NotAlone {
        REASONS.fetch_add(1, Ordering::Relaxed);
        NotAlone(())
    }
}

impl Drop for NotAlone {
    fn drop(&mut self) {
        REASONS.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(feature = "python")]
static HOSTED: std::sync::Once = std::sync::Once::new();

/// Tells that every thread in the engine holds the host's lock, unless it has a [`NotAlone`]; for hosts with such a lock.
#[cfg(feature = "python")]
pub fn host_has_a_lock() {
    HOSTED.call_once(|| drop(NotAlone(())));
}

/// Whether there is a host with a lock.
#[inline]
pub fn hosted() -> bool {
    #[cfg(feature = "python")]
    return HOSTED.is_completed();
    #[cfg(not(feature = "python"))]
    return false;
}
