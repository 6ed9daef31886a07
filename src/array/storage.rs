//! Reference-counted buffers: header and data in one allocation, or adopted memory with its owner.
//!
//! The header has the counts, the version, the counts of writable exports and views, and the write log.
//! Invariant: `ptr` is valid for `nbytes` bytes while a handle lives, aligned to 64 bytes from 1 KiB on and to 16 below
//! (adopted memory: as its owner aligned it). A full handle shares data, version and attachment; a data handle shares data
//! and version. The attachment is dropped with the last full handle, so it may own data handles without a cycle.

use std::alloc::{Layout as Block, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::access::AccessCounts;
use super::write_log::WriteLog;
use super::{observer, pool, thread_cache};
use crate::error::{Error, Result};
use crate::threads::{alone, fetch_add_alone};

/// Who may write to adopted memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The engine and the memory's owner.
    Shared,
    /// Only the owner.
    Foreign,
    /// Only the engine.
    Exclusive,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Header and data in one block of the system allocator or the thread cache.
    Block,
    /// Header and data in one block of the pool.
    Pooled,
    /// The data belongs to `Adopted::owner`.
    Adopted(Access),
}

impl Kind {
    /// Whether the data is adopted memory.
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
    /// Data handles in the upper half, full handles in the lower half.
    pub(super) count: AtomicU64,
    ptr: *mut u8,
    nbytes: usize,
    pub(super) writes: WriteLog,
    pub(super) version: AtomicU32,
    /// Live writable exports in the low bits, live views in units of `VIEW_UNIT`.
    pub(super) export_counts: AtomicU32,
    /// Saved values that no write record counts.
    pub(super) saved_count: AtomicU32,
    pub(super) kind: Kind,
    pub(super) access: AccessCounts,
    /// How often a tensor over this memory began or ceased to require a gradient, in units of `SWITCH_UNIT`; the lowest bit is
    /// the user bit.
    pub(super) switches: AtomicU16,
}

#[repr(C)]
struct Adopted {
    header: Header,
    /// Bytes that count as live memory: those of an adopted vector, none of another library's memory.
    counted: usize,
    owner: Box<dyn Owner>,
}

/// Keeps adopted memory alive.
pub trait Owner: Send + Sync {
    /// Whether, as far as is known, only this owner can reach the memory.
    fn is_sole_owner(&self) -> bool {
        false
    }
}

impl<T: Send + Sync> Owner for Vec<T> {}

const HEADER_BYTES: usize = size_of::<Header>();
const _: () = assert!(HEADER_BYTES == 48);
/// The unit of views in `Header::export_counts`. With so many exports, the count stays saturated.
pub(super) const VIEW_UNIT: u32 = 1 << 20;
const MAX_EXPORTS: u32 = VIEW_UNIT - 1;
/// The unit of `Header::switches`.
pub(super) const SWITCH_UNIT: u16 = 2;
const DATA_ALIGN: usize = 64;
/// Data of this size or more is aligned to `DATA_ALIGN` bytes.
const ALIGNED_FROM: usize = 1 << 10;
const MAX_BYTES: usize = isize::MAX as usize / 2;
/// The unit of data handles in `Header::count`.
pub(super) const DATA_HANDLE: u64 = 1 << 32;
/// Larger counts mean leaked handles; a wrapping count would be unsound.
const OVERFLOW_BITS: u64 = DATA_HANDLE << 31 | 1 << 31;

/// A reference-counted buffer of bytes; `clone` shares it. The lowest bit of the pointer marks a data handle.
pub struct Storage(NonNull<Header>);

// SAFETY: the header's mutable fields are atomics; the data is plain bytes behind a raw pointer, whose users prevent
// races; owners of adopted memory are Send + Sync.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl Storage {
    /// An uninitialised buffer of `nbytes` bytes.
    #[inline]
    pub fn alloc(nbytes: usize) -> Result<Storage> {
        if nbytes >= ALIGNED_FROM {
            return Storage::alloc_aligned(nbytes);
        }
        let base = thread_cache::take(HEADER_BYTES + nbytes);
        // SAFETY: the block has room for the header and, behind it, the data.
        unsafe { Storage::init(base, HEADER_BYTES, nbytes, Kind::Block) }
    }

    /// A buffer of `nbytes` zero bytes.
    pub fn zeroed(nbytes: usize) -> Result<Storage> {
        let storage = Storage::alloc(nbytes)?;
        // SAFETY: the storage is new and `nbytes` long.
        unsafe { storage.ptr().write_bytes(0, nbytes) };
        Ok(storage)
    }

    #[inline(never)]
    fn alloc_aligned(nbytes: usize) -> Result<Storage> {
        if nbytes > MAX_BYTES {
            return Err(out_of_memory(nbytes));
        }
        if nbytes >= pool::POOLED_FROM {
            let base = pool::take(nbytes + DATA_ALIGN);
            // SAFETY: a pool block is page-aligned and holds the header and, at offset 64, the data.
            return unsafe { Storage::init(base, DATA_ALIGN, nbytes, Kind::Pooled) };
        }
        // SAFETY: the size is not zero.
        let base = unsafe { alloc(aligned_block(nbytes)) };
        let offset = (base.addr() + HEADER_BYTES).next_multiple_of(DATA_ALIGN) - base.addr();
        // SAFETY: `aligned_block` leaves room for the header and the alignment.
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
        if observer::is_active() {
            observer::note_allocated(&storage);
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

    /// Adopts a vector without a copy; no other code can write to it.
    pub(super) fn from_vec<T: Send + Sync + 'static>(mut data: Vec<T>) -> Storage {
        let nbytes = data.len() * size_of::<T>();
        let header =
            Header::new(data.as_mut_ptr().cast(), nbytes, Kind::Adopted(Access::Exclusive));
        thread_cache::add(nbytes as isize);
        let storage = Storage::boxed(Adopted { header, counted: nbytes, owner: Box::new(data) });
        observer::note_filled(&storage);
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

    /// What this handle adds to the count.
    #[inline(always)]
    pub(super) fn count_unit(&self) -> u64 {
        1 << ((self.0.addr().get() as u64 & 1) << 5)
    }

    /// Whether this is a data handle, which does not share the attachment.
    #[inline(always)]
    pub fn is_data_handle(&self) -> bool {
        self.count_unit() == DATA_HANDLE
    }

    /// A new data handle.
    #[inline(always)]
    pub fn data_handle(&self) -> Storage {
        self.count_up(DATA_HANDLE);
        Storage(self.0.map_addr(|address| address | 1))
    }

    /// A new full handle; for memory without an attachment.
    pub fn full_handle(&self) -> Storage {
        self.count_up(1);
        Storage(NonNull::new(self.base()).unwrap_or(self.0))
    }

    #[inline(always)]
    fn count_up(&self, unit: u64) {
        // SeqCst with the exports: a thread that saves data and a thread that exports them cannot both miss each other.
        let before = fetch_add_alone(&self.header().count, unit, Ordering::SeqCst);
        if before & OVERFLOW_BITS != 0 {
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
        self.header().count.load(Ordering::Acquire) == self.count_unit()
    }

    /// Whether this is the only handle of memory that only the engine can reach, so that it may be overwritten.
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

    /// Whether the engine may write to the data.
    #[inline(always)]
    pub fn is_writable(&self) -> bool {
        self.header().kind != Kind::Adopted(Access::Foreign)
    }

    /// Whether code outside the engine can write to the data.
    #[inline(always)]
    pub fn has_external_writer(&self) -> bool {
        let header = self.header();
        header.kind.has_foreign_writer() || header.is_exported()
    }

    /// Whether the memory belongs to an array of another library.
    pub fn is_external_memory(&self) -> bool {
        self.header().kind.has_foreign_writer()
    }

    /// Whether only the engine can reach adopted memory any more.
    pub fn is_externally_unreachable(&self) -> bool {
        if !self.header().kind.is_adopted() {
            return false;
        }
        // SAFETY: the header of adopted memory is the first field of an `Adopted`, which this handle keeps alive.
        unsafe { self.base().cast::<Adopted>().as_ref() }.is_some_and(|it| it.owner.is_sole_owner())
    }

    /// Counts a writable export; `release_export` undoes it.
    pub fn export_writable(&self) {
        self.header().export();
    }

    /// Ends one writable export.
    pub fn release_export(&self) {
        let fewer = |n: u32| (!matches!(n % VIEW_UNIT, 0 | MAX_EXPORTS)).then(|| n - 1);
        let _ =
            self.header().export_counts.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer);
    }
}

impl Header {
    /// Whether a writable export exists.
    #[inline(always)]
    pub(super) fn is_exported(&self) -> bool {
        !self.export_counts.load(Ordering::SeqCst).is_multiple_of(VIEW_UNIT)
    }

    /// Counts an export; returns how many there were before.
    pub(super) fn export(&self) -> u32 {
        let more = |n: u32| (n % VIEW_UNIT != MAX_EXPORTS).then(|| n + 1);
        let before = self.export_counts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        before.unwrap_or_else(|full| full) % VIEW_UNIT
    }

    #[inline(always)]
    fn new(ptr: *mut u8, nbytes: usize, kind: Kind) -> Header {
        Header {
            count: AtomicU64::new(1),
            ptr,
            nbytes,
            writes: WriteLog::none(),
            version: AtomicU32::new(0),
            export_counts: AtomicU32::new(0),
            saved_count: AtomicU32::new(0),
            kind,
            access: AccessCounts::default(),
            switches: AtomicU16::new(0),
        }
    }
}

impl Clone for Storage {
    #[inline(always)]
    fn clone(&self) -> Storage {
        self.count_up(self.count_unit());
        Storage(self.0)
    }
}

impl Drop for Storage {
    #[inline(always)]
    fn drop(&mut self) {
        let (header, unit) = (self.header(), self.count_unit());
        let mut count = header.count.load(Ordering::Acquire);
        // The only handle cannot be cloned while it is dropped, so the count needs no decrement.
        while count != unit {
            // Another thread may store the first attachment now. If its handle lives at the exchange below, that handle will drop
            // it; if not, the count differs, and the next round sees the attachment.
            if !header.writes.is_empty() {
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
/// The storage is not used any more.
#[inline(always)]
pub(super) unsafe fn free(header: NonNull<Header>) {
    // SAFETY: the header is alive until the deallocation below.
    let (nbytes, kind, written) = unsafe {
        let header = header.as_ref();
        (header.nbytes, header.kind, !header.writes.is_empty())
    };
    if written {
        // SAFETY: the field is not used again, except that dropping an `Adopted` drops it once more, empty.
        unsafe { (*header.as_ptr()).writes = WriteLog::none() };
    }
    if kind == Kind::Block && nbytes < ALIGNED_FROM {
        thread_cache::add(-(nbytes as isize));
        // SAFETY: `alloc` took the same size.
        unsafe { thread_cache::give(header.as_ptr().cast(), HEADER_BYTES + nbytes) };
    } else {
        // SAFETY: the caller's contract.
        unsafe { free_other(header, nbytes, kind) };
    }
}

/// # Safety
/// The storage is not used any more, and is not a small block.
#[inline(never)]
unsafe fn free_other(header: NonNull<Header>, nbytes: usize, kind: Kind) {
    match kind {
        Kind::Block => {
            thread_cache::add(-(nbytes as isize));
            // SAFETY: `alloc_aligned` used the same layout.
            unsafe { dealloc(header.as_ptr().cast(), aligned_block(nbytes)) };
        }
        Kind::Pooled => {
            thread_cache::add(-(nbytes as isize));
            // SAFETY: `alloc_aligned` took the block with the same size.
            unsafe { pool::give(header.as_ptr().cast(), nbytes + DATA_ALIGN) };
        }
        Kind::Adopted(_) => {
            // SAFETY: `boxed` leaked this box.
            let adopted = unsafe { Box::from_raw(header.cast::<Adopted>().as_ptr()) };
            thread_cache::add(-(adopted.counted as isize));
        }
    }
}

#[inline(always)]
fn aligned_block(nbytes: usize) -> Block {
    // SAFETY: `nbytes` is at most `MAX_BYTES`, so nothing overflows; 16 is a power of two.
    unsafe { Block::from_size_align_unchecked(HEADER_BYTES + DATA_ALIGN + nbytes, 16) }
}

#[cold]
#[inline(never)]
fn out_of_memory(bytes: usize) -> Box<Error> {
    Box::new(Error::Memory { bytes })
}
