//! Scratch memory for the slots of a chain: on the stack if small, else a buffer that the thread keeps.
//!
//! Invariant: the memory has one user at a time and starts at a cache line.

use std::cell::Cell;
use std::mem::MaybeUninit;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct CacheLine {
    _bytes: [u8; 64],
}

/// Cache lines on the stack: 12 slots of 256 elements, and one more line for each.
const STACK_LINES: usize = 12 * (256 * 8 / size_of::<CacheLine>() + 1);

thread_local! {
    static HEAP_LINES: Cell<Vec<MaybeUninit<CacheLine>>> = const { Cell::new(Vec::new()) };
}

/// Calls `body` with so many cache lines of uninitialised memory.
pub(super) fn with_scratch(lines: usize, body: impl FnOnce(*mut CacheLine)) {
    if lines <= STACK_LINES {
        let mut stack = [MaybeUninit::<CacheLine>::uninit(); STACK_LINES];
        return body(stack.as_mut_ptr().cast());
    }
    let mut heap = HEAP_LINES.take();
    heap.clear();
    heap.reserve(lines);
    body(heap.as_mut_ptr().cast());
    HEAP_LINES.set(heap);
}
