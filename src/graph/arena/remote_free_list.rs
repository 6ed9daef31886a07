//! The free list of slots that other threads than the owner freed: any thread pushes, the owner takes the whole list.
//!
//! No single slot is ever removed, so there is no ABA problem. `tests/loom` runs this file under loom.
//! Invariant: a slot on the list is vacant and on no other list; the swap orders its destruction before its reuse.

use std::ptr::{self, NonNull};

use super::slot::Header;
use super::sync::{AtomicPtr, Ordering};

/// Vacant slots, linked by `Header::next`.
pub(super) struct RemoteList(AtomicPtr<Header>);

impl RemoteList {
    /// An empty list.
    pub(super) fn new() -> RemoteList {
        RemoteList(AtomicPtr::new(ptr::null_mut()))
    }

    /// Pushes a slot.
    ///
    /// # Safety
    /// `header` stays valid for ever; the slot is vacant, on no list, and no other thread has it.
    pub(super) unsafe fn push(&self, header: NonNull<Header>) {
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's contract; no other thread has the slot until the exchange succeeds.
            unsafe { header.as_ref() }.next.store(first, Ordering::Relaxed);
            let mine = header.as_ptr();
            match self.0.compare_exchange_weak(first, mine, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Takes the whole list and returns its first slot.
    pub(super) fn take(&self) -> Option<NonNull<Header>> {
        // Acquire: the contents of a slot freed by another thread are gone before the slot is written again.
        NonNull::new(self.0.swap(ptr::null_mut(), Ordering::Acquire))
    }
}
