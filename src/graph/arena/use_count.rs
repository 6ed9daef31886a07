//! Who is inside a cell of saved values, and whether the values are spent: one atomic word.
//!
//! Owns that word. It never touches the values. `tests/loom` runs this file under loom.
//! Invariant: once `SPENT` is set nobody enters, so exactly one user leaves last, and only it may drop the values.

use super::sync::{AtomicU32, Ordering, alone, spin_loop};

/// Nobody may enter any more: the values are gone, or go with the last user.
const SPENT: u32 = 1 << 31;
/// There were never any values: entering is always possible and changes nothing.
const EMPTY: u32 = 1 << 30;

/// The users of a cell.
pub(super) struct UseCount(AtomicU32);

/// One of the values is being replaced: whoever comes waits. No more than a few moves happen meanwhile.
const REPLACED: u32 = 1 << 29;

/// What became of an attempt to enter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// The user is counted and must leave.
    Counted,
    /// There is nothing to count.
    Empty,
    /// The values are spent.
    Refused,
}

impl UseCount {
    /// Nobody inside; `empty` when there are no values.
    #[inline]
    pub(super) fn new(empty: bool) -> UseCount {
        UseCount(AtomicU32::new(if empty { EMPTY } else { 0 }))
    }

    /// One more user; `spend` closes the cell behind it.
    #[inline]
    pub(super) fn enter(&self, spend: bool) -> Entry {
        let mut now = self.0.load(Ordering::Relaxed);
        let close = if spend { SPENT } else { 0 };
        loop {
            if now & EMPTY != 0 {
                return Entry::Empty;
            }
            if now & SPENT != 0 {
                return Entry::Refused;
            }
            if now & REPLACED != 0 {
                spin_loop();
                now = self.0.load(Ordering::Relaxed);
                continue;
            }
            let inside = (now + 1) | close;
            if alone() {
                self.0.store(inside, Ordering::Relaxed);
                return Entry::Counted;
            }
            // Whoever enters holds the node, and with it sees its first values; Acquire, with the release of `unlock`,
            // shows those that replaced them. `leave` orders their end.
            match self.0.compare_exchange_weak(now, inside, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Entry::Counted,
                Err(changed) => now = changed,
            }
        }
    }

    /// Takes the values for oneself; false if somebody is inside, or if there are none. `unlock` must follow at once.
    pub(super) fn lock(&self) -> bool {
        // Acquire: what users did who have left happens before the values change.
        self.0.compare_exchange(0, REPLACED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Lets users in again.
    pub(super) fn unlock(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Reopens the cell; called by the user that closed it, before it leaves.
    pub(super) fn reopen(&self) {
        self.0.fetch_and(!SPENT, Ordering::Relaxed);
    }

    /// One user less; true for the last one of a spent cell, which then has the values to itself.
    #[inline]
    pub(super) fn leave(&self) -> bool {
        // Acquire, both times: what other users did happens before the values are dropped. Alone in a closed cell,
        // nobody else can change the word, and a plain store will do.
        if self.0.load(Ordering::Acquire) == SPENT | 1 {
            self.0.store(SPENT, Ordering::Relaxed);
            return true;
        }
        if alone() {
            let now = self.0.load(Ordering::Relaxed);
            self.0.store(now - 1, Ordering::Relaxed);
            return now == SPENT | 1;
        }
        self.0.fetch_sub(1, Ordering::AcqRel) == SPENT | 1
    }
}
