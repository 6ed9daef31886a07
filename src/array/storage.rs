//! Counted buffers: one heap allocation holds the header and the data.
//!
//! Owns: the reference counts, the version counter, the counts of live writable exports and of views, the attachment
//! that the layers above keep, and the memory (or the owner of adopted memory). Never knows dtypes or shapes, never
//! reads the data.
//! Invariant: `ptr` is valid for `nbytes` bytes as long as one handle lives, aligned to 64 bytes
//! from 1 KiB and to 16 below (adopted memory: as its owner aligned it). A full handle shares data, version and
//! attachment, a data handle all but the attachment, which goes with the last full handle: so an attachment may lead to
//! data handles without a cycle.

use std::alloc::{Layout as Block, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::access::Busy;
use super::write_log::Changes;
use super::{capture, pool, thread_cache};
use crate::error::{Error, Result};
use crate::threads::{add_alone, alone};

/// Who may write to adopted memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// We and its owner.
    Shared,
    /// Its owner only.
    Foreign,
    /// We alone.
    Ours,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Header and data in one block of the allocator.
    Block,
    /// Header and data in one block of the pool.
    Pooled,
    /// The data belongs to `Adopted::owner`.
    Adopted(Access),
}

impl Kind {
    /// Whether the data belongs to somebody else.
    #[inline(always)]
    pub(super) fn is_adopted(self) -> bool {
        matches!(self, Kind::Adopted(_))
    }

    /// Whether the owner of adopted memory may write to it.
    #[inline(always)]
    pub(super) fn has_foreign_writer(self) -> bool {
        matches!(self, Kind::Adopted(Access::Shared | Access::Foreign))
    }
}

#[repr(C, align(16))]
pub(super) struct Header {
    /// Data handles in the upper half, full handles in the lower.
    pub(super) count: AtomicU64,
    ptr: *mut u8,
    nbytes: usize,
    pub(super) changes: Changes,
    pub(super) version: AtomicU32,
    /// Writable exports that live, and from `VIEW` on views.
    pub(super) lent: AtomicU32,
    /// Saved values that no record counts.
    pub(super) saved: AtomicU32,
    pub(super) kind: Kind,
    pub(super) busy: Busy,
    /// How often a tensor over this memory began or ceased to require a gradient, from `SWITCH` on; below, a bit for the layers
    /// above.
    pub(super) switches: AtomicU16,
}

#[repr(C)]
struct Adopted {
    header: Header,
    /// Bytes counted as ours: a vector we were given, not memory of another library.
    counted: usize,
    owner: Box<dyn Owner>,
}

/// What keeps adopted memory alive.
pub trait Owner: Send + Sync {
    /// Whether nobody beside this owner can reach the memory, as far as it knows.
    fn is_alone(&self) -> bool {
        false
    }
}

impl<T: Send + Sync> Owner for Vec<T> {}

const HEADER: usize = size_of::<Header>();
const _: () = assert!(HEADER == 48);
/// What a view counts in `Header::lent`. So many exports and more are never seen to end.
pub(super) const VIEW: u32 = 1 << 20;
const ENDLESS: u32 = VIEW - 1;
/// What a change counts in `Header::switches`.
pub(super) const SWITCH: u16 = 2;
const WIDE: usize = 64;
/// From this size on, the data is aligned to `WIDE` bytes.
const WIDE_FROM: usize = 1 << 10;
const MAX_BYTES: usize = isize::MAX as usize / 2;
/// What a data handle counts.
pub(super) const DATA_HANDLE: u64 = 1 << 32;
/// Counts above these mean handles forgotten in a loop; wrapping would be unsound.
const OVERFLOW: u64 = DATA_HANDLE << 31 | 1 << 31;

/// A counted buffer of raw bytes; `clone` shares it. The lowest bit of the address marks a data handle.
pub struct Storage(NonNull<Header>);

// SAFETY: the header's mutable fields are atomics; the data is plain bytes behind a raw pointer, and
// whoever dereferences that pointer answers for races; owners of adopted memory are Send + Sync.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl Storage {
    /// A buffer of `nbytes` uninitialised bytes.
    #[inline]
    pub fn alloc(nbytes: usize) -> Result<Storage> {
        if nbytes >= WIDE_FROM {
            return Storage::alloc_wide(nbytes);
        }
        let base = thread_cache::take(HEADER + nbytes);
        // SAFETY: the header fits at the base and the data behind it.
        unsafe { Storage::init(base, HEADER, nbytes, Kind::Block) }
    }

    /// A buffer of `nbytes` zero bytes.
    pub fn zeroed(nbytes: usize) -> Result<Storage> {
        let storage = Storage::alloc(nbytes)?;
        // SAFETY: a new storage is exclusively ours and `nbytes` long.
        unsafe { storage.ptr().write_bytes(0, nbytes) };
        Ok(storage)
    }

    #[inline(never)]
    fn alloc_wide(nbytes: usize) -> Result<Storage> {
        if nbytes > MAX_BYTES {
            return Err(out_of_memory(nbytes));
        }
        if nbytes >= pool::POOLED_FROM {
            let base = pool::take(nbytes + WIDE);
            // SAFETY: a pool block is page-aligned and holds the header and, 64 bytes on, the data.
            return unsafe { Storage::init(base, WIDE, nbytes, Kind::Pooled) };
        }
        // SAFETY: the size is not zero.
        let base = unsafe { alloc(wide_block(nbytes)) };
        let offset = (base.addr() + HEADER).next_multiple_of(WIDE) - base.addr();
        // SAFETY: `wide_block` leaves room for the header and the alignment.
        unsafe { Storage::init(base, offset, nbytes, Kind::Block) }
    }

    /// # Safety
    /// `base` is null or an unused block with the header at 0 and `nbytes` from `offset` on.
    #[inline(always)]
    unsafe fn init(base: *mut u8, offset: usize, nbytes: usize, kind: Kind) -> Result<Storage> {
        let Some(header) = NonNull::new(base.cast::<Header>()) else {
            return Err(out_of_memory(nbytes));
        };
        // SAFETY: the caller's contract.
        unsafe { header.write(Header::new(base.add(offset), nbytes, kind)) };
        thread_cache::add(nbytes as isize);
        let storage = Storage(header);
        if capture::active() {
            capture::register_allocated(&storage);
        }
        Ok(storage)
    }

    /// Wraps memory that `owner` keeps alive.
    ///
    /// # Safety
    /// `ptr` is valid for reads of `nbytes` bytes (and for writes, if `access` says that we write)
    /// until `owner` is dropped, and every byte is initialised.
    pub unsafe fn adopt(
        ptr: *mut u8,
        nbytes: usize,
        access: Access,
        owner: Box<dyn Owner>,
    ) -> Storage {
        let header = Header::new(ptr, nbytes, Kind::Adopted(access));
        Storage::boxed(Adopted { header, counted: 0, owner })
    }

    /// Takes a vector over without copying it; nobody else can write to it.
    pub(super) fn from_vec<T: Send + Sync + 'static>(mut data: Vec<T>) -> Storage {
        let nbytes = data.len() * size_of::<T>();
        let header = Header::new(data.as_mut_ptr().cast(), nbytes, Kind::Adopted(Access::Ours));
        thread_cache::add(nbytes as isize);
        let storage = Storage::boxed(Adopted { header, counted: nbytes, owner: Box::new(data) });
        capture::register_filled(&storage);
        storage
    }

    fn boxed(adopted: Adopted) -> Storage {
        Storage(NonNull::from(Box::leak(Box::new(adopted))).cast())
    }

    #[inline(always)]
    pub(super) fn base(&self) -> *mut Header {
        self.0.as_ptr().map_addr(|address| address & !1)
    }

    #[inline(always)]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: the header lives as long as a handle does.
        unsafe { &*self.base() }
    }

    /// What this handle counts.
    #[inline(always)]
    pub(super) fn unit(&self) -> u64 {
        1 << ((self.0.addr().get() as u64 & 1) << 5)
    }

    /// Whether this handle shares the data but not the attachment.
    #[inline(always)]
    pub fn is_data_handle(&self) -> bool {
        self.unit() == DATA_HANDLE
    }

    /// A handle that shares the data but not the attachment.
    #[inline(always)]
    pub fn data_handle(&self) -> Storage {
        self.count_up(DATA_HANDLE);
        Storage(self.0.map_addr(|address| address | 1))
    }

    /// A handle that shares the attachment as well; for memory that has none.
    pub fn full_handle(&self) -> Storage {
        self.count_up(1);
        Storage(NonNull::new(self.base()).unwrap_or(self.0))
    }

    #[inline(always)]
    fn count_up(&self, unit: u64) {
        // In one order with the exports: whoever keeps data and whoever lends them see each other, or one the other.
        let before = add_alone(&self.header().count, unit, Ordering::SeqCst);
        if before & OVERFLOW != 0 {
            std::process::abort();
        }
    }

    /// The first byte of the data.
    #[inline(always)]
    pub fn ptr(&self) -> *mut u8 {
        self.header().ptr
    }

    /// The length of the data in bytes.
    #[inline(always)]
    pub fn nbytes(&self) -> usize {
        self.header().nbytes
    }

    /// How often the data was changed in place.
    #[inline(always)]
    pub fn version(&self) -> u32 {
        self.header().version.load(Ordering::Acquire)
    }

    /// Whether this handle is the only one.
    #[inline(always)]
    pub fn is_unique(&self) -> bool {
        self.header().count.load(Ordering::Acquire) == self.unit()
    }

    /// Whether this handle is the only one and the memory is ours alone, so that it may be written
    /// anew without anybody noticing.
    #[inline(always)]
    pub fn is_reusable(&self) -> bool {
        let header = self.header();
        self.is_unique() && !header.kind.is_adopted() && !header.is_exported()
    }

    /// Whether two handles share one buffer.
    #[inline(always)]
    pub fn same(&self, other: &Storage) -> bool {
        self.base() == other.base()
    }

    /// Whether we may write to the data at all.
    #[inline(always)]
    pub fn is_writable(&self) -> bool {
        self.header().kind != Kind::Adopted(Access::Foreign)
    }

    /// Whether somebody outside the engine can write to the data.
    #[inline(always)]
    pub fn may_be_written_elsewhere(&self) -> bool {
        let header = self.header();
        header.kind.has_foreign_writer() || header.is_exported()
    }

    /// Whether the memory is that of an array of another library.
    pub fn is_lent(&self) -> bool {
        self.header().kind.has_foreign_writer()
    }

    /// Whether nobody outside the engine can reach adopted memory.
    pub fn is_abandoned(&self) -> bool {
        if !self.header().kind.is_adopted() {
            return false;
        }
        // SAFETY: the header of adopted memory stands first in an `Adopted`, which this handle keeps.
        unsafe { self.base().cast::<Adopted>().as_ref() }.is_some_and(|it| it.owner.is_alone())
    }

    /// Counts an export through which others can write; `release_export` ends it.
    pub fn export_writable(&self) {
        self.header().export();
    }

    /// Ends one writable export.
    pub fn release_export(&self) {
        let fewer = |n: u32| (!matches!(n % VIEW, 0 | ENDLESS)).then(|| n - 1);
        let _ = self.header().lent.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer);
    }
}

impl Header {
    /// Whether somebody outside the engine can write to the data through an export.
    #[inline(always)]
    pub(super) fn is_exported(&self) -> bool {
        !self.lent.load(Ordering::SeqCst).is_multiple_of(VIEW)
    }

    /// Counts an export; returns how many there were.
    pub(super) fn export(&self) -> u32 {
        let more = |n: u32| (n % VIEW != ENDLESS).then(|| n + 1);
        let before = self.lent.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        before.unwrap_or_else(|full| full) % VIEW
    }

    #[inline(always)]
    fn new(ptr: *mut u8, nbytes: usize, kind: Kind) -> Header {
        Header {
            count: AtomicU64::new(1),
            ptr,
            nbytes,
            changes: Changes::none(),
            version: AtomicU32::new(0),
            lent: AtomicU32::new(0),
            saved: AtomicU32::new(0),
            kind,
            busy: Busy::default(),
            switches: AtomicU16::new(0),
        }
    }
}

impl Clone for Storage {
    #[inline(always)]
    fn clone(&self) -> Storage {
        self.count_up(self.unit());
        Storage(self.0)
    }
}

impl Drop for Storage {
    #[inline(always)]
    fn drop(&mut self) {
        let (header, unit) = (self.header(), self.unit());
        let mut count = header.count.load(Ordering::Acquire);
        // The only handle cannot be cloned while it is being dropped, so it needs no decrement.
        while count != unit {
            // Another thread may write the first attachment now. If its handle has not gone by the time of the exchange,
            // it will see to it; if it has, the count differs, and the next round sees the attachment.
            if !header.changes.is_empty() {
                return self.drop_counted();
            }
            let less = count - unit;
            if alone() {
                return header.count.store(less, Ordering::Relaxed);
            }
            match header.count.compare_exchange_weak(
                count,
                less,
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => return,
                Err(now) => count = now,
            }
        }
        // SAFETY: this was the last handle.
        unsafe { free(NonNull::new_unchecked(self.base())) };
    }
}

/// # Safety
/// Nobody uses the storage any more.
#[inline(always)]
pub(super) unsafe fn free(header: NonNull<Header>) {
    // SAFETY: the header is alive until the deallocation below.
    let (nbytes, kind, changed) = unsafe {
        let header = header.as_ref();
        (header.nbytes, header.kind, !header.changes.is_empty())
    };
    if changed {
        // SAFETY: the field is not used again; adopted memory drops it a second time, empty.
        unsafe { (*header.as_ptr()).changes = Changes::none() };
    }
    if kind == Kind::Block && nbytes < WIDE_FROM {
        thread_cache::add(-(nbytes as isize));
        // SAFETY: `alloc` took the same size.
        unsafe { thread_cache::give(header.as_ptr().cast(), HEADER + nbytes) };
    } else {
        // SAFETY: the caller's contract.
        unsafe { free_other(header, nbytes, kind) };
    }
}

/// # Safety
/// Nobody uses the storage any more, and it is not a small block.
#[inline(never)]
unsafe fn free_other(header: NonNull<Header>, nbytes: usize, kind: Kind) {
    match kind {
        Kind::Block => {
            thread_cache::add(-(nbytes as isize));
            // SAFETY: `alloc_wide` used the same layout.
            unsafe { dealloc(header.as_ptr().cast(), wide_block(nbytes)) };
        }
        Kind::Pooled => {
            thread_cache::add(-(nbytes as isize));
            // SAFETY: `alloc_wide` took the block with the same size.
            unsafe { pool::give(header.as_ptr().cast(), nbytes + WIDE) };
        }
        Kind::Adopted(_) => {
            // SAFETY: `boxed` leaked this box.
            let adopted = unsafe { Box::from_raw(header.cast::<Adopted>().as_ptr()) };
            thread_cache::add(-(adopted.counted as isize));
        }
    }
}

#[inline(always)]
fn wide_block(nbytes: usize) -> Block {
    // SAFETY: `nbytes` is at most `MAX_BYTES`, so nothing overflows; 16 is a power of two.
    unsafe { Block::from_size_align_unchecked(HEADER + WIDE + nbytes, 16) }
}

#[cold]
#[inline(never)]
fn out_of_memory(bytes: usize) -> Box<Error> {
    Box::new(Error::Memory { bytes })
}
