//! The word of a slot: `generation << 32 | count` in one atomic.
//!
//! Owns the counting protocol: a relaxed increment, a release decrement, an acquire fence at zero; a thread that is alone
//! counts by loads and stores. It never touches contents. `tests/loom` runs this file under loom.
//! Invariant: a count that has reached zero rises again only by `publish`, in a later generation.

use super::sync::{AtomicU64, Ordering, alone, fence};

/// More handles than this are a leak in a loop; going on would let the count run into the generation.
const MOST: u32 = i32::MAX as u32;

/// Generation and count.
pub(super) struct Word(AtomicU64);

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

impl Word {
    /// A vacant slot of generation 0.
    pub(super) fn new() -> Word {
        Word(AtomicU64::new(0))
    }

    /// The generation; its slot is counted, or the caller only compares.
    #[inline]
    pub(super) fn generation(&self) -> u32 {
        generation(self.0.load(Ordering::Relaxed))
    }

    /// How many handles count the slot.
    pub(super) fn count(&self) -> u32 {
        count(self.0.load(Ordering::Acquire))
    }

    /// Whether the slot is occupied in this generation (at this moment).
    pub(super) fn is_live(&self, of: u32) -> bool {
        let now = self.0.load(Ordering::Relaxed);
        generation(now) == of && count(now) > 0
    }

    /// Makes written contents visible with a count of one. The slot is vacant and in nobody else's hands.
    #[inline]
    pub(super) fn publish(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) | 1, Ordering::Release);
    }

    /// One more handle, made by somebody who has one.
    #[inline]
    pub(super) fn increment(&self) {
        let before = if alone() {
            let now = self.0.load(Ordering::Relaxed);
            self.0.store(now + 1, Ordering::Relaxed);
            now
        } else {
            self.0.fetch_add(1, Ordering::Relaxed)
        };
        if count(before) > MOST {
            std::process::abort();
        }
    }

    /// One handle less; true for the last, which then has the contents to itself.
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
        // What other handles did with the contents happens before their destruction.
        fence(Ordering::Acquire);
        true
    }

    /// One more handle from a key, if the slot is still occupied in its generation.
    pub(super) fn upgrade(&self, of: u32) -> bool {
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            if generation(now) != of || count(now) == 0 {
                return false;
            }
            if count(now) > MOST {
                std::process::abort();
            }
            // Acquire pairs with `publish`. Generation and count change in one exchange, so the count cannot go to a
            // later occupant of the slot.
            match self.0.compare_exchange_weak(now, now + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(changed) => now = changed,
            }
        }
    }

    /// Begins the next generation of a slot whose contents are gone, and returns it.
    pub(super) fn retire(&self) -> u32 {
        let next = self.generation() + 1;
        self.0.store(u64::from(next) << 32, Ordering::Relaxed);
        next
    }
}
