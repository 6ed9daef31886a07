//! The list by which slots come home: any thread pushes, the owner takes all of it.
//!
//! Owns the head. It never takes a single slot off, so a stale head cannot return (no ABA). `tests/loom` runs
//! this file under loom.
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

    /// Puts a slot on the list.
    ///
    /// # Safety
    /// `header` is valid for ever; the slot is vacant, on no list, and in nobody else's hands.
    pub(super) unsafe fn push(&self, header: NonNull<Header>) {
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's contract; nobody else has the slot until the exchange succeeds.
            unsafe { header.as_ref() }.next.store(first, Ordering::Relaxed);
            let mine = header.as_ptr();
            match self.0.compare_exchange_weak(first, mine, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Takes the whole list: its first slot, from which the others hang.
    pub(super) fn take(&self) -> Option<NonNull<Header>> {
        // Acquire: the contents of a slot freed elsewhere are gone before it is written again.
        NonNull::new(self.0.swap(ptr::null_mut(), Ordering::Acquire))
    }
}
