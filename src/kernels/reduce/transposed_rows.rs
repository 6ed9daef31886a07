//! Short rows, transposed: the lanes of a vector belong to different rows.
//!
//! Invariant: a row is merged in the order of `fold::fold_lanes`, so it has the bits of a row reduced alone.

use std::mem::MaybeUninit;

use super::fold::{Fold, LEAF_ELEMENTS, NARROW_LANES, WIDE_LANES, add_rows, merge_rows};
use crate::kernels::transpose::transpose_block;

/// Transposed rows of fewer than `WIDE_LANES` elements, one in each column.
pub(super) struct TransposedTile<T>([MaybeUninit<T>; LEAF_ELEMENTS]);

impl<T: Copy> TransposedTile<T> {
    pub(super) fn new() -> TransposedTile<T> {
        debug_assert!(size_of::<T>() == 4 || size_of::<T>() == 8, "elements that are turned");
        TransposedTile([MaybeUninit::uninit(); LEAF_ELEMENTS])
    }

    /// How many rows of `n` elements fit, in whole vectors.
    pub(super) fn capacity(n: usize) -> usize {
        assert!(n < WIDE_LANES, "a tile is for short rows");
        LEAF_ELEMENTS / n / NARROW_LANES * NARROW_LANES
    }

    /// Transposes `count` rows into columns and returns the address of the first element.
    ///
    /// # Safety
    /// `count` rows of `n` contiguous elements, `stride` apart, are readable, and they fit.
    pub(super) unsafe fn fill(
        &mut self,
        p: *const T,
        n: usize,
        stride: isize,
        count: usize,
    ) -> *mut T {
        let to = self.0.as_mut_ptr().cast();
        // SAFETY: the caller's contract.
        unsafe { transpose_rows(size_of::<T>(), p.cast(), stride, to, (n, count)) };
        to.cast()
    }
}

/// `transpose_block` of elements of this size into rows without gaps, compiled once for all folds.
///
/// # Safety
/// As `transpose_block`.
#[inline(never)]
unsafe fn transpose_rows(
    size: usize,
    p: *const u8,
    by: isize,
    to: *mut u8,
    (rows, columns): (usize, usize),
) {
    // SAFETY: the caller's contract.
    unsafe {
        match size {
            4 => transpose_block::<u32>(p.cast(), by, to.cast(), columns as isize, (rows, columns)),
            _ => transpose_block::<u64>(p.cast(), by, to.cast(), columns as isize, (rows, columns)),
        }
    }
}

/// Merges each of `rows` runs of `n` contiguous elements, fewer than `WIDE_LANES`.
///
/// # Safety
/// As `fold_rows`; and the fold is `TRANSPOSABLE`.
pub(super) unsafe fn fold_transposed<F: Fold>(
    p: *const F::In,
    n: usize,
    stride: isize,
    out: *mut F::Acc,
    step: isize,
    rows: usize,
) {
    let mut tile = TransposedTile::new();
    for start in (0..rows).step_by(TransposedTile::<F::In>::capacity(n)) {
        let count = TransposedTile::<F::In>::capacity(n).min(rows - start);
        // SAFETY: the caller's contract; a transposable fold accumulates what it loads, so the tile holds
        // accumulators.
        unsafe {
            let first = p.offset(start as isize * stride);
            let merged: *mut F::Acc = tile.fill(first, n, stride, count).cast();
            merge_columns::<F>(merged, n, count);
            for j in 0..count {
                *out.offset((start + j) as isize * step) = *merged.add(j);
            }
        }
    }
}

/// Merges `n` rows of `count` contiguous accumulators into the first.
///
/// # Safety
/// The tile holds accumulators.
unsafe fn merge_columns<F: Fold>(tile: *mut F::Acc, n: usize, count: usize) {
    let row = |i: usize| tile.wrapping_add(i * count);
    // SAFETY: the caller's contract.
    unsafe {
        if n < NARROW_LANES {
            return add_rows::<F::Merging>(tile, row(1), count, count as isize, n - 1);
        }
        let (block, mut done) = (NARROW_LANES * count, n / NARROW_LANES * NARROW_LANES);
        add_rows::<F::Merging>(
            tile,
            row(NARROW_LANES),
            block,
            block as isize,
            n / NARROW_LANES - 1,
        );
        for half in [4, 2, 1] {
            merge_rows::<F>(tile, row(half), half * count);
            if n & half != 0 {
                merge_rows::<F>(tile, row(done), half * count);
                done += half;
            }
        }
    }
}
