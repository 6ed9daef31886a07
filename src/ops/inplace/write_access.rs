//! Guards for in-place writes: exclusive against `ndarray` views and against copies that are reading the elements.
//!
//! Invariant: a thread holds one guard per memory, however many of its tensors share it.

use smallvec::SmallVec;

use crate::array::{Storage, WriteGuard};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::threads::{alone, has_host_lock};

/// The guard for a write to one memory.
///
/// # Errors
/// `InPlace` while a view of it exists.
#[inline]
pub(crate) fn write_guard<'a>(op: &'static str, memory: &'a Storage) -> Result<WriteGuard<'a>> {
    memory.try_write_guard().ok_or_else(|| viewed_error(op))
}

#[cold]
fn viewed_error(op: &'static str) -> Box<Error> {
    Box::new(Error::InPlace {
        op: op.into(),
        what: "a view of the memory is alive, which the write would change".into(),
        remedy: "drop the view (the result of view()) first, or copy the elements out with to_vec()",
    })
}

/// The guards for writes to several memories.
#[must_use = "the guards end when this is dropped"]
pub(crate) struct WriteGuards<'a> {
    _guards: SmallVec<[WriteGuard<'a>; 4]>,
}

impl<'a> WriteGuards<'a> {
    /// Takes the guards of these memories, some of which may be the same.
    ///
    /// # Errors
    /// `InPlace` while a view of one exists.
    pub(crate) fn of(
        op: &'static str,
        memories: impl Iterator<Item = &'a Storage>,
    ) -> Result<WriteGuards<'a>> {
        if alone() {
            return WriteGuards::checked(op, memories);
        }
        let mut all: SmallVec<[&Storage; 4]> = memories.collect();
        // In one global order, so that concurrent writers cannot deadlock.
        all.sort_unstable_by_key(|memory| memory.ptr().addr());
        all.dedup_by(|one, other| one.same(other));
        let guards: Result<_> = all.into_iter().map(|memory| write_guard(op, memory)).collect();
        Ok(WriteGuards { _guards: guards? })
    }

    /// The guards for a run of a compiled program. With a host, readers are not excluded: they may wait holding the host's
    /// lock, which a step of the program may need.
    ///
    /// # Errors
    /// `InPlace` while a view of one exists.
    pub(crate) fn for_program(
        op: &'static str,
        memories: impl Iterator<Item = &'a Storage>,
    ) -> Result<WriteGuards<'a>> {
        if has_host_lock() {
            WriteGuards::checked(op, memories)
        } else {
            WriteGuards::of(op, memories)
        }
    }

    fn checked(
        op: &'static str,
        mut memories: impl Iterator<Item = &'a Storage>,
    ) -> Result<WriteGuards<'a>> {
        if memories.any(Storage::is_viewed) {
            return Err(viewed_error(op));
        }
        Ok(WriteGuards { _guards: SmallVec::new() })
    }
}

impl Tensor {
    /// Prepares an in-place write to these elements and returns the guard to hold during it: copies what saved values need,
    /// except for a leaf that requires grad, whose older graphs become stale.
    ///
    /// # Errors
    /// `InPlace` while a view of the memory exists; `Memory` when a copy cannot be allocated. Then nothing has changed.
    #[inline]
    pub(crate) fn before_write(&self, op: &'static str) -> Result<WriteGuard<'_>> {
        let guard = write_guard(op, self.storage())?;
        self.keep_saved()?;
        Ok(guard)
    }
}
