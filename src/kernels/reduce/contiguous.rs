//! Reductions of contiguous memory for callers that have the elements tile by tile: of all elements, leaf by
//! leaf, and of rows.
//!
//! Invariant: the merged leaves, and the rows, have the bits of `reduce`.

use super::fold::LEAF_ELEMENTS;
use super::inner::PIECE_ELEMENTS;
use super::launch_reduce::Reduction;
use super::loop_table::loops;
use crate::dtype::DType;

/// Elements of a leaf; the last one may have fewer.
pub const WHOLE_LEAF: usize = LEAF_ELEMENTS;

/// The loops of one reduction of all elements; the result has the dtype of the elements.
#[derive(Clone, Copy)]
pub struct WholeReduction {
    /// Reduces at most a leaf of contiguous elements: elements, their number, the result.
    ///
    /// # Safety
    /// The elements, at least one, are readable, and the result is writable.
    pub leaf: unsafe fn(*const u8, usize, *mut u8),
    /// Merges the results of consecutive leaves.
    ///
    /// # Safety
    /// As for `leaf`.
    pub merge: unsafe fn(*const u8, usize, *mut u8),
}

/// The loops of a reduction; `None` if elements must be converted first.
pub fn whole_reduction(op: Reduction, dtype: DType) -> Option<WholeReduction> {
    let loops = loops(op, dtype).filter(|_| dtype.is_float() && op.out_dtype(dtype) == dtype)?;
    // Pieces are a power of two of leaves, so that the tree of leaves is the tree of pieces.
    const {
        assert!(
            (PIECE_ELEMENTS / LEAF_ELEMENTS).is_power_of_two()
                && PIECE_ELEMENTS.is_multiple_of(LEAF_ELEMENTS)
        )
    };
    Some(WholeReduction { leaf: loops.run, merge: loops.tree })
}

/// Reduces consecutive rows: elements, row length, results, number of rows.
///
/// # Safety
/// The elements are readable, and there is space for a result per row.
pub type RowReduction = unsafe fn(*const u8, usize, *mut u8, usize);

/// The loop that reduces rows of this length; `None` if elements must be converted first, or a row spans
/// several pieces.
pub fn row_reduction(op: Reduction, dtype: DType, length: usize) -> Option<RowReduction> {
    let loops = loops(op, dtype).filter(|_| !dtype.is_complex() && length <= PIECE_ELEMENTS)?;
    Some(loops.contiguous_rows)
}
