//! Working memory of a thread, which it keeps between the kernels that ask for it.
//!
//! Owns: `Room`, and its parts. Never frees what is small enough to be asked for again: fresh pages of the system cost
//! more than many a kernel. Invariant: the parts of a room are disjoint, and every bit pattern is one of their elements.

use std::cell::Cell;

use crate::dtype::{Complex64, Complex128};

/// What any bits are one of.
///
/// # Safety
/// Every bit pattern is a value.
pub(super) unsafe trait Bits: Copy {}
// SAFETY: any bits are a float, or two.
unsafe impl Bits for f64 {}
// SAFETY: as above.
unsafe impl Bits for f32 {}
// SAFETY: as above.
unsafe impl Bits for Complex128 {}
// SAFETY: as above.
unsafe impl Bits for Complex64 {}

/// The alignment of the parts of a room: a cache line.
const LINE: usize = 64;

/// The most bytes that a thread keeps.
const KEPT: usize = 4 << 20;

thread_local! {
    static SPARE: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// Working memory of one thread, initialised with any bits.
pub(super) struct Room(Vec<u64>);

impl Room {
    /// Room for parts of so many bytes together, the thread's own if that is free and large enough.
    pub(super) fn new(bytes: usize) -> Room {
        let need = (bytes + LINE).div_ceil(size_of::<u64>());
        let spare = SPARE.take();
        // New zeros come from the system and cost nothing where they are not touched.
        Room(if spare.len() < need { vec![0; need] } else { spare })
    }

    pub(super) fn parts(&mut self) -> Parts<'_> {
        // SAFETY: any bits are a byte.
        let (_, bytes, _) = unsafe { self.0.align_to_mut::<u8>() };
        let start = bytes.as_ptr().align_offset(LINE).min(bytes.len());
        Parts(&mut bytes[start..])
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.0.len() * size_of::<u64>() <= KEPT {
            SPARE.set(std::mem::take(&mut self.0));
        }
    }
}

/// What is left of a room, from a cache line on.
pub(super) struct Parts<'a>(&'a mut [u8]);

/// The bytes that `n` elements take of a room.
pub(super) const fn bytes_of<A>(n: usize) -> usize {
    (n * size_of::<A>()).next_multiple_of(LINE)
}

impl<'a> Parts<'a> {
    /// The next `n` elements.
    ///
    /// # Panics
    /// When the room was made too small: a bug of the caller.
    pub(super) fn take<A: Bits>(&mut self, n: usize) -> &'a mut [A] {
        let (part, rest) = std::mem::take(&mut self.0).split_at_mut(bytes_of::<A>(n));
        self.0 = rest;
        // SAFETY: the part is initialised, begins at a cache line, is large enough and borrowed once; any bits are an `A`.
        unsafe { std::slice::from_raw_parts_mut(part.as_mut_ptr().cast(), n) }
    }
}
