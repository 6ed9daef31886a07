//! Whether the current thread is alone in the engine, so that it may count without atomic read-modify-write instructions.
//!
//! A counter of the reasons why several threads may be in the engine at once; the host's lock (Python's GIL) does the ordering.
//! Invariant: while the counter is zero, every thread in the engine holds the host's lock. A reason is added by a thread that
//! holds the lock, before it releases the lock or calls helpers; it is removed when the thread has the lock again, when
//! the helpers have left, or when a thread that never had the lock is done. So a thread that holds the lock and reads zero
//! is alone until it releases the lock.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Without a host's lock, one reason stays for ever.
static REASONS: AtomicUsize = AtomicUsize::new(1);

/// Whether no other thread is, or comes, in the engine before this one releases the host's lock.
#[inline(always)]
pub fn alone() -> bool {
    // Acquire: what a thread without the lock did before it removed its reason happens before the plain accesses here.
    REASONS.load(Ordering::Acquire) == 0
}

/// Wrapping `fetch_add`: a load and a store if this thread is alone, else atomic with this ordering.
#[inline(always)]
pub fn fetch_add_alone(count: &AtomicU64, more: u64, order: Ordering) -> u64 {
    if !alone() {
        return count.fetch_add(more, order);
    }
    let before = count.load(Ordering::Relaxed);
    count.store(before.wrapping_add(more), Ordering::Relaxed);
    before
}

/// As `fetch_add_alone` for 32 bits, sequentially consistent.
#[inline(always)]
pub fn fetch_add_alone_u32(count: &AtomicU32, more: u32) -> u32 {
    if !alone() {
        return count.fetch_add(more, Ordering::SeqCst);
    }
    let before = count.load(Ordering::Relaxed);
    count.store(before.wrapping_add(more), Ordering::Relaxed);
    before
}

/// Increments a wrapping version and returns the new one; a load and a store if this thread is alone.
#[inline(always)]
pub fn increment_alone(version: &AtomicU32) -> u32 {
    if !alone() {
        return version.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    }
    let next = version.load(Ordering::Relaxed).wrapping_add(1);
    version.store(next, Ordering::Release);
    next
}

/// `compare_exchange(before, after)`; a plain store if this thread, which has just read `before`, is alone.
#[inline(always)]
pub fn compare_exchange_alone(word: &AtomicU64, before: u64, after: u64) -> bool {
    if !alone() {
        return word.compare_exchange(before, after, Ordering::AcqRel, Ordering::Acquire).is_ok();
    }
    word.store(after, Ordering::Release);
    true
}

/// A reason why other threads may be in the engine, while the value lives.
#[must_use = "the reason goes with the value"]
pub struct NotAlone(());

impl NotAlone {
    /// Created while the caller holds the host's lock, or while another reason exists.
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

/// Called by a host with a lock: every thread in the engine holds it, or has a [`NotAlone`].
#[cfg(feature = "python")]
pub fn set_host_lock() {
    HOSTED.call_once(|| drop(NotAlone(())));
}

/// Whether there is a host with a lock.
#[inline]
pub fn has_host_lock() -> bool {
    #[cfg(feature = "python")]
    return HOSTED.is_completed();
    #[cfg(not(feature = "python"))]
    return false;
}
