//! The operations of a chain, with operands in memory or in scratch slots.
//!
//! Invariant: an operation on tiles writes the bits that the unfused operation would write.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use crate::kernels::elementwise::{Loop, LoopCall, MAX_OPERANDS, repeat_element};
use crate::kernels::nontemporal;
use crate::kernels::reduce::{RowReduction, WHOLE_LEAF, WholeReduction};

/// The number of a buffer.
pub type BufferId = u32;

/// The most reductions of all elements in a chain.
pub(crate) const MAX_REDUCTIONS: usize = 3;

/// Where an operand of a chain operation is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Location {
    /// In a buffer, from this byte offset on, with this many bytes per row.
    Memory { buffer: BufferId, offset: isize, step: usize },
    /// In a scratch slot.
    Slot(usize),
}

/// One operation of a chain. `width` is the number of result elements per row: the row length or one.
#[derive(Clone)]
pub(crate) enum ChainOp {
    Map {
        table: Loop,
        ins: SmallVec<[Location; 4]>,
        out: Location,
        params: SmallVec<[f64; 2]>,
        width: usize,
    },
    /// A copy, with this many bytes per row.
    Copy { from: Location, to: Location, step: usize },
    /// A non-temporal copy from a slot, for results that do not fit the caches.
    Stream { from: Location, buffer: BufferId, step: usize },
    /// One element of this size per row, repeated along the row.
    BroadcastRow { from: Location, to: Location, size: usize },
    /// A reduction of each row.
    Rows { table: RowReduction, input: Location, out: Location },
    /// A reduction of all elements: its number in the chain, the buffer of its leaf results, and the size of
    /// one.
    Reduction {
        loops: WholeReduction,
        number: usize,
        input: Location,
        leaves: BufferId,
        size: usize,
        out: (BufferId, isize),
    },
}

/// A tile: its first row, the number and length of rows, and whether it is the last of its block.
#[derive(Clone, Copy)]
pub(super) struct TileRows {
    pub(super) at: usize,
    pub(super) rows: usize,
    pub(super) row: usize,
    pub(super) last: bool,
}

/// A partly filled leaf for each reduction.
pub(super) type PartialLeaves = [[MaybeUninit<u64>; WHOLE_LEAF]; MAX_REDUCTIONS];

impl ChainOp {
    /// Runs the operation on a tile.
    ///
    /// # Safety
    /// `locate` gives the address of each operand's elements; tiles are consecutive and start at the
    /// beginning of a leaf.
    #[inline(always)]
    pub(super) unsafe fn run(
        &self,
        tile: TileRows,
        locate: impl Fn(&Location) -> *mut u8,
        leaves: &mut PartialLeaves,
        addresses: &BufferAddresses<'_>,
    ) {
        match self {
            ChainOp::Map { table, ins, out, params, width } => {
                let mut ptrs = [std::ptr::null::<u8>(); MAX_OPERANDS];
                for (ptr, argument) in ptrs.iter_mut().zip(ins) {
                    *ptr = locate(argument);
                }
                let (out, n) = (locate(out), tile.rows * width);
                // SAFETY: the caller's contract.
                unsafe { LoopCall { f: *table, ins: &ptrs, out, n, params }.run() };
            }
            ChainOp::Copy { from, to, step } => {
                // SAFETY: the caller's contract; source and destination are disjoint.
                unsafe { locate(to).copy_from_nonoverlapping(locate(from), tile.rows * step) };
            }
            ChainOp::Stream { from, buffer, step } => {
                let to = addresses.at(*buffer, (tile.at * step) as isize);
                // SAFETY: as above; slots and tiles of the result start at a cache line, and the block fences
                // the stores.
                unsafe { nontemporal::stream(locate(from), to, tile.rows * step) };
            }
            ChainOp::BroadcastRow { from, to, size } => {
                let (from, to) = (locate(from), locate(to));
                for i in 0..tile.rows {
                    let (from, to) =
                        (from.wrapping_add(i * size), to.wrapping_add(i * tile.row * size));
                    // SAFETY: the caller's contract; source and destination are disjoint.
                    unsafe { repeat_element((from, *size), to, tile.row) };
                }
            }
            ChainOp::Rows { table, input, out } => {
                // SAFETY: the caller's contract.
                unsafe { table(locate(input), tile.row, locate(out), tile.rows) };
            }
            ChainOp::Reduction { loops, number, input, leaves: results, size, .. } => {
                let partial = leaves[*number].as_mut_ptr().cast::<u8>();
                let results = addresses.at(*results, 0);
                // SAFETY: the caller's contract; the leaf has space for its tiles, and its result has a slot.
                unsafe { tile.reduce(loops, locate(input), *size, partial, results) };
            }
        }
    }
}

impl TileRows {
    /// Copies the elements of a tile into their leaves, and reduces the leaves that are complete.
    ///
    /// # Safety
    /// As `ChainOp::run`: the elements are readable, `partial` has those of the leaf before the tile, and
    /// each leaf has a result.
    unsafe fn reduce(
        &self,
        loops: &WholeReduction,
        input: *const u8,
        size: usize,
        partial: *mut u8,
        results: *mut u8,
    ) {
        let (start, count) = (self.at * self.row, self.rows * self.row);
        let mut done = 0;
        while done < count {
            let filled = (start + done) % WHOLE_LEAF;
            let taken = (WHOLE_LEAF - filled).min(count - done);
            let (from, after) = (input.wrapping_add(done * size), filled + taken);
            let out = results.wrapping_add((start + done) / WHOLE_LEAF * size);
            done += taken;
            // SAFETY: the caller's contract.
            unsafe {
                if taken == WHOLE_LEAF {
                    (loops.leaf)(from, taken, out);
                    continue;
                }
                partial.wrapping_add(filled * size).copy_from_nonoverlapping(from, taken * size);
                if after == WHOLE_LEAF || self.last && done == count {
                    (loops.leaf)(partial, after, out);
                }
            }
        }
    }
}

/// The addresses of all buffers, shared by the threads of one run.
pub(super) struct BufferAddresses<'a>(pub(super) &'a [*mut u8]);
// SAFETY: blocks write disjoint parts of the buffers.
unsafe impl Sync for BufferAddresses<'_> {}

impl BufferAddresses<'_> {
    pub(super) fn at(&self, buffer: BufferId, offset: isize) -> *mut u8 {
        self.0[buffer as usize].wrapping_offset(offset)
    }
}
