//! The cell of a node's saved values: shared by the passes that use them, freed by the last one.
//!
//! Owns the values; `use_count.rs` counts who is inside. A pass that frees them closes the cell as it enters; nobody ever
//! waits for a user, and rules may run while they are inside.
//! Invariant: the last user to leave a spent cell drops the values, and nobody else touches them then; a value is
//! replaced only while nobody is inside.

use std::cell::UnsafeCell;

use super::use_count::{Entry, UseCount};
use crate::graph::SavedValues;
use crate::graph::saved::Saved;
use crate::graph::value::Value;

/// Values that passes share.
pub(in crate::graph) struct SavedCell<V: Value> {
    users: UseCount,
    values: UnsafeCell<SavedValues<V>>,
}

// SAFETY: users share the values; exclusive access have the last user to leave a spent cell and whoever has locked it,
// which nobody can while users are inside. The values themselves are `Send + Sync`.
unsafe impl<V: Value> Sync for SavedCell<V> where SavedValues<V>: Send + Sync {}

impl<V: Value> SavedCell<V> {
    /// A cell of no values.
    #[inline(always)]
    pub(in crate::graph) fn new() -> SavedCell<V> {
        SavedCell { users: UseCount::new(true), values: UnsafeCell::new(SavedValues::new()) }
    }

    /// The values of a node that nobody has seen.
    #[inline(always)]
    pub(in crate::graph) fn values_mut(&mut self) -> &mut SavedValues<V> {
        self.values.get_mut()
    }

    /// Says that no more values are to come; before anybody sees the node.
    #[inline(always)]
    pub(in crate::graph) fn complete(&mut self) {
        self.users = UseCount::new(self.values.get_mut().is_empty());
    }

    /// Use of the values; `spend` frees them when the last user has left. `None` if they are spent.
    #[inline]
    pub(in crate::graph) fn enter(&self, spend: bool) -> Option<InUse<'_, V>> {
        match self.users.enter(spend) {
            Entry::Counted => Some(InUse { cell: self, counted: true, spends: spend }),
            Entry::Empty => Some(InUse { cell: self, counted: false, spends: false }),
            Entry::Refused => None,
        }
    }

    /// Puts `entry` in the place of the value at `i` if that is not packed and nobody is inside; gives back what is not
    /// there then.
    pub(in crate::graph) fn replace(
        &self,
        i: usize,
        entry: Saved<V>,
    ) -> Result<Saved<V>, Saved<V>> {
        if !self.users.lock() {
            return Err(entry);
        }
        // SAFETY: the cell is locked: nobody is inside, and nobody enters before it is unlocked.
        let values = unsafe { &mut *self.values.get() };
        let replaced = match values.get_mut(i) {
            Some(place) if place.payload().is_some() => Ok(std::mem::replace(place, entry)),
            _ => Err(entry),
        };
        self.users.unlock();
        replaced
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
            self.cell.users.reopen();
        }
    }
}

impl<V: Value> Drop for InUse<'_, V> {
    #[inline]
    fn drop(&mut self) {
        if !self.counted || !self.cell.users.leave() {
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
