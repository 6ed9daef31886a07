//! Exact accounting of the bytes that storages own.
//!
//! Owns: one counter per thread, in a list that only grows, and their sum. Never locks and never
//! shares a counter between two running threads, so counting costs a load and a store.
//! Invariant: a counter is written by the thread that took it and by nobody else.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicPtr, Ordering};

/// A counter of one thread; handed on to a later thread, never freed.
#[repr(align(64))]
struct Counter {
    bytes: AtomicIsize,
    taken: AtomicBool,
    next: *mut Counter,
}

static HEAD: AtomicPtr<Counter> = AtomicPtr::new(ptr::null_mut());
/// For storages that are freed after their thread has given its counter back.
static LATE: AtomicIsize = AtomicIsize::new(0);

/// Gives the counter of a thread back when the thread ends.
struct Lease(*const Counter);

impl Drop for Lease {
    fn drop(&mut self) {
        MINE.set(ptr::null());
        // SAFETY: counters are never freed.
        unsafe { (*self.0).taken.store(false, Ordering::Release) };
    }
}

thread_local! {
    static MINE: Cell<*const Counter> = const { Cell::new(ptr::null()) };
    static LEASE: Lease = Lease(take_counter());
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

/// A counter that no running thread uses: a returned one, or a new one.
fn take_counter() -> *const Counter {
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
    let new = Box::into_raw(Box::new(Counter {
        bytes: AtomicIsize::new(0),
        taken: AtomicBool::new(true),
        next: ptr::null_mut(),
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
