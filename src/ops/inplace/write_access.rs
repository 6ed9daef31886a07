//! The right to write elements in place: nobody has a view of them, and nobody is in the middle of copying them out.
//!
//! Owns: the refusal of a write under a view, and the rights of writes to several memories at once. Never writes.
//! Invariant: a thread holds one right of each memory, however many of its tensors lie there.

use smallvec::SmallVec;

use crate::array::{Storage, WriteGuard};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::threads::{alone, has_host_lock};

/// The right to write to a memory.
///
/// # Errors
/// `InPlace` when a view of it lives.
#[inline]
pub(crate) fn writing<'a>(op: &'static str, memory: &'a Storage) -> Result<WriteGuard<'a>> {
    memory.try_write_guard().ok_or_else(|| viewed(op))
}

#[cold]
fn viewed(op: &'static str) -> Box<Error> {
    Box::new(Error::InPlace {
        op: op.into(),
        what: "a view of the memory is alive, which the write would change".into(),
        remedy: "drop the view (the result of view()) first, or copy the elements out with to_vec()",
    })
}

/// The rights to write to several memories.
#[must_use = "the rights end when this is dropped"]
pub(crate) struct Writings<'a> {
    _rights: SmallVec<[WriteGuard<'a>; 4]>,
}

impl<'a> Writings<'a> {
    /// The rights to write to these, of which several may be one.
    ///
    /// # Errors
    /// `InPlace` when a view of one lives.
    pub(crate) fn of(
        op: &'static str,
        memories: impl Iterator<Item = &'a Storage>,
    ) -> Result<Writings<'a>> {
        if alone() {
            return Writings::checked(op, memories);
        }
        let mut all: SmallVec<[&Storage; 4]> = memories.collect();
        // In one order, so that threads that wait for room do not wait for each other.
        all.sort_unstable_by_key(|memory| memory.ptr().addr());
        all.dedup_by(|one, other| one.same(other));
        let rights: Result<_> = all.into_iter().map(|memory| writing(op, memory)).collect();
        Ok(Writings { _rights: rights? })
    }

    /// The same for the time in which a program runs. With a host nothing keeps readers out: they may wait with the host's
    /// lock, which a step of the program may need.
    ///
    /// # Errors
    /// `InPlace` when a view of one lives.
    pub(crate) fn of_run(
        op: &'static str,
        memories: impl Iterator<Item = &'a Storage>,
    ) -> Result<Writings<'a>> {
        if has_host_lock() { Writings::checked(op, memories) } else { Writings::of(op, memories) }
    }

    fn checked(
        op: &'static str,
        mut memories: impl Iterator<Item = &'a Storage>,
    ) -> Result<Writings<'a>> {
        if memories.any(Storage::is_viewed) {
            return Err(viewed(op));
        }
        Ok(Writings { _rights: SmallVec::new() })
    }
}

impl Tensor {
    /// To be called before these elements are written in place, and held meanwhile: what saved values need of them is copied.
    /// A leaf that requires grad is not: an older graph of it is stale.
    ///
    /// # Errors
    /// `InPlace` when a view of the memory lives; `Memory` when there is none for a copy. Then nothing has changed.
    #[inline]
    pub(crate) fn before_write(&self, op: &'static str) -> Result<WriteGuard<'_>> {
        let right = writing(op, self.storage())?;
        self.keep_saved()?;
        Ok(right)
    }
}
