//! What a storage remembers of the changes made to it.
//!
//! Owns: version and attachment of a storage as its handles see them, and one word, which is empty, the last change as
//! `author` packs it, the part of the data that saved values need, or the address of a record with the last change, an
//! attachment of the layers above and snapshots of earlier versions; and how a handle on changed data is dropped. Never reads
//! the attachment.
//! Invariant: a record, once made, lives as long as the storage; nothing is dropped under its lock. Saved values are counted:
//! by the header while there is no record, else by the snapshots, which go with the last of them.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::copy_on_write::{Snapshot, Snapshots};
use super::storage::{DATA_HANDLE, Kind, SWITCH, free};
use super::{Layout, Storage, StridedSet, capture, last_writer};
use crate::dtype::DType;
use crate::error::Result;
use crate::threads::{Lock, Mutex, count_alone, replace_alone, step_alone};

/// What the layers above keep beside the data.
pub(super) type Attachment = Arc<dyn Any + Send + Sync>;

/// Empty, a name as `author` packs it or a `SavedPart` (top byte not 0), or the address of a `Record` (top byte 0).
pub(super) struct Changes(AtomicU64);

/// Bytes of the longest part of an element.
const WIDEST: usize = 8;

/// The bytes that the saved values need which no record counts, in a word: without one, they may need all.
#[derive(Clone, Copy)]
struct SavedPart {
    start: u64,
    end: u64,
}

impl SavedPart {
    /// Bits of a place.
    const BITS: u32 = 28;

    /// So many bytes from the first one on, if a word can hold that.
    fn new(start: usize, len: usize) -> Option<SavedPart> {
        let (start, end) = (start as u64, (start + len) as u64);
        (end < 1 << SavedPart::BITS).then_some(SavedPart { start, end })
    }

    fn of_word(word: u64) -> Option<SavedPart> {
        let place = |word: u64| word & ((1 << SavedPart::BITS) - 1);
        let is_part = word >> 56 == last_writer::NO_NAME;
        is_part.then(|| SavedPart { start: place(word), end: place(word >> SavedPart::BITS) })
    }

    fn word(self) -> u64 {
        self.start | self.end << SavedPart::BITS | last_writer::NO_NAME << 56
    }

    /// Both together, if there is no gap between them.
    fn joined(self, other: SavedPart) -> Option<SavedPart> {
        let touch = self.start <= other.end && other.start <= self.end;
        let (start, end) = (self.start.min(other.start), self.end.max(other.end));
        touch.then_some(SavedPart { start, end })
    }
}

struct Record {
    name: AtomicU64,
    /// What the values need that were saved before there was a record; none: all of the data.
    part: Option<SavedPart>,
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
            let part = SavedPart::of_word(name);
            let fresh = Record {
                name: AtomicU64::new(if part.is_some() { 0 } else { name }),
                part,
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
        let plain = before == 0 || (before & !ADDRESS != 0 && SavedPart::of_word(before).is_none());
        if plain && replace_alone(&self.0, before, word) {
            return;
        }
        self.record_or_new().name.store(word, Ordering::Release);
    }

    /// The last change, as `author` packs it; zero when there was none.
    fn last(&self) -> u64 {
        match self.record() {
            Some(record) => record.name.load(Ordering::Acquire),
            None => match self.0.load(Ordering::Acquire) {
                part if SavedPart::of_word(part).is_some() => 0,
                name => name,
            },
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

    /// Joins a part to the one that is there, if the two make one. `first` says that there was no saved value before.
    fn join_part(&self, part: SavedPart, first: bool) -> bool {
        loop {
            let before = self.0.load(Ordering::SeqCst);
            let joined = match SavedPart::of_word(before) {
                Some(known) => known.joined(part),
                // Without a part they may need all of it already.
                None if before != 0 || !first => return !first && !self.has_record(),
                None => Some(part),
            };
            let Some(joined) = joined else { return false };
            let known =
                self.0.compare_exchange(before, joined.word(), Ordering::SeqCst, Ordering::SeqCst);
            if known.is_ok() {
                return true;
            }
        }
    }

    /// Forgets the part: saved values may need all of the data, or there are none.
    fn forget_part(&self) {
        let part = self.0.load(Ordering::SeqCst);
        if SavedPart::of_word(part).is_some() {
            // Whoever changed the word meanwhile has made a record of it, or joined another part.
            let _ = self.0.compare_exchange(part, 0, Ordering::SeqCst, Ordering::SeqCst);
        }
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
        self.changed(last_writer::named(op))
    }

    /// The same, with the place in the program that called the operation.
    pub fn bump_version_at(&self, op: &'static str, site: &str) -> u32 {
        self.changed(last_writer::called_at(op, site))
    }

    /// Names another operation as what made the last change; the version stays.
    pub fn credit_change(&self, op: &'static str, site: Option<&str>) {
        let by =
            site.map_or_else(|| last_writer::named(op), |site| last_writer::called_at(op, site));
        self.header().changes.set(by);
    }

    fn changed(&self, by: u64) -> u32 {
        self.header().changes.set(by);
        step_alone(&self.header().version)
    }

    /// Takes note that a tensor over this memory began or ceased to require a gradient.
    pub fn note_switch(&self) {
        self.header().switches.fetch_add(SWITCH, Ordering::Relaxed);
    }

    /// How often that happened.
    #[inline]
    pub fn switches(&self) -> u16 {
        self.header().switches.load(Ordering::Relaxed) / SWITCH
    }

    /// Whether the data is in memory of ours, of which no other storage has a part.
    pub fn is_own(&self) -> bool {
        !self.header().kind.is_adopted()
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
        count == self.unit() + DATA_HANDLE * capture::handle_count(self)
    }

    /// Whether this handle is alone, and the memory is ours.
    #[inline]
    pub fn is_separate(&self) -> bool {
        let header = self.header();
        self.is_alone() && !header.kind.is_adopted() && !header.is_exported()
    }

    /// Counts an export through which others can write, unless somebody keeps the data: saved values, programs and tensors
    /// without the attachment hold data handles. `known` are those of the caller, of which one becomes the export's;
    /// each export before it has one.
    pub fn export_if_free(&self, known: u64) -> bool {
        let header = self.header();
        if header.kind.has_foreign_writer() {
            self.export_writable();
            return true;
        }
        let before = u64::from(header.export());
        let free = header.count.load(Ordering::SeqCst) / DATA_HANDLE == known + before;
        if !free {
            self.release_export();
        }
        free
    }

    /// Takes note that a value saves all of the data; returns whether the snapshots count it, which `forget_saved` is told.
    #[inline(always)]
    pub fn save_whole(&self) -> bool {
        let header = self.header();
        count_alone(&header.saved, 1);
        // In this order: whoever makes a record meanwhile sees the count, or is seen here.
        !header.changes.is_empty() && self.save_whole_of_changed()
    }

    #[cold]
    fn save_whole_of_changed(&self) -> bool {
        let header = self.header();
        header.changes.forget_part();
        if !header.changes.has_record() {
            return false;
        }
        self.save_counted(WIDEST, |unit| StridedSet::run(0, self.nbytes().div_ceil(unit)));
        true
    }

    /// Takes note that a value saves these elements; `run` has the first and their number where they lie in C order without
    /// gaps. Returns the same as `save_whole`.
    #[cold]
    pub fn save(&self, elements: ElementLayout<'_>, run: Option<(isize, usize)>) -> bool {
        let header = self.header();
        let first = count_alone(&header.saved, 1) == 0;
        let part = run.and_then(|(start, len)| {
            SavedPart::new(start as usize * elements.size, len * elements.size)
        });
        if let Some(part) = part
            && header.changes.join_part(part, first)
        {
            // Another value that saved all of it before it could see the part.
            if first && header.saved.load(Ordering::SeqCst) != 1 {
                header.changes.forget_part();
            }
            return false;
        }
        self.save_counted(elements.part, |unit| elements.places(unit));
        true
    }

    /// Has the snapshots count a value that the header counts.
    fn save_counted(&self, part: usize, places: impl FnOnce(usize) -> StridedSet) {
        let version = self.version();
        self.with_snapshots(part, 1, |snapshots| {
            snapshots.save(&places(snapshots.unit()), version);
        });
        count_alone(&self.header().saved, u32::MAX);
    }

    /// Takes note of one more value that saved the same as another in this version.
    #[inline(always)]
    pub fn save_again(&self, version: u32, counted: bool) {
        if counted {
            self.with_snapshots(WIDEST, 0, |snapshots| snapshots.save_again(version));
        } else {
            count_alone(&self.header().saved, 1);
        }
    }

    /// Takes note that a value that was saved in this version is gone.
    #[inline(always)]
    pub fn forget_saved(&self, version: u32, counted: bool) {
        let header = self.header();
        if !counted {
            let before = count_alone(&header.saved, u32::MAX);
            if before != 1 || header.changes.is_empty() {
                return;
            }
        }
        self.forget_saved_of_changed(version, counted);
    }

    #[cold]
    fn forget_saved_of_changed(&self, version: u32, counted: bool) {
        let header = self.header();
        header.changes.forget_part();
        let Some(record) = header.changes.record() else { return };
        let mut snapshots = record.snapshots.lock();
        let gone = snapshots.as_mut().map(|snapshots| {
            if counted {
                snapshots.forget(version);
            }
            let uncounted = header.saved.load(Ordering::SeqCst);
            if snapshots.is_unused(uncounted) { snapshots.clear() } else { Vec::new() }
        });
        drop(snapshots);
        drop(gone);
    }

    /// Calls `f` with the snapshots, made now if there were none, whose positions are no longer than `part` bytes. It runs under
    /// the lock. `own` of the uncounted values are the caller's.
    fn with_snapshots<R>(&self, part: usize, own: u32, f: impl FnOnce(&mut Snapshots) -> R) -> R {
        let header = self.header();
        let record = header.changes.record_or_new();
        let mut snapshots = record.snapshots.lock();
        let found = snapshots.get_or_insert_with(|| {
            let mut new = Snapshots::new(self.nbytes(), part);
            if header.saved.load(Ordering::SeqCst) > own {
                let part = record.part.map(|part| (part.start as usize, part.end as usize));
                new.save_uncounted(part.unwrap_or((0, self.nbytes())), self.version());
            }
            Box::new(new)
        });
        found.refine(part);
        f(found)
    }

    /// Whether a saved value may need what is about to be written.
    #[inline(always)]
    pub fn may_be_saved(&self) -> bool {
        let header = self.header();
        header.saved.load(Ordering::SeqCst) != 0 || header.changes.has_record()
    }

    /// Whether there are saved values.
    fn is_saved(&self) -> bool {
        let header = self.header();
        header.saved.load(Ordering::SeqCst) != 0
            || header.changes.record().is_some_and(|record| {
                record.snapshots.lock().as_ref().is_some_and(|snapshots| !snapshots.is_unused(0))
            })
    }

    /// To be called before elements are written: what saved values need of them is copied.
    ///
    /// # Errors
    /// What `copy` reports; then nothing has changed.
    #[cold]
    pub fn before_write(&self, elements: ElementLayout<'_>, copy: MakeCopy<'_>) -> Result<()> {
        if !self.is_saved() {
            return Ok(());
        }
        let (plan, unit) = self.with_snapshots(elements.part, 0, |snapshots| {
            (snapshots.plan(&elements.places(snapshots.unit())), snapshots.unit())
        });
        let copied = |places: &StridedSet| Ok((places.clone(), copy(places, unit)?));
        let made: Result<Vec<_>> = plan.iter().map(copied).collect();
        let version = self.version();
        let uncounted = &self.header().saved;
        let (gone, failed) = self.with_snapshots(elements.part, 0, |snapshots| match made {
            Ok(made) => {
                (snapshots.keep(version, made, uncounted.load(Ordering::SeqCst) != 0), Ok(()))
            }
            Err(error) => {
                snapshots.unplan(&plan);
                (Vec::new(), Err(error))
            }
        });
        drop(gone);
        failed
    }

    /// To be called before a write for which nothing is kept: whoever saved elements gets an error instead of them.
    pub fn invalidate_saved(&self) {
        if !self.may_be_saved() || !self.is_saved() {
            return;
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
        last_writer::op(self.header().changes.last())
    }

    /// Where the program called that operation, if it was noted.
    pub fn changed_at(&self) -> Option<&'static str> {
        last_writer::site(self.header().changes.last())
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
        self.header().switches.load(Ordering::Relaxed) % SWITCH == 1
    }

    /// Sets that bit.
    pub fn set_user_bit(&self, on: bool) {
        let switches = &self.header().switches;
        let rest = |switches: u16| switches / SWITCH * SWITCH;
        let set = |switches: u16| Some(rest(switches) + u16::from(on));
        let _ = switches.fetch_update(Ordering::Relaxed, Ordering::Relaxed, set);
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
        if !self.is_data_handle() && count.fetch_add(DATA_HANDLE - 1, Ordering::AcqRel) as u32 == 1
        {
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
