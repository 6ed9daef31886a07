//! The buffers of a trace, by address.
//!
//! Invariant: `in_order` has exactly the keys of `by_address`.

use std::collections::BTreeSet;

use super::buffers::Buffer;
use crate::array::hash::FastMap;

/// Buffers by the address of their first byte: a hash map for exact lookups, an ordered set for addresses inside buffers.
#[derive(Default)]
pub(super) struct BufferIndex {
    by_address: FastMap<usize, Buffer>,
    in_order: BTreeSet<usize>,
}

impl BufferIndex {
    /// The number of buffers.
    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    /// The buffer that begins at `address`.
    pub(super) fn get(&self, address: usize) -> Option<&Buffer> {
        self.by_address.get(&address)
    }

    /// The buffer that begins at `address`, mutably.
    pub(super) fn get_mut(&mut self, address: usize) -> Option<&mut Buffer> {
        self.by_address.get_mut(&address)
    }

    /// The buffer that begins at `address`, inserted if there is none.
    pub(super) fn get_or_insert(
        &mut self,
        address: usize,
        new: impl FnOnce() -> Buffer,
    ) -> &mut Buffer {
        self.by_address.entry(address).or_insert_with(|| {
            self.in_order.insert(address);
            new()
        })
    }

    /// All buffers.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Buffer> {
        self.by_address.values_mut()
    }

    /// The start of the buffer that contains the address `element`.
    pub(super) fn containing(&self, element: usize) -> Option<usize> {
        if self.by_address.contains_key(&element) {
            return Some(element);
        }
        // Foreign buffers may overlap, so the nearest start below is not always the buffer that contains it.
        let contains = |start: &&usize| {
            let buffer = self.get(**start);
            buffer.is_some_and(|buffer| element < **start + buffer.storage.nbytes().max(1))
        };
        self.in_order.range(..element).rev().find(contains).copied()
    }
}
