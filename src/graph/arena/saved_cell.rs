//! The cell of a node's saved values: shared by the passes that use them, freed by the last one.
//!
//! Owns the values and a word of state: how many users are inside, and whether the values are spent. A pass that frees
//! them closes the cell as it enters; nobody ever waits, and rules may run while they are inside.
//! Invariant: once `SPENT` is set nobody enters, so exactly one user leaves last, and it alone drops the values.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::graph::SavedValues;
use crate::graph::saved::Saved;
use crate::graph::value::Value;

/// Nobody may enter any more: the values are gone, or go with the last user.
const SPENT: u32 = 1 << 31;
/// There were never any values: entering is always possible and changes nothing.
const EMPTY: u32 = 1 << 30;

/// Values that passes share.
pub(in crate::graph) struct SavedCell<V: Value> {
    state: AtomicU32,
    values: UnsafeCell<SavedValues<V>>,
}

// SAFETY: users share the values; the one exclusive access is that of the last user to leave a spent cell. The values
// themselves are `Send + Sync`.
unsafe impl<V: Value> Sync for SavedCell<V> where SavedValues<V>: Send + Sync {}

impl<V: Value> SavedCell<V> {
    #[inline]
    pub(in crate::graph) fn new(values: SavedValues<V>) -> SavedCell<V> {
        let state = if values.is_empty() { EMPTY } else { 0 };
        SavedCell { state: AtomicU32::new(state), values: UnsafeCell::new(values) }
    }

    /// Use of the values; `spend` frees them when the last user has left. `None` if they are spent.
    #[inline]
    pub(in crate::graph) fn enter(&self, spend: bool) -> Option<InUse<'_, V>> {
        let mut now = self.state.load(Ordering::Relaxed);
        let close = if spend { SPENT } else { 0 };
        loop {
            if now & (SPENT | EMPTY) != 0 {
                return (now & EMPTY != 0).then_some(InUse {
                    cell: self,
                    counted: false,
                    spends: false,
                });
            }
            match self.state.compare_exchange_weak(
                now,
                (now + 1) | close,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    return Some(InUse { cell: self, counted: true, spends: spend });
                }
                Err(changed) => now = changed,
            }
        }
    }
}

/// A user of a node's saved values, in place.
pub(in crate::graph) struct InUse<'a, V: Value> {
    cell: &'a SavedCell<V>,
    counted: bool,
    spends: bool,
}

impl<V: Value> InUse<'_, V> {
    /// The values.
    #[inline]
    pub(in crate::graph) fn values(&self) -> &[Saved<V>] {
        if !self.counted {
            return &[];
        }
        // SAFETY: this user is counted, so nobody drops the values meanwhile.
        unsafe { &*self.cell.values.get() }
    }

    /// Reopens the cell that this user closed: its rule failed and may be tried again.
    pub(in crate::graph) fn restore(&mut self) {
        if std::mem::take(&mut self.spends) {
            self.cell.state.fetch_and(!SPENT, Ordering::Relaxed);
        }
    }
}

impl<V: Value> Drop for InUse<'_, V> {
    #[inline]
    fn drop(&mut self) {
        if !self.counted {
            return;
        }
        let state = &self.cell.state;
        // Acquire, both times: what other users did happens before the values are dropped. Alone in a closed cell,
        // nobody else can change the word, and a plain store will do.
        if state.load(Ordering::Acquire) == SPENT | 1 {
            state.store(SPENT, Ordering::Relaxed);
        } else if state.fetch_sub(1, Ordering::AcqRel) != SPENT | 1 {
            return;
        }
        // SAFETY: the last user of a spent cell: nobody is inside, nobody enters again.
        let values = unsafe { &mut *self.cell.values.get() };
        values.clear();
        if values.spilled() {
            values.shrink_to_fit();
        }
    }
}
