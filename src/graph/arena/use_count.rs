//! The use count of a cell of saved values, and whether the values were freed: one atomic word.
//!
//! `tests/loom` runs this file under loom.
//! Invariant: once `SPENT` is set no user enters, so exactly one user leaves last, and only that one drops the values.

use super::sync::{AtomicU32, Ordering, alone, spin_loop};

/// No user may enter: the values are freed, or will be by the last user.
const SPENT: u32 = 1 << 31;
/// There were never any values: entering always succeeds and changes nothing.
const EMPTY: u32 = 1 << 30;

/// The users of a cell.
pub(super) struct UseCount(AtomicU32);

/// One of the values is being replaced: users spin, for no longer than a few moves take.
const LOCKED: u32 = 1 << 29;

/// The result of `enter`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EnterResult {
    /// The user is counted and must `leave`.
    Counted,
    /// There are no values, so the user is not counted.
    Empty,
    /// The values were freed.
    Refused,
}

impl UseCount {
    /// No users; `empty` when there are no values.
    #[inline]
    pub(super) fn new(empty: bool) -> UseCount {
        UseCount(AtomicU32::new(if empty { EMPTY } else { 0 }))
    }

    /// Adds a user; `spend` closes the cell for later ones.
    #[inline]
    pub(super) fn enter(&self, spend: bool) -> EnterResult {
        let mut now = self.0.load(Ordering::Relaxed);
        let close = if spend { SPENT } else { 0 };
        loop {
            if now & EMPTY != 0 {
                return EnterResult::Empty;
            }
            if now & SPENT != 0 {
                return EnterResult::Refused;
            }
            if now & LOCKED != 0 {
                spin_loop();
                now = self.0.load(Ordering::Relaxed);
                continue;
            }
            let inside = (now + 1) | close;
            if alone() {
                self.0.store(inside, Ordering::Relaxed);
                return EnterResult::Counted;
            }
            // A user holds the node, and so sees its first values; Acquire, with the release of `unlock`, shows values that
            // replaced them. `leave` orders their destruction.
            match self.0.compare_exchange_weak(now, inside, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return EnterResult::Counted,
                Err(changed) => now = changed,
            }
        }
    }

    /// Locks the cell; false if there are users or no values. `unlock` must follow at once.
    pub(super) fn lock(&self) -> bool {
        // Acquire: the accesses of users that have left happen before the values change.
        self.0.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Unlocks the cell.
    pub(super) fn unlock(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Reopens the cell; called before it leaves by the user that closed it.
    pub(super) fn reopen(&self) {
        self.0.fetch_and(!SPENT, Ordering::Relaxed);
    }

    /// Removes a user; true for the last one of a spent cell, which may drop the values.
    #[inline]
    pub(super) fn leave(&self) -> bool {
        // Acquire in both places: the accesses of other users happen before the values are dropped. The only user of a closed
        // cell is the only thread that can change the word, so a plain store is enough.
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
