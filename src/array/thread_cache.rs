//! What each thread keeps for its storages: the count of their bytes, and a few freed blocks.
//!
//! Owns: one `Local` per thread, in a list that only grows, and the sum of the counts. Never locks and never shares a
//! `Local` between two running threads, so that to count costs a load and a store, and a small block as little.
//! Invariant: a `Local` is written by the thread that took it and by nobody else; a block on a list has the size of its
//! class and no owner.

use std::alloc::{Layout as Block, alloc, dealloc};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicPtr, Ordering};

/// Blocks up to this size are kept: those of a few numbers, which programs make and drop all the time.
const KEPT_UP_TO: usize = 128;
/// Blocks of a class that a thread keeps at most: those of a long graph come back together.
const MOST: u32 = 1 << 16;

/// What one thread has; handed on to a later thread, never freed.
#[repr(align(64))]
struct Local {
    bytes: AtomicIsize,
    taken: AtomicBool,
    next: *mut Local,
    /// Blocks of 64 and of 128 bytes: the first of each list, which begins with the address of the next.
    free: [Cell<*mut u8>; 2],
    kept: [Cell<u32>; 2],
}

static HEAD: AtomicPtr<Local> = AtomicPtr::new(ptr::null_mut());
/// For storages that are freed after their thread has given its count back.
static LATE: AtomicIsize = AtomicIsize::new(0);

/// Gives what a thread had back when the thread ends.
struct Lease(*const Local);

impl Drop for Lease {
    fn drop(&mut self) {
        MINE.set(ptr::null());
        // SAFETY: counters are never freed.
        unsafe { (*self.0).taken.store(false, Ordering::Release) };
    }
}

thread_local! {
    static MINE: Cell<*const Local> = const { Cell::new(ptr::null()) };
    static LEASE: Lease = Lease(take_local());
}

/// The bytes of memory that live storages own; adopted memory belongs to others and is not counted.
///
/// Exact when no other thread allocates or frees meanwhile.
pub fn live_bytes() -> usize {
    let mut sum = LATE.load(Ordering::Acquire);
    let mut at = HEAD.load(Ordering::Acquire);
    while !at.is_null() {
        // SAFETY: published counters are never freed and their `next` never changes.
        let counter = unsafe { &*at };
        sum = sum.wrapping_add(counter.bytes.load(Ordering::Acquire));
        at = counter.next;
    }
    usize::try_from(sum).unwrap_or(0)
}

/// Adds to the calling thread's counter.
#[inline(always)]
pub(super) fn add(delta: isize) {
    let mine = MINE.get();
    if mine.is_null() {
        return add_slow(delta);
    }
    // SAFETY: counters are never freed; this one is written by this thread alone.
    let bytes = unsafe { &(*mine).bytes };
    bytes.store(bytes.load(Ordering::Relaxed).wrapping_add(delta), Ordering::Release);
}

/// The class of a block of so many bytes, and its real size; larger blocks have no class.
#[inline(always)]
fn class(size: usize) -> (Option<usize>, Block) {
    let class = (size <= KEPT_UP_TO).then_some(usize::from(size > KEPT_UP_TO / 2));
    let size = class.map_or(size, |class| (KEPT_UP_TO / 2) << class);
    // SAFETY: 16 is a power of two, and sizes are those of small storages.
    (class, unsafe { Block::from_size_align_unchecked(size, 16) })
}

/// A block for a small storage of `size` bytes with its header, uninitialised; null when the system refuses.
#[inline(always)]
pub(super) fn take(size: usize) -> *mut u8 {
    let (class, block) = class(size);
    // SAFETY: a `Local` is never freed, and its lists are this thread's alone; a block on one begins with an address.
    unsafe {
        if let (Some(class), Some(local)) = (class, MINE.get().as_ref())
            && let free = local.free[class].get()
            && !free.is_null()
        {
            local.free[class].set(free.cast::<*mut u8>().read());
            local.kept[class].set(local.kept[class].get() - 1);
            return free;
        }
        alloc(block)
    }
}

/// Gives a block back.
///
/// # Safety
/// `ptr` came from `take` with the same size, and nobody uses it any more.
#[inline(always)]
pub(super) unsafe fn give(ptr: *mut u8, size: usize) {
    let (class, block) = class(size);
    // SAFETY: as in `take`; the block has room for an address.
    unsafe {
        if let (Some(class), Some(local)) = (class, MINE.get().as_ref())
            && local.kept[class].get() < MOST
        {
            ptr.cast::<*mut u8>().write(local.free[class].get());
            local.free[class].set(ptr);
            local.kept[class].set(local.kept[class].get() + 1);
        } else {
            dealloc(ptr, block);
        }
    }
}

#[cold]
#[inline(never)]
fn add_slow(delta: isize) {
    match LEASE.try_with(|lease| lease.0) {
        Ok(counter) => {
            MINE.set(counter);
            // SAFETY: counters are never freed; this thread has just taken this one.
            unsafe { (*counter).bytes.fetch_add(delta, Ordering::AcqRel) };
        }
        Err(_) => {
            LATE.fetch_add(delta, Ordering::AcqRel);
        }
    }
}

/// What no running thread uses: a returned one, or a new one.
fn take_local() -> *const Local {
    let mut at = HEAD.load(Ordering::Acquire);
    while !at.is_null() {
        // SAFETY: published counters are never freed.
        let counter = unsafe { &*at };
        let free = counter.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed);
        if free.is_ok() {
            return counter;
        }
        at = counter.next;
    }
    let new = Box::into_raw(Box::new(Local {
        bytes: AtomicIsize::new(0),
        taken: AtomicBool::new(true),
        next: ptr::null_mut(),
        free: [const { Cell::new(ptr::null_mut()) }; 2],
        kept: [const { Cell::new(0) }; 2],
    }));
    let mut head = HEAD.load(Ordering::Acquire);
    loop {
        // SAFETY: `new` is not published yet, so nobody else sees it.
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
            // SAFETY: published counters are never freed.
            at = unsafe { (*at).next };
        }
        assert!(counters < 50, "{counters} counters for threads that ran one at a time");
    }
}
