//! What a storage remembers of the changes made to it.
//!
//! Owns: version and attachment of a storage as its handles see them, and one word, which is empty, the last change as
//! `author` packs it, or the address of a record with that, an attachment of the layers above and snapshots of earlier
//! versions; and how a handle on changed data is dropped. Never reads the attachment.
//! Invariant: a record, once made, lives as long as the storage; nothing is dropped under its lock. Snapshots go with the
//! last data handle: only saved values, which are data handles, ask for them.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering, fence};

use super::snapshots::{Snapshot, Snapshots};
use super::storage::{DATA_HANDLE, Kind, free};
use super::{Layout, Storage, StridedSet, author, capture};
use crate::dtype::DType;
use crate::error::Result;
use crate::threads::{Lock, Mutex, replace_alone, step_alone};

/// Whether `count` shows that one data handle of a storage is left beside those of captures.
fn is_last(storage: &Storage, count: &AtomicU64) -> bool {
    count.load(Ordering::Acquire) / DATA_HANDLE == 1 + capture::handles_of(storage)
}

/// What the layers above keep beside the data.
pub(super) type Attachment = Arc<dyn Any + Send + Sync>;

/// Empty, a name as `author` packs it (top byte not 0), or the address of a `Record` (top byte 0).
pub(super) struct Changes(AtomicU64);

/// What the layers above note of a storage.
#[derive(Default)]
pub(super) struct Notes {
    user_bit: AtomicBool,
    /// What may have been saved: `WHOLE`, `COUNTED`.
    saved: AtomicU8,
    /// How often a tensor over this memory began or ceased to require a gradient.
    switches: AtomicU16,
}

/// Values that are not counted may have saved any of the data.
const WHOLE: u8 = 1;
/// There are snapshots, which count saved values.
const COUNTED: u8 = 2;
/// There may be data handles that are not of saved values.
const ALIASED: u8 = 4;
/// Bytes of the longest part of an element.
const WIDEST: usize = 8;

struct Record {
    name: AtomicU64,
    attachment: Mutex<Option<Attachment>>,
    snapshots: Lock<Option<Box<Snapshots>>>,
}

/// Elements of a memory: a layout and the bytes of an element and of the number, or the part of one, that it consists of.
#[derive(Clone, Copy)]
pub struct ElementLayout<'a> {
    /// Where they lie, in elements.
    pub layout: &'a Layout,
    /// Bytes of an element.
    pub size: usize,
    /// Bytes of a part.
    pub part: usize,
}

impl<'a> ElementLayout<'a> {
    /// The elements of a dtype that a layout shows.
    pub(crate) fn of(layout: &'a Layout, dtype: DType) -> ElementLayout<'a> {
        ElementLayout { layout, size: dtype.size(), part: dtype.real().size() }
    }

    /// The positions of these elements, which count so many bytes.
    fn places(&self, unit: usize) -> StridedSet {
        StridedSet::of(self.layout, self.size / unit)
    }
}

/// What is left of elements as they were in an earlier version.
pub enum Earlier {
    /// Nobody kept them.
    Lost,
    /// They are still so.
    Unchanged,
    /// Copies, which lie over the elements as they are now: the last one on top. Positions count so many bytes.
    Changed(Vec<Snapshot>, usize),
}

/// Makes a copy without gaps of positions that count so many bytes.
pub(super) type MakeCopy<'a> = &'a mut dyn FnMut(&StridedSet, usize) -> Result<Storage>;

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
                attachment: Mutex::new(None),
                snapshots: Lock::new(None),
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
        if plain && replace_alone(&self.0, before, word) {
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

    /// The attachment, if there is one.
    pub(super) fn attachment(&self) -> Option<Attachment> {
        self.record()?.attachment.lock().clone()
    }

    /// The attachment, made now if there was none.
    pub(super) fn attachment_or(&self, make: impl FnOnce() -> Attachment) -> Attachment {
        let mut attachment = self.record_or_new().attachment.lock();
        attachment.get_or_insert_with(make).clone()
    }

    /// Forgets the attachment.
    pub(super) fn forget_attachment(&self) {
        let gone = self.record().and_then(|record| record.attachment.lock().take());
        drop(gone);
    }

    /// Whether there is a record.
    #[inline(always)]
    fn has_record(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        word != 0 && word & !ADDRESS == 0
    }

    /// Forgets the snapshots, if `count` shows that one data handle is left: the one that is being dropped.
    fn forget_snapshots(&self, storage: &Storage, count: &AtomicU64) {
        let Some(record) = self.record() else {
            return;
        };
        let mut snapshots = record.snapshots.lock();
        // Under the lock: whoever saves and then writes counts its handle before it adds a copy.
        let last = is_last(storage, count);
        let gone = snapshots.as_mut().filter(|_| last).map(|snapshots| snapshots.clear());
        drop(snapshots);
        drop(gone);
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
    /// Whether the data is a block of ours to which nothing is attached.
    #[inline(always)]
    pub fn is_bare_block(&self) -> bool {
        let header = self.header();
        header.kind == Kind::Block && header.changes.is_empty()
    }

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
        step_alone(&self.header().version)
    }

    /// Takes note that a tensor over this memory began or ceased to require a gradient.
    pub fn note_switch(&self) {
        self.header().notes.switches.fetch_add(1, Ordering::Relaxed);
    }

    /// How often that happened.
    #[inline]
    pub fn switches(&self) -> u16 {
        self.header().notes.switches.load(Ordering::Relaxed)
    }

    /// Whether the data is in memory of ours, of which no other storage has a part.
    pub fn is_own(&self) -> bool {
        !matches!(self.header().kind, Kind::Adopted)
    }

    /// Whether there is any other handle than this one and those of `others` that are of this memory.
    pub fn is_held_beside(&self, others: &[&Storage]) -> bool {
        let own = others.iter().filter(|other| other.same(self));
        let known = own.fold(self.unit(), |sum, other| sum + other.unit());
        self.header().count.load(Ordering::Acquire) != known
    }

    /// Whether this handle is the only one but for those of captures. What is recorded must not depend on whether somebody
    /// captures: one node more moves the others in the order of a pass.
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.is_unique() || (capture::active() && self.is_alone_in_capture())
    }

    #[cold]
    fn is_alone_in_capture(&self) -> bool {
        let count = self.header().count.load(Ordering::Acquire);
        count == self.unit() + DATA_HANDLE * capture::handles_of(self)
    }

    /// Whether this handle is alone, and the memory is ours.
    #[inline]
    pub fn is_separate(&self) -> bool {
        let header = self.header();
        self.is_alone()
            && header.kind != Kind::Adopted
            && header.exports.load(Ordering::Acquire) == 0
    }

    /// Counts an export through which others can write, unless somebody keeps the data: saved values, programs and tensors
    /// without the attachment hold data handles. `known` are those of the caller, of which one becomes the export's;
    /// each export before it has one.
    pub fn export_if_free(&self, known: u64) -> bool {
        let header = self.header();
        if header.foreign_writer {
            self.export_writable();
            return true;
        }
        let before = u64::from(header.exports.fetch_add(1, Ordering::SeqCst));
        let free = header.count.load(Ordering::SeqCst) / DATA_HANDLE == known + before;
        if !free {
            self.release_export();
        }
        free
    }

    /// A data handle of a value that an operation saves. As long as there is no other data handle, such handles alone tell how
    /// many values there are.
    #[inline(always)]
    pub fn saved_handle(&self) -> Storage {
        self.another_data_handle()
    }

    /// Takes note that a value saves all of the data; `false` where it has to be counted, by `save`.
    #[inline(always)]
    pub fn save_whole(&self) -> bool {
        let header = self.header();
        let saved = header.notes.saved.load(Ordering::Relaxed);
        if saved & (ALIASED | COUNTED) != 0 || header.changes.has_record() {
            return false;
        }
        header.notes.saved.store(WHOLE, Ordering::Relaxed);
        true
    }

    /// Takes note that a value saves these elements; `forget_saved` ends that. Its handle is there already.
    #[cold]
    pub fn save(&self, elements: ElementLayout<'_>) {
        let version = self.version();
        self.with_snapshots(elements.part, 1, |snapshots| {
            snapshots.save(&elements.places(snapshots.unit()), version);
        });
    }

    /// Whether values that save or forget must say so.
    #[inline(always)]
    pub fn counts_saved(&self) -> bool {
        self.header().changes.has_record()
    }

    /// Takes note of one more value that saved the same as another in this version. Its handle is there already.
    #[cold]
    pub fn save_again(&self, version: u32, counted: bool) {
        if self.header().notes.saved.load(Ordering::Relaxed) & COUNTED != 0 {
            self.with_snapshots(WIDEST, 1, |snapshots| snapshots.save_again(version, counted));
        }
    }

    /// Takes note that a value that was saved in this version is gone. Its handle is still there.
    #[cold]
    pub fn forget_saved(&self, version: u32, counted: bool) {
        if self.header().notes.saved.load(Ordering::Relaxed) & COUNTED != 0 {
            drop(self.with_snapshots(WIDEST, 0, |snapshots| snapshots.forget(version, counted)));
        }
    }

    /// Takes note that data handles are no longer those of saved values alone.
    #[cold]
    pub(super) fn alias(&self) {
        let header = self.header();
        if header.notes.saved.load(Ordering::Relaxed) & WHOLE != 0 {
            self.with_snapshots(WIDEST, 0, |_| ());
        }
        header.notes.saved.fetch_or(ALIASED, Ordering::Relaxed);
    }

    /// Calls `f` with the snapshots, made now if there were none, whose positions are no longer than `part` bytes. It runs under
    /// the lock. `new` of the data handles are of values that are not yet saved.
    fn with_snapshots<R>(&self, part: usize, new: u64, f: impl FnOnce(&mut Snapshots) -> R) -> R {
        let header = self.header();
        let mut snapshots = header.changes.record_or_new().snapshots.lock();
        let before = header.notes.saved.load(Ordering::Relaxed);
        header.notes.saved.store((before & ALIASED) | COUNTED, Ordering::Relaxed);
        let found = snapshots.get_or_insert_with(|| Box::new(Snapshots::new(self.nbytes(), part)));
        if before & WHOLE != 0 {
            // Until now, all data handles were of saved values.
            let handles = header.count.load(Ordering::Acquire) / DATA_HANDLE;
            found.save_uncounted(handles.saturating_sub(new), self.version());
        }
        found.refine(part);
        f(found)
    }

    /// Whether somebody else than this handle and captures has a data handle: saved values are such.
    fn is_kept(&self) -> bool {
        let handles = self.header().count.load(Ordering::Acquire) / DATA_HANDLE;
        let own = u64::from(self.is_data_handle());
        handles > own + capture::handles_of(self)
    }

    /// Whether a saved value may need what is about to be written.
    #[inline(always)]
    pub fn may_be_saved(&self) -> bool {
        self.header().notes.saved.load(Ordering::Relaxed) & (WHOLE | COUNTED) != 0
    }

    /// To be called before elements are written: what saved values need of them is copied.
    ///
    /// # Errors
    /// What `copy` reports; then nothing has changed.
    #[cold]
    pub fn before_write(&self, elements: ElementLayout<'_>, copy: MakeCopy<'_>) -> Result<()> {
        if !self.is_kept() {
            self.nobody_saved();
            return Ok(());
        }
        let (plan, unit) = self.with_snapshots(elements.part, 0, |snapshots| {
            (snapshots.plan(&elements.places(snapshots.unit())), snapshots.unit())
        });
        let copied = |places: &StridedSet| Ok((places.clone(), copy(places, unit)?));
        let made: Result<Vec<_>> = plan.iter().map(copied).collect();
        let version = self.version();
        let (gone, failed) = self.with_snapshots(elements.part, 0, |snapshots| match made {
            Ok(made) => (snapshots.keep(version, made), Ok(())),
            Err(error) => {
                snapshots.unplan(&plan);
                (Vec::new(), Err(error))
            }
        });
        drop(gone);
        failed
    }

    /// Takes note that no saved value is left, unless another thread has just saved one.
    fn nobody_saved(&self) {
        let saved = &self.header().notes.saved;
        let Some(record) = self.header().changes.record() else {
            let before = saved.fetch_and(ALIASED, Ordering::SeqCst);
            if self.is_kept() {
                saved.store(before, Ordering::SeqCst);
            }
            return;
        };
        let mut snapshots = record.snapshots.lock();
        let gone = match &mut *snapshots {
            Some(snapshots) if !self.is_kept() => snapshots.clear(),
            _ => Vec::new(),
        };
        drop(snapshots);
        drop(gone);
    }

    /// To be called before a write for which nothing is kept: whoever saved elements gets an error instead of them.
    pub fn invalidate_saved(&self) {
        if !self.may_be_saved() {
            return;
        }
        if !self.is_kept() {
            return self.nobody_saved();
        }
        let version = self.version();
        drop(self.with_snapshots(WIDEST, 0, |snapshots| snapshots.lose(version)));
    }

    /// What is left of elements as they were in `version`.
    #[cold]
    pub fn earlier(&self, elements: ElementLayout<'_>, version: u32) -> Earlier {
        let Some(record) = self.header().changes.record() else {
            return Earlier::Lost;
        };
        let mut snapshots = record.snapshots.lock();
        let Some(found) = snapshots.as_mut().filter(|found| !found.is_lost(version)) else {
            return Earlier::Lost;
        };
        found.refine(elements.part);
        let unit = found.unit();
        let copies = found.since(&elements.places(unit), version);
        if copies.is_empty() { Earlier::Unchanged } else { Earlier::Changed(copies, unit) }
    }

    /// The operation that changed the data last; empty when none did.
    pub fn changed_by(&self) -> &'static str {
        author::op(self.header().changes.last())
    }

    /// Where the program called that operation, if it was noted.
    pub fn changed_at(&self) -> Option<&'static str> {
        author::site(self.header().changes.last())
    }

    /// What the layers above keep beside the data; a data handle sees none.
    pub fn attachment(&self) -> Option<Attachment> {
        if self.is_data_handle() { None } else { self.header().changes.attachment() }
    }

    /// The same, made now if there was none.
    pub fn attachment_or(&self, make: impl FnOnce() -> Attachment) -> Attachment {
        if self.is_data_handle() { make() } else { self.header().changes.attachment_or(make) }
    }

    /// A bit for the layers above; data handles see it, too.
    pub fn user_bit(&self) -> bool {
        self.header().notes.user_bit.load(Ordering::Relaxed)
    }

    /// Sets that bit.
    pub fn set_user_bit(&self, on: bool) {
        self.header().notes.user_bit.store(on, Ordering::Relaxed);
    }

    /// Whether this is the only full handle: the attachment goes with it.
    pub fn is_only_full_handle(&self) -> bool {
        !self.is_data_handle() && self.header().count.load(Ordering::Acquire) as u32 == 1
    }

    /// Drops a handle on changed data: the last full one takes the attachment along, while it still counts as a data
    /// handle.
    #[cold]
    #[inline(never)]
    pub(super) fn drop_counted(&mut self) {
        let count = &self.header().count;
        if self.is_data_handle() {
            if is_last(self, count) {
                self.header().changes.forget_snapshots(self, count);
            }
        } else if count.fetch_add(DATA_HANDLE - 1, Ordering::AcqRel) as u32 == 1 {
            self.header().changes.forget_attachment();
        }
        if count.fetch_sub(DATA_HANDLE, Ordering::Release) != DATA_HANDLE {
            return;
        }
        fence(Ordering::Acquire);
        // SAFETY: this was the last handle.
        unsafe { free(NonNull::new_unchecked(self.base())) };
    }
}
