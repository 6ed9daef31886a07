//! What a storage remembers of the changes made to it.
//!
//! Owns: version and note of a storage as its handles see them, and one word, which is empty, the last change as
//! `author` packs it, or the address of a record with that, a note of the layers above and copies of earlier versions;
//! and how a handle on changed data leaves. Never reads the note.
//! Invariant: a record, once made, lives as long as the storage; nothing is dropped under its lock. Copies go with the
//! last guest: only saved values, which are guests, ask for them.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::storage::{GUEST, free};
use super::{Storage, author};
use crate::error::Result;

/// What the layers above keep beside the data.
pub(super) type Note = Arc<dyn Any + Send + Sync>;

/// Empty, a name as `author` packs it (top byte not 0), or the address of a `Record` (top byte 0).
pub(super) struct Changes(AtomicU64);

struct Record {
    name: AtomicU64,
    note: Mutex<Option<Note>>,
    copies: Mutex<Vec<Earlier>>,
}

/// The data as they were in an earlier version.
struct Earlier {
    version: u32,
    data: Storage,
}

const ADDRESS: u64 = u64::MAX >> 8;

impl Changes {
    #[inline(always)]
    pub(super) fn none() -> Changes {
        Changes(AtomicU64::new(0))
    }

    /// Whether there is nothing to remember.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn record(&self) -> Option<&Record> {
        let word = self.0.load(Ordering::Acquire);
        if word == 0 || word & !ADDRESS != 0 {
            return None;
        }
        let record = std::ptr::with_exposed_provenance::<Record>(word as usize);
        // SAFETY: a word without a length is the address of a record that `record_or_new` leaked; it is freed
        // only by the drop of `self`.
        Some(unsafe { &*record })
    }

    fn record_or_new(&self) -> &Record {
        loop {
            if let Some(record) = self.record() {
                return record;
            }
            let name = self.0.load(Ordering::Acquire);
            let fresh = Record {
                name: AtomicU64::new(name),
                note: Mutex::new(None),
                copies: Mutex::new(Vec::new()),
            };
            let fresh = Box::into_raw(Box::new(fresh));
            let word = fresh.expose_provenance() as u64;
            if self.0.compare_exchange(name, word, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: nobody else has seen this address.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }

    /// Remembers the last change, as `author` packs it.
    fn set(&self, word: u64) {
        let before = self.0.load(Ordering::Acquire);
        let plain = before == 0 || before & !ADDRESS != 0;
        if plain
            && self.0.compare_exchange(before, word, Ordering::AcqRel, Ordering::Acquire).is_ok()
        {
            return;
        }
        self.record_or_new().name.store(word, Ordering::Release);
    }

    /// The last change, as `author` packs it; zero when there was none.
    fn last(&self) -> u64 {
        match self.record() {
            Some(record) => record.name.load(Ordering::Acquire),
            None => self.0.load(Ordering::Acquire),
        }
    }

    /// The note, if there is one.
    pub(super) fn note(&self) -> Option<Note> {
        self.record()?.note.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The note, made now if there was none.
    pub(super) fn note_or(&self, make: impl FnOnce() -> Note) -> Note {
        let mut note = self.record_or_new().note.lock().unwrap_or_else(PoisonError::into_inner);
        note.get_or_insert_with(make).clone()
    }

    /// Forgets the note.
    pub(super) fn forget_note(&self) {
        let gone = self
            .record()
            .and_then(|record| record.note.lock().unwrap_or_else(PoisonError::into_inner).take());
        drop(gone);
    }

    /// Adds a copy of the data of `version`.
    fn keep_copy(&self, version: u32, data: Storage) {
        let mut copies = self.record_or_new().copies();
        copies.retain(|copy| copy.version != version);
        copies.push(Earlier { version, data });
    }

    /// Forgets the copies, if `count` shows that one guest is left: its owner, who leaves.
    fn forget_copies(&self, count: &AtomicU64) {
        let Some(record) = self.record() else {
            return;
        };
        let mut copies = record.copies();
        // Under the lock: whoever saves and then writes counts its guest before it adds a copy.
        let last = count.load(Ordering::Acquire) >> 32 == 1;
        let gone = if last { std::mem::take(&mut *copies) } else { Vec::new() };
        drop(copies);
        drop(gone);
    }
}

impl Record {
    fn copies(&self) -> MutexGuard<'_, Vec<Earlier>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        if let Some(record) = self.record() {
            let record = std::ptr::from_ref(record).cast_mut();
            // SAFETY: `record_or_new` made it from a box, and nobody else reaches it any more.
            drop(unsafe { Box::from_raw(record) });
        }
    }
}

impl Storage {
    /// Remembers a change of the data by the operation `op`; returns the new version.
    pub fn bump_version(&self, op: &'static str) -> u32 {
        self.changed(author::named(op))
    }

    /// The same, with the place in the program that called the operation.
    pub fn bump_version_at(&self, op: &'static str, site: &str) -> u32 {
        self.changed(author::called_at(op, site))
    }

    /// Names another operation as what made the last change; the version stays.
    pub fn credit_change(&self, op: &'static str, site: Option<&str>) {
        let by = site.map_or_else(|| author::named(op), |site| author::called_at(op, site));
        self.header().changes.set(by);
    }

    fn changed(&self, by: u64) -> u32 {
        self.header().changes.set(by);
        self.header().version.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }

    /// Remembers that an operation saved the data of this version as its own result.
    #[inline(always)]
    pub fn mark_saved_result(&self) {
        self.header().saved_result.store(true, Ordering::Relaxed);
    }

    /// To be called before the data is written: results that were saved in this version get a copy of it.
    #[inline]
    pub fn before_write(&self) -> Result<()> {
        if self.header().saved_result.load(Ordering::Relaxed) {
            self.copy_version()
        } else {
            Ok(())
        }
    }

    #[cold]
    fn copy_version(&self) -> Result<()> {
        let header = self.header();
        // A saved value is a guest: without one, whoever saved the result is gone.
        if header.count.load(Ordering::Acquire) >= GUEST {
            let data = Storage::alloc(self.nbytes())?;
            // SAFETY: both are `nbytes` long, and the new one is exclusively ours.
            unsafe { data.ptr().copy_from_nonoverlapping(self.ptr(), self.nbytes()) };
            header.changes.keep_copy(self.version(), data);
        }
        header.saved_result.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// The data as they were in `version`, if a write since then left a copy that nobody has written to.
    #[cold]
    pub fn copy_of(&self, version: u32) -> Option<Storage> {
        let copies = self.header().changes.record()?.copies();
        let copy = copies.iter().find(|copy| copy.version == version && copy.data.version() == 0);
        copy.map(|copy| copy.data.guest())
    }

    /// The operation that changed the data last; empty when none did.
    pub fn changed_by(&self) -> &'static str {
        author::op(self.header().changes.last())
    }

    /// Where the program called that operation, if it was noted.
    pub fn changed_at(&self) -> Option<&'static str> {
        author::site(self.header().changes.last())
    }

    /// What the layers above keep beside the data; a guest has none.
    pub fn note(&self) -> Option<Note> {
        if self.is_guest() { None } else { self.header().changes.note() }
    }

    /// The same, made now if there was none.
    pub fn note_or(&self, make: impl FnOnce() -> Note) -> Note {
        if self.is_guest() { make() } else { self.header().changes.note_or(make) }
    }

    /// A bit for the layers above; guests see it, too.
    pub fn is_marked(&self) -> bool {
        self.header().marked.load(Ordering::Relaxed)
    }

    /// Sets that bit.
    pub fn mark(&self, on: bool) {
        self.header().marked.store(on, Ordering::Relaxed);
    }

    /// Whether this is the only handle that is no guest: the note goes with it.
    pub fn is_sole_host(&self) -> bool {
        !self.is_guest() && self.header().count.load(Ordering::Acquire) as u32 == 1
    }

    /// Drops a handle on changed data: the last one that is no guest takes the note along, while it still
    /// counts as a guest.
    #[cold]
    #[inline(never)]
    pub(super) fn leave(&mut self) {
        let count = &self.header().count;
        if self.is_guest() {
            if count.load(Ordering::Acquire) >> 32 == 1 {
                self.header().changes.forget_copies(count);
            }
        } else if count.fetch_add(GUEST - 1, Ordering::AcqRel) as u32 == 1 {
            self.header().changes.forget_note();
        }
        if count.fetch_sub(GUEST, Ordering::Release) != GUEST {
            return;
        }
        fence(Ordering::Acquire);
        // SAFETY: this was the last handle.
        unsafe { free(NonNull::new_unchecked(self.base())) };
    }
}
