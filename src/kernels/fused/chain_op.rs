//! The links of a chain: its steps, with operands in memory or in slots of the cache.
//!
//! Owns: the run of a link on one piece. Never says how a chain is cut. Invariant: a link writes what its step writes.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::broadcast::repeat;
use crate::kernels::elementwise::{Loop, MAX_OPERANDS};
use crate::kernels::nontemporal;
use crate::kernels::reduce::{RowLoop, WHOLE_LEAF, Whole};

/// The number of a buffer.
pub type BufferId = u32;

/// The most reductions of all elements of a chain.
pub(crate) const REDUCTIONS: usize = 3;

/// Where the elements of an operand of a link are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Place {
    /// In a buffer, from this byte on, with so many bytes for each row.
    Memory { buffer: BufferId, offset: isize, step: usize },
    /// In a piece of the cache.
    Slot(usize),
}

/// One step of a chain. `width` is the number of elements that the result has for each row: all of the row or one.
#[derive(Clone)]
pub(crate) enum Link {
    Map {
        table: Loop,
        ins: SmallVec<[Place; 4]>,
        out: Place,
        params: SmallVec<[f64; 2]>,
        width: usize,
    },
    /// A copy, with so many bytes for each row.
    Copy { from: Place, to: Place, step: usize },
    /// A copy from a slot that passes the caches by, to results that do not fit them.
    Stream { from: Place, buffer: BufferId, step: usize },
    /// One element of this size for each row, repeated along the row.
    Spread { from: Place, to: Place, size: usize },
    /// A reduction of each row.
    Rows { table: RowLoop, input: Place, out: Place },
    /// A reduction of all elements: its number in the chain, the results of its leaves, and the size of one of them.
    Reduction {
        loops: Whole,
        number: usize,
        input: Place,
        leaves: BufferId,
        size: usize,
        out: (BufferId, isize),
    },
}

/// A piece: its first row, how many it has of which length, whether it is the last of its block.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) at: usize,
    pub(super) rows: usize,
    pub(super) row: usize,
    pub(super) last: bool,
}

/// Room for a leaf of each reduction.
pub(super) type Leaves = [[MaybeUninit<u64>; WHOLE_LEAF]; REDUCTIONS];

impl Link {
    /// Runs a piece.
    ///
    /// # Safety
    /// `place` gives where the elements of each operand lie; pieces come one after the other from the beginning of a leaf.
    #[inline(always)]
    pub(super) unsafe fn run(
        &self,
        piece: Piece,
        place: impl Fn(&Place) -> *mut u8,
        leaves: &mut Leaves,
        addresses: &Addresses<'_>,
    ) {
        match self {
            Link::Map { table, ins, out, params, width } => {
                let mut ptrs = [std::ptr::null::<u8>(); MAX_OPERANDS];
                for (ptr, argument) in ptrs.iter_mut().zip(ins) {
                    *ptr = place(argument);
                }
                // SAFETY: the caller's contract.
                unsafe { table(ptrs.as_ptr(), place(out), piece.rows * width, params.as_ptr()) };
            }
            Link::Copy { from, to, step } => {
                // SAFETY: the caller's contract; the two sides are apart.
                unsafe { place(to).copy_from_nonoverlapping(place(from), piece.rows * step) };
            }
            Link::Stream { from, buffer, step } => {
                let to = addresses.at(*buffer, (piece.at * step) as isize);
                // SAFETY: as above; slots and pieces of the result begin with a cache line, and the block waits for the stores.
                unsafe { nontemporal::stream(place(from), to, piece.rows * step) };
            }
            Link::Spread { from, to, size } => {
                let (from, to) = (place(from), place(to));
                for i in 0..piece.rows {
                    let (from, to) =
                        (from.wrapping_add(i * size), to.wrapping_add(i * piece.row * size));
                    // SAFETY: the caller's contract; the two sides are apart.
                    unsafe { repeat((from, *size), to, piece.row) };
                }
            }
            Link::Rows { table, input, out } => {
                // SAFETY: the caller's contract.
                unsafe { table(place(input), piece.row, place(out), piece.rows) };
            }
            Link::Reduction { loops, number, input, leaves: results, size, .. } => {
                let room = leaves[*number].as_mut_ptr().cast::<u8>();
                let results = addresses.at(*results, 0);
                // SAFETY: the caller's contract; the leaf has room for its pieces, and its result has its place.
                unsafe { piece.reduce(loops, place(input), *size, room, results) };
            }
        }
    }
}

impl Piece {
    /// Takes the elements of a piece into their leaves, and reduces those that are complete.
    ///
    /// # Safety
    /// As `Link::run`: the elements are readable, `room` has those of the leaf before the piece, and each leaf has a result.
    unsafe fn reduce(
        &self,
        loops: &Whole,
        input: *const u8,
        size: usize,
        room: *mut u8,
        results: *mut u8,
    ) {
        let (start, count) = (self.at * self.row, self.rows * self.row);
        let mut done = 0;
        while done < count {
            let before = (start + done) % WHOLE_LEAF;
            let taken = (WHOLE_LEAF - before).min(count - done);
            let (from, after) = (input.wrapping_add(done * size), before + taken);
            let out = results.wrapping_add((start + done) / WHOLE_LEAF * size);
            done += taken;
            // SAFETY: the caller's contract.
            unsafe {
                if taken == WHOLE_LEAF {
                    (loops.leaf)(from, taken, out);
                    continue;
                }
                room.wrapping_add(before * size).copy_from_nonoverlapping(from, taken * size);
                if after == WHOLE_LEAF || self.last && done == count {
                    (loops.leaf)(room, after, out);
                }
            }
        }
    }
}

/// The addresses of a frame's buffers, for the threads of one run.
pub(super) struct Addresses<'a>(pub(super) &'a [*mut u8]);
// SAFETY: blocks write disjoint parts of the buffers.
unsafe impl Sync for Addresses<'_> {}

impl Addresses<'_> {
    pub(super) fn at(&self, buffer: BufferId, offset: isize) -> *mut u8 {
        self.0[buffer as usize].wrapping_offset(offset)
    }
}
