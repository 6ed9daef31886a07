//! Index of a capture's buffers by address.
//!
//! Invariant: `in_order` has the keys of `by_address`.

use std::collections::BTreeSet;

use super::capture::Buffer;
use super::hash::FastMap;

/// Buffers by base address. Most lookups are by base address, few by an address inside.
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

    /// The buffer with this base address.
    pub(super) fn get(&self, address: usize) -> Option<&Buffer> {
        self.by_address.get(&address)
    }

    /// The same, mutable.
    pub(super) fn get_mut(&mut self, address: usize) -> Option<&mut Buffer> {
        self.by_address.get_mut(&address)
    }

    /// The buffer with this base address, a new one if there is none.
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

    /// The base address of the buffer that contains an element.
    pub(super) fn containing(&self, element: usize) -> Option<usize> {
        if self.by_address.contains_key(&element) {
            return Some(element);
        }
        // External buffers may overlap: the nearest base address need not belong to the buffer that contains the
        // element.
        let contains = |start: &&usize| {
            let buffer = self.get(**start);
            buffer.is_some_and(|buffer| element < **start + buffer.storage.nbytes().max(1))
        };
        self.in_order.range(..element).rev().find(contains).copied()
    }
}
