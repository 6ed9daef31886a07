//! The reference count of a slot: `generation << 32 | count` in one atomic word.
//!
//! A relaxed increment, a release decrement, and an acquire fence at zero; a thread that is alone in the engine counts with
//! plain loads and stores. `tests/loom` runs this file under loom.
//! Invariant: a count that has reached zero rises again only by `publish`, in a later generation.

use super::sync::{AtomicU64, Ordering, alone, fence};

/// A larger count means leaked handles; it must not overflow into the generation.
const MAX_COUNT: u32 = i32::MAX as u32;

/// Generation and count of a slot.
pub(super) struct GenerationCount(AtomicU64);

/// The generation in a word.
#[inline]
fn generation(word: u64) -> u32 {
    (word >> 32) as u32
}

/// The count in a word.
#[inline]
fn count(word: u64) -> u32 {
    word as u32
}

impl GenerationCount {
    /// A vacant slot of generation 0.
    pub(super) fn new() -> GenerationCount {
        GenerationCount(AtomicU64::new(0))
    }

    /// The generation. The caller holds a count, or only compares.
    #[inline]
    pub(super) fn generation(&self) -> u32 {
        generation(self.0.load(Ordering::Relaxed))
    }

    /// The number of handles.
    pub(super) fn count(&self) -> u32 {
        count(self.0.load(Ordering::Acquire))
    }

    /// Whether the slot is occupied in generation `of` (at this moment).
    pub(super) fn is_live(&self, of: u32) -> bool {
        let now = self.0.load(Ordering::Relaxed);
        generation(now) == of && count(now) > 0
    }

    /// Publishes the written contents with a count of one. The slot is vacant and no other thread has it.
    #[inline]
    pub(super) fn publish(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) | 1, Ordering::Release);
    }

    /// Adds a handle; the caller has one.
    #[inline]
    pub(super) fn increment(&self) {
        let before = if alone() {
            let now = self.0.load(Ordering::Relaxed);
            self.0.store(now + 1, Ordering::Relaxed);
            now
        } else {
            self.0.fetch_add(1, Ordering::Relaxed)
        };
        if count(before) > MAX_COUNT {
            std::process::abort();
        }
    }

    /// Removes a handle; true for the last one, which may then drop the contents.
    #[inline]
    pub(super) fn decrement(&self) -> bool {
        if alone() {
            let now = self.0.load(Ordering::Relaxed);
            self.0.store(now - 1, Ordering::Relaxed);
            return count(now) == 1;
        }
        if count(self.0.fetch_sub(1, Ordering::Release)) != 1 {
            return false;
        }
        // The accesses through other handles happen before the contents are dropped.
        fence(Ordering::Acquire);
        true
    }

    /// Adds a handle from an uncounted key, if the slot is still occupied in generation `of`.
    pub(super) fn upgrade(&self, of: u32) -> bool {
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            if generation(now) != of || count(now) == 0 {
                return false;
            }
            if count(now) > MAX_COUNT {
                std::process::abort();
            }
            // Acquire pairs with `publish`. Generation and count change in one exchange, so the count cannot go to a later
            // occupant of the slot.
            match self.0.compare_exchange_weak(now, now + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(changed) => now = changed,
            }
        }
    }

    /// Begins the next generation of a vacant slot, and returns it.
    pub(super) fn advance(&self) -> u32 {
        let next = self.generation() + 1;
        self.0.store(u64::from(next) << 32, Ordering::Relaxed);
        next
    }
}
