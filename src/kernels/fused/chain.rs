//! A chain: fused element-wise loops over the same elements, with reductions of all elements or of rows, run
//! tile by tile so that intermediates stay in the cache.
//!
//! The compile passes `fuse` and `chain_slots` choose the operations of a chain. Invariant: every result has
//! the bits of running the operations one after another, whatever the tile size and the split over threads;
//! reductions keep the pairwise tree of `kernels::reduce`.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::broadcast::Broadcast;
use super::chain_op::{
    BufferAddresses, BufferId, ChainOp, Location, MAX_REDUCTIONS, PartialLeaves, TileRows,
};
use crate::kernels::elementwise::{parallel_units, repeat_element};
use crate::kernels::nontemporal;
use crate::kernels::reduce::WHOLE_LEAF;
use crate::kernels::workspace::{CACHE_LINE, with_scratch};

/// Shorter loops gain nothing from fusion: their operands are in the cache anyway.
pub(crate) const MIN_CHAIN_ELEMENTS: usize = 2048;
/// Elements of a tile: all slots together fit the L1 cache. Divides a reduction leaf.
const TILE_ELEMENTS: usize = 256;
/// The most elements of a tile of several rows.
const MULTI_ROW_TILE_ELEMENTS: usize = 1024;
/// The longest rows of a chain: the slots of one fit the L2 cache.
pub(crate) const MAX_ROW_ELEMENTS: usize = 1 << 14;
/// Bytes of the largest element that a slot can hold.
pub(crate) const MAX_ITEMSIZE: usize = 8;
/// From this many elements on, operands are beyond the nearer caches: the memory of the next tile is
/// prefetched.
const PREFETCH_ELEMENTS: usize = 1 << 17;
/// Nanoseconds per element of a reduction.
pub(crate) const REDUCTION_COST: f32 = 0.15;
/// Elements from which on a chain is split over threads, and of which its blocks are multiples: whole pages.
const SPLIT_ELEMENTS: usize = 4096;
/// The widest vector, in elements: a tile that is a multiple has no tail.
const VECTOR_ELEMENTS: usize = 16;

/// An operand that repeats one value, or a few; it is written to a slot.
#[derive(Clone)]
pub(crate) struct RepeatedOperand {
    pub(crate) slot: usize,
    pub(crate) size: usize,
    pub(crate) from: RepeatedSource,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum RepeatedSource {
    Number(u64),
    Memory {
        buffer: BufferId,
        offset: isize,
    },
    /// A broadcast run: each element repeats `inner` times, and the run itself repeats.
    Broadcast {
        buffer: BufferId,
        offset: isize,
        count: usize,
        inner: usize,
    },
}

/// The shape of a chain: rows × row length. Without row operations, each element is a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ChainShape {
    pub(crate) rows: usize,
    pub(crate) row: usize,
}

impl ChainShape {
    /// The number of elements.
    pub(crate) fn numel(self) -> usize {
        self.rows * self.row
    }

    /// Rows of a tile.
    fn tile_rows(self) -> usize {
        let vector_rows = VECTOR_ELEMENTS / gcd(VECTOR_ELEMENTS, self.row);
        let fits = TILE_ELEMENTS / self.row;
        match fits / vector_rows * vector_rows {
            0 if vector_rows * self.row <= MULTI_ROW_TILE_ELEMENTS => vector_rows,
            0 => fits.max(1),
            rows => rows,
        }
    }

    /// The unit of rows in a split over threads: with reductions of all elements, a block starts at a leaf.
    fn unit(self, whole: bool) -> usize {
        match (self.row, whole) {
            (1, _) => SPLIT_ELEMENTS,
            (row, true) => WHOLE_LEAF / gcd(WHOLE_LEAF, row),
            (_, false) => self.tile_rows(),
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Fused element-wise loops over the same elements.
#[derive(Clone)]
pub struct Chain {
    pub(crate) ops: Vec<ChainOp>,
    pub(crate) values: Vec<RepeatedOperand>,
    pub(crate) shape: ChainShape,
    /// The number of slots.
    pub(crate) slots: usize,
    pub(crate) cost: f32,
    /// The formulas of its operations, for error messages and `explain`.
    pub(crate) formulas: Vec<String>,
}

impl Chain {
    /// The number of operations.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether it has no operations.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// # Safety
    /// The operands are inside their buffers, which have these addresses.
    pub(crate) unsafe fn run(&self, addresses: &[*mut u8]) {
        let addresses = BufferAddresses(addresses);
        let whole = self.ops.iter().any(|op| matches!(op, ChainOp::Reduction { .. }));
        let ChainShape { rows, row } = self.shape;
        parallel_units(rows, self.shape.unit(whole), self.cost * row as f32, &|start, end| {
            let addresses = &addresses;
            let tile = self.shape.tile_rows() * row * MAX_ITEMSIZE;
            let slot_bytes = (tile / CACHE_LINE + 1) * CACHE_LINE;
            // SAFETY: the caller's contract; blocks are disjoint, and a slot holds a tile.
            with_scratch(self.slots * slot_bytes, |scratch| unsafe {
                let slot = |slot: usize| scratch.wrapping_add(slot * slot_bytes);
                self.block(addresses, slot, start, end);
            });
        });
        for op in &self.ops {
            if let ChainOp::Reduction { loops, leaves, out: (out, offset), .. } = op {
                let (leaves, out) = (addresses.at(*leaves, 0), addresses.at(*out, *offset));
                // SAFETY: the blocks wrote every leaf, and the result is inside its buffer.
                unsafe { (loops.merge)(leaves, self.shape.numel().div_ceil(WHOLE_LEAF), out) };
            }
        }
    }

    /// Fills the slots of operands that repeat alike in every tile; returns the others.
    ///
    /// # Safety
    /// As `block`.
    unsafe fn repeated(
        &self,
        addresses: &BufferAddresses<'_>,
        slot: impl Fn(usize) -> *mut u8,
    ) -> SmallVec<[(&RepeatedOperand, Broadcast); 4]> {
        let (row, rows) = (self.shape.row, self.shape.tile_rows());
        let mut broadcasts: SmallVec<[(&RepeatedOperand, Broadcast); 4]> = SmallVec::new();
        for value in &self.values {
            let from: *const u8 = match &value.from {
                RepeatedSource::Number(bits) => (&raw const *bits).cast(),
                RepeatedSource::Memory { buffer, offset } => addresses.at(*buffer, *offset),
                &RepeatedSource::Broadcast { buffer, offset, count, inner } => {
                    let from = addresses.at(buffer, offset);
                    let broadcast = Broadcast { from, size: value.size, count, inner };
                    if row.is_multiple_of(count * inner) {
                        // SAFETY: the elements are inside their buffer, and the slot holds the tile.
                        unsafe { broadcast.fill(0, rows * row, slot(value.slot)) };
                    } else {
                        broadcasts.push((value, broadcast));
                    }
                    continue;
                }
            };
            // SAFETY: one element is read, and the slot holds the tile.
            unsafe { repeat_element((from, value.size), slot(value.slot), rows * row) };
        }
        broadcasts
    }

    /// # Safety
    /// As `run`, for a range of rows that starts at a leaf, with slots that hold a tile.
    unsafe fn block(
        &self,
        addresses: &BufferAddresses<'_>,
        slot: impl Fn(usize) -> *mut u8,
        start: usize,
        end: usize,
    ) {
        // Partly filled leaves of reductions, from one tile to the next.
        let mut leaves: PartialLeaves = [[MaybeUninit::uninit(); WHOLE_LEAF]; MAX_REDUCTIONS];
        let (row, rows) = (self.shape.row, self.shape.tile_rows());
        let prefetches = self.shape.numel() >= PREFETCH_ELEMENTS;
        // SAFETY: the caller's contract.
        let broadcasts = unsafe { self.repeated(addresses, &slot) };
        let locate = |location: &Location, at: usize| match *location {
            Location::Memory { buffer, offset, step } => {
                let piece = addresses.at(buffer, offset).wrapping_add(at * step);
                if prefetches {
                    nontemporal::prefetch(piece.wrapping_add(rows * step), rows * step);
                }
                piece
            }
            Location::Slot(number) => slot(number),
        };
        for at in (start..end).step_by(rows) {
            let count = rows.min(end - at);
            for (value, broadcast) in &broadcasts {
                // SAFETY: the elements are inside their buffer, and the slot holds the tile.
                unsafe { broadcast.fill(at * row, count * row, slot(value.slot)) };
            }
            let piece = TileRows { at, rows: count, row, last: at + count == end };
            for op in &self.ops {
                // SAFETY: every location holds the elements of the operation's types from here on; the output
                // is an operand exactly or disjoint. The block starts at a leaf.
                unsafe { op.run(piece, |operand| locate(operand, at), &mut leaves, addresses) };
            }
        }
        if self.ops.iter().any(|op| matches!(op, ChainOp::Stream { .. })) {
            nontemporal::fence();
        }
    }
}
