//! The buffers of a capture by address.
//!
//! Owns: finding the buffer that begins at an address, and the one in which an element lies. Never knows what a capture
//! does with them. Invariant: the addresses in order are those of the buffers.

use std::collections::BTreeSet;

use super::capture::Buffer;
use super::hash::FastMap;

/// Buffers by the address of their first byte. Most are looked up by this, and few by an element inside.
#[derive(Default)]
pub(super) struct Seen {
    by_address: FastMap<usize, Buffer>,
    in_order: BTreeSet<usize>,
}

impl Seen {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    /// The buffer that begins at an address.
    pub(super) fn get(&self, address: usize) -> Option<&Buffer> {
        self.by_address.get(&address)
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, address: usize) -> Option<&mut Buffer> {
        self.by_address.get_mut(&address)
    }

    /// The buffer that begins at an address, a new one if there is none.
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

    /// All of them.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Buffer> {
        self.by_address.values_mut()
    }

    /// The address of the buffer in which an element lies.
    pub(super) fn holding(&self, element: usize) -> Option<usize> {
        if self.by_address.contains_key(&element) {
            return Some(element);
        }
        // Memory outside may overlap: the nearest beginning need not be that of a buffer that reaches so far.
        let holds = |start: &&usize| {
            let buffer = self.get(**start);
            buffer.is_some_and(|buffer| element < **start + buffer.storage.nbytes().max(1))
        };
        self.in_order.range(..element).rev().find(holds).copied()
    }
}
