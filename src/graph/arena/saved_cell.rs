//! The saved values of a node, shared by the passes that use them; the last user of a freed cell drops them.
//!
//! `use_count.rs` counts the users. A pass that frees the values closes the cell when it enters; nothing ever waits for
//! a user, and rules run while they are inside.
//! Invariant: the last user to leave a spent cell drops the values, and no other thread accesses them then; a value is
//! replaced only while there are no users.

use std::cell::UnsafeCell;

use super::use_count::{EnterResult, UseCount};
use crate::graph::SavedValues;
use crate::graph::saved::Saved;
use crate::graph::value::Value;

/// The saved values of a node, with their users.
pub(in crate::graph) struct SavedCell<V: Value> {
    users: UseCount,
    values: UnsafeCell<SavedValues<V>>,
}

// SAFETY: users share the values; exclusive access has only the last user of a spent cell, or the thread that locked the
// cell, which is possible only without users. The values are `Send + Sync`.
unsafe impl<V: Value> Sync for SavedCell<V> where SavedValues<V>: Send + Sync {}

impl<V: Value> SavedCell<V> {
    /// A cell without values.
    #[inline(always)]
    pub(in crate::graph) fn new() -> SavedCell<V> {
        SavedCell { users: UseCount::new(true), values: UnsafeCell::new(SavedValues::new()) }
    }

    /// The values of a node that is not published yet.
    #[inline(always)]
    pub(in crate::graph) fn values_mut(&mut self) -> &mut SavedValues<V> {
        self.values.get_mut()
    }

    /// Ends the construction; called before the node is published.
    #[inline(always)]
    pub(in crate::graph) fn complete(&mut self) {
        self.users = UseCount::new(self.values.get_mut().is_empty());
    }

    /// Enters the cell; `spend` frees the values when the last user leaves. `None` if they were freed.
    #[inline]
    pub(in crate::graph) fn enter(&self, spend: bool) -> Option<SavedUse<'_, V>> {
        match self.users.enter(spend) {
            EnterResult::Counted => Some(SavedUse { cell: self, counted: true, spends: spend }),
            EnterResult::Empty => Some(SavedUse { cell: self, counted: false, spends: false }),
            EnterResult::Refused => None,
        }
    }

    /// Replaces value `i` by `entry` if it is not packed and there are no users; returns the value that was replaced, or
    /// `entry` if none was.
    pub(in crate::graph) fn replace(
        &self,
        i: usize,
        entry: Saved<V>,
    ) -> Result<Saved<V>, Saved<V>> {
        if !self.users.lock() {
            return Err(entry);
        }
        // SAFETY: the cell is locked: there are no users, and none enters before it is unlocked.
        let values = unsafe { &mut *self.values.get() };
        let replaced = match values.get_mut(i) {
            Some(place) if place.payload().is_some() => Ok(std::mem::replace(place, entry)),
            _ => Err(entry),
        };
        self.users.unlock();
        replaced
    }
}

/// A user of a node's saved values.
pub(in crate::graph) struct SavedUse<'a, V: Value> {
    cell: &'a SavedCell<V>,
    counted: bool,
    spends: bool,
}

impl<V: Value> SavedUse<'_, V> {
    /// The values.
    #[inline]
    pub(in crate::graph) fn values(&self) -> &[Saved<V>] {
        if !self.counted {
            return &[];
        }
        // SAFETY: this user is counted, so the values are not dropped meanwhile.
        unsafe { &*self.cell.values.get() }
    }

    /// Reopens the cell that this user closed: its rule failed and may be run again.
    pub(in crate::graph) fn restore(&mut self) {
        if std::mem::take(&mut self.spends) {
            self.cell.users.reopen();
        }
    }
}

impl<V: Value> Drop for SavedUse<'_, V> {
    #[inline]
    fn drop(&mut self) {
        if !self.counted || !self.cell.users.leave() {
            return;
        }
        // SAFETY: the last user of a spent cell: there are no others, and none enters again.
        let values = unsafe { &mut *self.cell.values.get() };
        values.clear();
        if values.spilled() {
            values.shrink_to_fit();
        }
    }
}
