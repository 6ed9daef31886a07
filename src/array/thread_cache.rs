//! Per-thread state of storages: the count of their bytes, and free lists of small blocks.
//!
//! One `ThreadCache` per thread, in a list that only grows; no locks, so counting costs one load and one store.
//! Invariant: only the thread that claimed a `ThreadCache` writes it; a block on a free list has the size of its class and no
//! owner.

use std::alloc::{Layout as Block, alloc, dealloc};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicPtr, Ordering};

/// Blocks up to this size are cached: those of a few numbers, allocated and freed all the time.
const MAX_CACHED_BYTES: usize = 128;
/// The most blocks of a class that a thread caches: freeing a long graph returns many at once.
const MAX_CACHED_BLOCKS: u32 = 1 << 16;

/// The state of one thread; reused by a later thread, never freed.
#[repr(align(64))]
struct ThreadCache {
    bytes: AtomicIsize,
    taken: AtomicBool,
    next: *mut ThreadCache,
    /// Free lists of 64- and 128-byte blocks; each block begins with the address of the next.
    free: [Cell<*mut u8>; 2],
    cached: [Cell<u32>; 2],
}

static HEAD: AtomicPtr<ThreadCache> = AtomicPtr::new(ptr::null_mut());
/// For storages that are freed after their thread's destructor ran.
static DETACHED_BYTES: AtomicIsize = AtomicIsize::new(0);

/// Releases a thread's `ThreadCache` when the thread ends.
struct Lease(*const ThreadCache);

impl Drop for Lease {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
        // SAFETY: a `ThreadCache` is never freed.
        unsafe { (*self.0).taken.store(false, Ordering::Release) };
    }
}

thread_local! {
    static CURRENT: Cell<*const ThreadCache> = const { Cell::new(ptr::null()) };
    static LEASE: Lease = Lease(claim());
}

/// The bytes of live storages; adopted memory of other libraries is not counted.
///
/// Exact if no other thread allocates or frees meanwhile.
pub fn live_bytes() -> usize {
    let mut sum = DETACHED_BYTES.load(Ordering::Acquire);
    let mut at = HEAD.load(Ordering::Acquire);
    while !at.is_null() {
        // SAFETY: a published `ThreadCache` is never freed and its `next` never changes.
        let cache = unsafe { &*at };
        sum = sum.wrapping_add(cache.bytes.load(Ordering::Acquire));
        at = cache.next;
    }
    usize::try_from(sum).unwrap_or(0)
}

/// Adds to the calling thread's byte count.
#[inline(always)]
pub(super) fn add(delta: isize) {
    let cache = CURRENT.get();
    if cache.is_null() {
        return add_slow(delta);
    }
    // SAFETY: a `ThreadCache` is never freed; only this thread writes this one.
    let bytes = unsafe { &(*cache).bytes };
    bytes.store(bytes.load(Ordering::Relaxed).wrapping_add(delta), Ordering::Release);
}

/// The class of a block of `size` bytes, and its real size; larger blocks have no class.
#[inline(always)]
fn class(size: usize) -> (Option<usize>, Block) {
    let class = (size <= MAX_CACHED_BYTES).then_some(usize::from(size > MAX_CACHED_BYTES / 2));
    let size = class.map_or(size, |class| (MAX_CACHED_BYTES / 2) << class);
    // SAFETY: 16 is a power of two, and the sizes are those of small storages.
    (class, unsafe { Block::from_size_align_unchecked(size, 16) })
}

/// A block of `size` bytes for a small storage with its header, uninitialised; null when out of memory.
#[inline(always)]
pub(super) fn take(size: usize) -> *mut u8 {
    let (class, block) = class(size);
    // SAFETY: a `ThreadCache` is never freed, and only this thread uses its lists; a block on a list begins with an address.
    unsafe {
        if let (Some(class), Some(cache)) = (class, CURRENT.get().as_ref())
            && let free = cache.free[class].get()
            && !free.is_null()
        {
            cache.free[class].set(free.cast::<*mut u8>().read());
            cache.cached[class].set(cache.cached[class].get() - 1);
            return free;
        }
        alloc(block)
    }
}

/// Frees a block into the thread's cache, or to the system.
///
/// # Safety
/// `ptr` came from `take` with the same size and is not used any more.
#[inline(always)]
pub(super) unsafe fn give(ptr: *mut u8, size: usize) {
    let (class, block) = class(size);
    // SAFETY: as in `take`; the block has room for an address.
    unsafe {
        if let (Some(class), Some(cache)) = (class, CURRENT.get().as_ref())
            && cache.cached[class].get() < MAX_CACHED_BLOCKS
        {
            ptr.cast::<*mut u8>().write(cache.free[class].get());
            cache.free[class].set(ptr);
            cache.cached[class].set(cache.cached[class].get() + 1);
        } else {
            dealloc(ptr, block);
        }
    }
}

#[cold]
#[inline(never)]
fn add_slow(delta: isize) {
    match LEASE.try_with(|lease| lease.0) {
        Ok(cache) => {
            CURRENT.set(cache);
            // SAFETY: a `ThreadCache` is never freed; this thread has just claimed this one.
            unsafe { (*cache).bytes.fetch_add(delta, Ordering::AcqRel) };
        }
        Err(_) => {
            DETACHED_BYTES.fetch_add(delta, Ordering::AcqRel);
        }
    }
}

/// Claims a `ThreadCache` that no running thread uses, or adds one.
fn claim() -> *const ThreadCache {
    let mut at = HEAD.load(Ordering::Acquire);
    while !at.is_null() {
        // SAFETY: a published `ThreadCache` is never freed.
        let cache = unsafe { &*at };
        let free = cache.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed);
        if free.is_ok() {
            return cache;
        }
        at = cache.next;
    }
    let new = Box::into_raw(Box::new(ThreadCache {
        bytes: AtomicIsize::new(0),
        taken: AtomicBool::new(true),
        next: ptr::null_mut(),
        free: [const { Cell::new(ptr::null_mut()) }; 2],
        cached: [const { Cell::new(0) }; 2],
    }));
    let mut head = HEAD.load(Ordering::Acquire);
    loop {
        // SAFETY: `new` is not published yet, so no other thread sees it.
        unsafe { (*new).next = head };
        match HEAD.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return new,
            Err(now) => head = now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_handed_on() {
        for _ in 0..50 {
            std::thread::spawn(|| {
                add(8);
                add(-8);
            })
            .join()
            .unwrap();
        }
        let mut counters = 0;
        let mut at = HEAD.load(Ordering::Acquire);
        while !at.is_null() {
            counters += 1;
            // SAFETY: a published `ThreadCache` is never freed.
            at = unsafe { (*at).next };
        }
        assert!(counters < 50, "{counters} counters for threads that ran one at a time");
    }
}
