//! Reductions of contiguous memory for who has the elements piece by piece: of all of them, leaf by leaf, and of rows.
//!
//! Owns: the choice of the loops. Never splits work. Invariant: the merged leaves, and the rows, have the bits that `reduce`
//! gives.

use super::fold::LEAF;
use super::inner::PIECE;
use super::launch_reduce::Reduction;
use super::loop_table::loops;
use crate::dtype::DType;

/// Elements of a leaf; the last one may have fewer.
pub const WHOLE_LEAF: usize = LEAF;

/// The loops of one reduction of one dtype, whose result has the same dtype.
#[derive(Clone, Copy)]
pub struct Whole {
    /// Reduces at most a leaf of neighbours: elements, their number, the result.
    ///
    /// # Safety
    /// As many elements are readable, at least one, and the result is writable.
    pub leaf: unsafe fn(*const u8, usize, *mut u8),
    /// Merges the results of neighbouring leaves.
    ///
    /// # Safety
    /// As for `leaf`.
    pub merge: unsafe fn(*const u8, usize, *mut u8),
}

/// The loops of a reduction; `None` where elements are converted first.
pub fn whole(op: Reduction, dtype: DType) -> Option<Whole> {
    let loops = loops(op, dtype).filter(|_| dtype.is_float() && op.out_dtype(dtype) == dtype)?;
    // Pieces are a power of two of leaves, so that the tree of the leaves is that of the pieces.
    const { assert!((PIECE / LEAF).is_power_of_two() && PIECE.is_multiple_of(LEAF)) };
    Some(Whole { leaf: loops.run, merge: loops.tree })
}

/// Reduces rows that lie one after the other: elements, the length of a row, the results, how many rows there are.
///
/// # Safety
/// As many elements are readable, and there is room for a result of each row.
pub type RowLoop = unsafe fn(*const u8, usize, *mut u8, usize);

/// The loop that reduces rows of this length; `None` where elements are converted first, or a row is a tree of pieces.
pub fn of_rows(op: Reduction, dtype: DType, length: usize) -> Option<RowLoop> {
    let loops = loops(op, dtype).filter(|_| !dtype.is_complex() && length <= PIECE)?;
    Some(loops.neighbours)
}
