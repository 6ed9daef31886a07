//! The writes to a storage: its version, the last writer, copies for saved values, and the attachment of the layers above.
//!
//! One word per storage: empty, the last writer (`last_writer.rs`), the byte range that saved values need, or the address
//! of a `WriteRecord` that holds all of these and the snapshots. Also how a handle on written data is dropped.
//! Invariant: a record lives as long as the storage; no value is dropped under its lock. Saved values are counted in the
//! header while there is no record, and by the snapshots from then on.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::copy_on_write::{Snapshot, Snapshots};
use super::storage::{DATA_HANDLE, Kind, SWITCH_UNIT, free};
use super::{Layout, Storage, StridedSet, last_writer, observer};
use crate::dtype::DType;
use crate::error::Result;
use crate::threads::{Lock, Mutex, compare_exchange_alone, fetch_add_alone_u32, increment_alone};

/// State that the tensor layer attaches to a storage.
pub(super) type Attachment = Arc<dyn Any + Send + Sync>;

/// Empty, a packed writer or a `SavedRange` (nonzero top byte), or the address of a `WriteRecord` (top byte 0).
pub(super) struct WriteLog(AtomicU64);

/// Bytes of the largest real component of an element.
const MAX_COMPONENT_BYTES: usize = 8;

/// The byte range that the uncounted saved values need, packed in a word; without one, they may need everything.
#[derive(Clone, Copy)]
struct SavedRange {
    start: u64,
    end: u64,
}

impl SavedRange {
    /// Bits of each bound.
    const BITS: u32 = 28;

    /// The range of `len` bytes from `start` on, if it can be packed.
    fn new(start: usize, len: usize) -> Option<SavedRange> {
        let (start, end) = (start as u64, (start + len) as u64);
        (end < 1 << SavedRange::BITS).then_some(SavedRange { start, end })
    }

    fn of_word(word: u64) -> Option<SavedRange> {
        let place = |word: u64| word & ((1 << SavedRange::BITS) - 1);
        let is_range = word >> 56 == last_writer::NOT_A_NAME;
        is_range.then(|| SavedRange { start: place(word), end: place(word >> SavedRange::BITS) })
    }

    fn word(self) -> u64 {
        self.start | self.end << SavedRange::BITS | last_writer::NOT_A_NAME << 56
    }

    /// The union, if there is no gap.
    fn joined(self, other: SavedRange) -> Option<SavedRange> {
        let adjacent = self.start <= other.end && other.start <= self.end;
        let (start, end) = (self.start.min(other.start), self.end.max(other.end));
        adjacent.then_some(SavedRange { start, end })
    }
}

struct WriteRecord {
    writer: AtomicU64,
    /// The range needed by values saved before the record was made; `None`: everything.
    range: Option<SavedRange>,
    attachment: Mutex<Option<Attachment>>,
    snapshots: Lock<Option<Box<Snapshots>>>,
}

/// Elements of a memory: their layout, the size of an element and of its real component.
#[derive(Clone, Copy)]
pub struct ElementLayout<'a> {
    /// The layout, in elements.
    pub layout: &'a Layout,
    /// Bytes of an element.
    pub size: usize,
    /// Bytes of a real component: half an element of a complex dtype, else an element.
    pub component: usize,
}

impl<'a> ElementLayout<'a> {
    /// The elements of `dtype` that a layout addresses.
    pub(crate) fn of(layout: &'a Layout, dtype: DType) -> ElementLayout<'a> {
        ElementLayout { layout, size: dtype.size(), component: dtype.real().size() }
    }

    /// The positions of the elements, in units of `unit` bytes.
    fn positions(&self, unit: usize) -> StridedSet {
        StridedSet::of(self.layout, self.size / unit)
    }
}

/// What is known of elements as they were in an earlier version.
pub enum VersionContents {
    /// They cannot be restored: a write kept no copies.
    Lost,
    /// They have not been written since.
    Unchanged,
    /// Copies to be written over the current elements in this order, and the bytes per position.
    Changed(Vec<Snapshot>, usize),
}

/// Makes a contiguous copy of positions, given the bytes per position.
pub(super) type MakeCopy<'a> = &'a mut dyn FnMut(&StridedSet, usize) -> Result<Storage>;

const ADDRESS: u64 = u64::MAX >> 8;

impl WriteLog {
    #[inline(always)]
    pub(super) fn none() -> WriteLog {
        WriteLog(AtomicU64::new(0))
    }

    /// Whether there is nothing to drop with the storage.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn record(&self) -> Option<&WriteRecord> {
        let word = self.0.load(Ordering::Acquire);
        if word == 0 || word & !ADDRESS != 0 {
            return None;
        }
        let record = std::ptr::with_exposed_provenance::<WriteRecord>(word as usize);
        // SAFETY: a nonzero word with a zero top byte is the address of a record that `record_or_new` leaked; only the
        // drop of `self` frees it.
        Some(unsafe { &*record })
    }

    fn record_or_new(&self) -> &WriteRecord {
        loop {
            if let Some(record) = self.record() {
                return record;
            }
            let name = self.0.load(Ordering::Acquire);
            let range = SavedRange::of_word(name);
            let fresh = WriteRecord {
                writer: AtomicU64::new(if range.is_some() { 0 } else { name }),
                range,
                attachment: Mutex::new(None),
                snapshots: Lock::new(None),
            };
            let fresh = Box::into_raw(Box::new(fresh));
            let word = fresh.expose_provenance() as u64;
            if self.0.compare_exchange(name, word, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: the address was not published.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }

    /// Sets the last writer (packed).
    fn set(&self, word: u64) {
        let before = self.0.load(Ordering::Acquire);
        let plain =
            before == 0 || (before & !ADDRESS != 0 && SavedRange::of_word(before).is_none());
        if plain && compare_exchange_alone(&self.0, before, word) {
            return;
        }
        self.record_or_new().writer.store(word, Ordering::Release);
    }

    /// The last writer (packed); zero if there was no write.
    fn last(&self) -> u64 {
        match self.record() {
            Some(record) => record.writer.load(Ordering::Acquire),
            None => match self.0.load(Ordering::Acquire) {
                word if SavedRange::of_word(word).is_some() => 0,
                writer => writer,
            },
        }
    }

    /// The attachment, if there is one.
    pub(super) fn attachment(&self) -> Option<Attachment> {
        self.record()?.attachment.lock().clone()
    }

    /// The attachment, created if there was none.
    pub(super) fn attachment_or(&self, make: impl FnOnce() -> Attachment) -> Attachment {
        let mut attachment = self.record_or_new().attachment.lock();
        attachment.get_or_insert_with(make).clone()
    }

    /// Drops the attachment.
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

    /// Extends the range by another; `false` if the union is no range. `first`: there was no saved value before.
    fn extend_range(&self, range: SavedRange, first: bool) -> bool {
        loop {
            let before = self.0.load(Ordering::SeqCst);
            let joined = match SavedRange::of_word(before) {
                Some(known) => known.joined(range),
                // Values saved without a range may need everything already.
                None if before != 0 || !first => return !first && !self.has_record(),
                None => Some(range),
            };
            let Some(joined) = joined else { return false };
            let known =
                self.0.compare_exchange(before, joined.word(), Ordering::SeqCst, Ordering::SeqCst);
            if known.is_ok() {
                return true;
            }
        }
    }

    /// Clears the range: saved values may need everything, or none is left.
    fn clear_range(&self) {
        let word = self.0.load(Ordering::SeqCst);
        if SavedRange::of_word(word).is_some() {
            // If another thread changed the word meanwhile, it made a record or extended the range.
            let _ = self.0.compare_exchange(word, 0, Ordering::SeqCst, Ordering::SeqCst);
        }
    }
}

impl Drop for WriteLog {
    fn drop(&mut self) {
        if let Some(record) = self.record() {
            let record = std::ptr::from_ref(record).cast_mut();
            // SAFETY: `record_or_new` made it from a box, and no reference to it is left.
            drop(unsafe { Box::from_raw(record) });
        }
    }
}

impl Storage {
    /// Whether the data is a block of the engine's with nothing attached.
    #[inline(always)]
    pub fn is_bare_block(&self) -> bool {
        let header = self.header();
        header.kind == Kind::Block && header.writes.is_empty()
    }

    /// Counts a write by the operation `op`; returns the new version.
    pub fn bump_version(&self, op: &'static str) -> u32 {
        self.count_write(last_writer::pack_name(op))
    }

    /// As `bump_version`, with the call site.
    pub fn bump_version_at(&self, op: &'static str, site: &str) -> u32 {
        self.count_write(last_writer::pack_call(op, site))
    }

    /// Replaces the name of the last writer; the version stays.
    pub fn set_last_writer(&self, op: &'static str, site: Option<&str>) {
        let by = site
            .map_or_else(|| last_writer::pack_name(op), |site| last_writer::pack_call(op, site));
        self.header().writes.set(by);
    }

    fn count_write(&self, by: u64) -> u32 {
        self.header().writes.set(by);
        increment_alone(&self.header().version)
    }

    /// Notes that a tensor over this memory began or ceased to require a gradient.
    pub fn count_requires_grad_switch(&self) {
        self.header().switches.fetch_add(SWITCH_UNIT, Ordering::Relaxed);
    }

    /// How often `count_requires_grad_switch` was called (modulo 2^15).
    #[inline]
    pub fn requires_grad_switches(&self) -> u16 {
        self.header().switches.load(Ordering::Relaxed) / SWITCH_UNIT
    }

    /// Whether the engine owns the memory.
    pub fn owns_memory(&self) -> bool {
        !self.header().kind.is_adopted()
    }

    /// Whether there are handles beside this one and those of `others` on the same memory.
    pub fn has_other_handles(&self, others: &[&Storage]) -> bool {
        let own = others.iter().filter(|other| other.same(self));
        let known = own.fold(self.count_unit(), |sum, other| sum + other.count_unit());
        self.header().count.load(Ordering::Acquire) != known
    }

    /// Whether this is the only handle, not counting those of traces. What autograd records must not depend on whether a
    /// trace runs: one more node would change the order of the nodes of a pass.
    #[inline]
    pub fn is_unique_outside_traces(&self) -> bool {
        self.is_unique() || (observer::is_active() && self.is_unique_in_trace())
    }

    #[cold]
    fn is_unique_in_trace(&self) -> bool {
        let count = self.header().count.load(Ordering::Acquire);
        count == self.count_unit() + DATA_HANDLE * observer::count_handles(self)
    }

    /// Whether this is the only handle (but for traces) of memory that only the engine can reach.
    #[inline]
    pub fn is_exclusive(&self) -> bool {
        let header = self.header();
        self.is_unique_outside_traces() && !header.kind.is_adopted() && !header.is_exported()
    }

    /// Counts a writable export, unless saved values, programs or detached tensors hold data handles. `known` is the number
    /// of data handles of the caller, one of which becomes the export's; each earlier export has one.
    pub fn export_unless_saved(&self, known: u64) -> bool {
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

    /// Notes that a value saves all of the data; returns whether the snapshots count it (to be passed to `forget_saved`).
    #[inline(always)]
    pub fn save_all(&self) -> bool {
        let header = self.header();
        fetch_add_alone_u32(&header.saved_count, 1);
        // In this order: a thread that makes a record meanwhile sees the count, or its record is seen here.
        !header.writes.is_empty() && self.save_all_of_written()
    }

    #[cold]
    fn save_all_of_written(&self) -> bool {
        let header = self.header();
        header.writes.clear_range();
        if !header.writes.has_record() {
            return false;
        }
        self.save_counted(MAX_COMPONENT_BYTES, |unit| {
            StridedSet::run(0, self.nbytes().div_ceil(unit))
        });
        true
    }

    /// Notes that a value saves these elements; `run` has the first and their number if they are contiguous. Returns the same
    /// as `save_all`.
    #[cold]
    pub fn save(&self, elements: ElementLayout<'_>, run: Option<(isize, usize)>) -> bool {
        let header = self.header();
        let first = fetch_add_alone_u32(&header.saved_count, 1) == 0;
        let range = run.and_then(|(start, len)| {
            SavedRange::new(start as usize * elements.size, len * elements.size)
        });
        if let Some(range) = range
            && header.writes.extend_range(range, first)
        {
            // Another value that saved everything before it could see the range.
            if first && header.saved_count.load(Ordering::SeqCst) != 1 {
                header.writes.clear_range();
            }
            return false;
        }
        self.save_counted(elements.component, |unit| elements.positions(unit));
        true
    }

    /// Moves the count of a value from the header to the snapshots.
    fn save_counted(&self, component: usize, positions: impl FnOnce(usize) -> StridedSet) {
        let version = self.version();
        self.with_snapshots(component, 1, |snapshots| {
            snapshots.save(&positions(snapshots.unit()), version);
        });
        fetch_add_alone_u32(&self.header().saved_count, u32::MAX);
    }

    /// Counts one more value that saved the same as another in this version.
    #[inline(always)]
    pub fn save_again(&self, version: u32, counted: bool) {
        if counted {
            self.with_snapshots(MAX_COMPONENT_BYTES, 0, |snapshots| snapshots.save_again(version));
        } else {
            fetch_add_alone_u32(&self.header().saved_count, 1);
        }
    }

    /// Uncounts a dropped value that was saved in this version.
    #[inline(always)]
    pub fn forget_saved(&self, version: u32, counted: bool) {
        let header = self.header();
        if !counted {
            let before = fetch_add_alone_u32(&header.saved_count, u32::MAX);
            if before != 1 || header.writes.is_empty() {
                return;
            }
        }
        self.forget_saved_of_written(version, counted);
    }

    #[cold]
    fn forget_saved_of_written(&self, version: u32, counted: bool) {
        let header = self.header();
        header.writes.clear_range();
        let Some(record) = header.writes.record() else { return };
        let mut snapshots = record.snapshots.lock();
        let gone = snapshots.as_mut().map(|snapshots| {
            if counted {
                snapshots.forget(version);
            }
            let uncounted = header.saved_count.load(Ordering::SeqCst);
            if snapshots.is_unused(uncounted) { snapshots.clear() } else { Vec::new() }
        });
        drop(snapshots);
        drop(gone);
    }

    /// Calls `f` under the lock with the snapshots (created if there were none), with positions of at most `component` bytes.
    /// `own` of the uncounted values are the caller's.
    fn with_snapshots<R>(
        &self,
        component: usize,
        own: u32,
        f: impl FnOnce(&mut Snapshots) -> R,
    ) -> R {
        let header = self.header();
        let record = header.writes.record_or_new();
        let mut snapshots = record.snapshots.lock();
        let found = snapshots.get_or_insert_with(|| {
            let mut new = Snapshots::new(self.nbytes(), component);
            if header.saved_count.load(Ordering::SeqCst) > own {
                let range = record.range.map(|range| (range.start as usize, range.end as usize));
                new.save_uncounted(range.unwrap_or((0, self.nbytes())), self.version());
            }
            Box::new(new)
        });
        found.refine(component);
        f(found)
    }

    /// Whether a saved value may need elements that are about to be written.
    #[inline(always)]
    pub fn may_be_saved(&self) -> bool {
        let header = self.header();
        header.saved_count.load(Ordering::SeqCst) != 0 || header.writes.has_record()
    }

    /// Whether there are saved values.
    fn is_saved(&self) -> bool {
        let header = self.header();
        header.saved_count.load(Ordering::SeqCst) != 0
            || header.writes.record().is_some_and(|record| {
                record.snapshots.lock().as_ref().is_some_and(|snapshots| !snapshots.is_unused(0))
            })
    }

    /// Called before elements are written: copies those that saved values need.
    ///
    /// # Errors
    /// Those of `copy`; then nothing has changed.
    #[cold]
    pub fn before_write(&self, elements: ElementLayout<'_>, copy: MakeCopy<'_>) -> Result<()> {
        if !self.is_saved() {
            return Ok(());
        }
        let (plan, unit) = self.with_snapshots(elements.component, 0, |snapshots| {
            (snapshots.plan(&elements.positions(snapshots.unit())), snapshots.unit())
        });
        let copied = |positions: &StridedSet| Ok((positions.clone(), copy(positions, unit)?));
        let made: Result<Vec<_>> = plan.iter().map(copied).collect();
        let version = self.version();
        let uncounted = &self.header().saved_count;
        let (gone, failed) = self.with_snapshots(elements.component, 0, |snapshots| match made {
            Ok(made) => {
                (snapshots.add_copies(version, made, uncounted.load(Ordering::SeqCst) != 0), Ok(()))
            }
            Err(error) => {
                snapshots.cancel_plan(&plan);
                (Vec::new(), Err(error))
            }
        });
        drop(gone);
        failed
    }

    /// Called before a write without copies: restoring an earlier version is an error from then on.
    pub fn invalidate_saved(&self) {
        if !self.may_be_saved() || !self.is_saved() {
            return;
        }
        let version = self.version();
        drop(
            self.with_snapshots(MAX_COMPONENT_BYTES, 0, |snapshots| snapshots.invalidate(version)),
        );
    }

    /// What is known of elements as they were in `version`.
    #[cold]
    pub fn contents_at(&self, elements: ElementLayout<'_>, version: u32) -> VersionContents {
        let Some(record) = self.header().writes.record() else {
            return VersionContents::Lost;
        };
        let mut snapshots = record.snapshots.lock();
        let Some(found) = snapshots.as_mut().filter(|found| !found.is_lost(version)) else {
            return VersionContents::Lost;
        };
        found.refine(elements.component);
        let unit = found.unit();
        let copies = found.copies_since(&elements.positions(unit), version);
        if copies.is_empty() {
            VersionContents::Unchanged
        } else {
            VersionContents::Changed(copies, unit)
        }
    }

    /// The operation that wrote the data last; empty if none did.
    pub fn changed_by(&self) -> &'static str {
        last_writer::op_name(self.header().writes.last())
    }

    /// The call site of that operation, if it was noted.
    pub fn changed_at(&self) -> Option<&'static str> {
        last_writer::call_site(self.header().writes.last())
    }

    /// The attachment; a data handle has none.
    pub fn attachment(&self) -> Option<Attachment> {
        if self.is_data_handle() { None } else { self.header().writes.attachment() }
    }

    /// The attachment, created if there was none.
    pub fn attachment_or(&self, make: impl FnOnce() -> Attachment) -> Attachment {
        if self.is_data_handle() { make() } else { self.header().writes.attachment_or(make) }
    }

    /// A flag for the tensor layer; data handles share it.
    pub fn user_bit(&self) -> bool {
        self.header().switches.load(Ordering::Relaxed) % SWITCH_UNIT == 1
    }

    /// Sets the user bit.
    pub fn set_user_bit(&self, on: bool) {
        let switches = &self.header().switches;
        let rest = |switches: u16| switches / SWITCH_UNIT * SWITCH_UNIT;
        let set = |switches: u16| Some(rest(switches) + u16::from(on));
        let _ = switches.fetch_update(Ordering::Relaxed, Ordering::Relaxed, set);
    }

    /// Whether this is the only full handle, so that the attachment is dropped with it.
    pub fn is_only_full_handle(&self) -> bool {
        !self.is_data_handle() && self.header().count.load(Ordering::Acquire) as u32 == 1
    }

    /// Drops a handle on written data: the last full handle drops the attachment, while it still counts as a data handle.
    #[cold]
    #[inline(never)]
    pub(super) fn drop_counted(&mut self) {
        let count = &self.header().count;
        if !self.is_data_handle() && count.fetch_add(DATA_HANDLE - 1, Ordering::AcqRel) as u32 == 1
        {
            self.header().writes.forget_attachment();
        }
        if count.fetch_sub(DATA_HANDLE, Ordering::Release) != DATA_HANDLE {
            return;
        }
        fence(Ordering::Acquire);
        // SAFETY: this was the last handle.
        unsafe { free(NonNull::new_unchecked(self.base())) };
    }
}
