//! Room for the slots of a chain: on the stack where they are small, else memory that the thread keeps.
//!
//! Owns: the room. Never says what lies where. Invariant: a room has one user at a time, and begins with a cache line.

use std::cell::Cell;
use std::mem::MaybeUninit;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line {
    _bytes: [u8; 64],
}

/// Lines on the stack: 12 slots of 256 elements, and a line for each.
const NEAR: usize = 12 * (256 * 8 / size_of::<Line>() + 1);

thread_local! {
    static FAR: Cell<Vec<MaybeUninit<Line>>> = const { Cell::new(Vec::new()) };
}

/// Calls `body` with room for so many lines, whose contents are anything.
pub(super) fn with_room(lines: usize, body: impl FnOnce(*mut Line)) {
    if lines <= NEAR {
        let mut near = [MaybeUninit::<Line>::uninit(); NEAR];
        return body(near.as_mut_ptr().cast());
    }
    let mut far = FAR.take();
    far.clear();
    far.reserve(lines);
    body(far.as_mut_ptr().cast());
    FAR.set(far);
}
