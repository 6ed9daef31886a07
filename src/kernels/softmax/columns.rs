//! Softmax and log-softmax along an axis other than the last, forward and first-order backward, over tiles of
//! adjacent columns.
//!
//! Invariant: a column is shifted by its maximum, and its sum is a sum of blocks of rows, whatever tile it is
//! in.

use super::row_blocks::{AxisShape, Float, for_row_blocks};
use crate::kernels::multiversion::leveled_fma;

/// The most columns of a tile.
const MAX_TILE_COLUMNS: usize = 256;
/// The fewest columns of a tile, if there are as many, and the most elements of a wider tile.
const MIN_TILE_COLUMNS: usize = 64;
const MAX_TILE_ELEMENTS: usize = 1 << 13;
/// Rows that are added one after the other.
const BLOCK_ROWS: usize = 32;

/// A tile of adjacent columns.
#[derive(Clone, Copy)]
pub(super) struct ColumnTile {
    rows: usize,
    /// The row stride.
    stride: usize,
    width: usize,
}

impl ColumnTile {
    /// The length and number of contiguous stretches.
    #[inline(always)]
    fn contiguous_stretches(self) -> (usize, usize) {
        match self.width == self.stride {
            true => (self.rows * self.width, 1),
            false => (self.width, self.rows),
        }
    }
}

/// Calls `body(offset, tile)` for all tiles.
pub(super) fn for_each_tile(shape: AxisShape, body: &(dyn Fn(usize, ColumnTile) + Sync)) {
    let AxisShape { outer, n: rows, inner: stride } = shape;
    let max_width = (MAX_TILE_ELEMENTS / rows.max(1)).clamp(MIN_TILE_COLUMNS, MAX_TILE_COLUMNS);
    let tiles = stride.div_ceil(max_width);
    // Whole vectors in all but the last tile.
    let width = stride.div_ceil(tiles.max(1)).next_multiple_of(16).min(stride);
    for_row_blocks(outer * tiles, rows * width, &|first, count| {
        for i in first..first + count {
            let left = i % tiles * width;
            let width = width.min(stride.saturating_sub(left));
            body(i / tiles * rows * stride + left, ColumnTile { rows, stride, width });
        }
    });
}

leveled_fma! {
    /// Softmax or log-softmax of the columns of a tile.
    pub(super) unsafe fn softmax_columns<T: Float>(x: *const T, out: *mut T, tile: ColumnTile, log: bool) = softmax_columns_body
}

/// # Safety
/// `x` and `out` hold the tile and do not overlap.
#[inline(always)]
unsafe fn softmax_columns_body<T: Float, const FMA: bool>(
    x: *const T,
    out: *mut T,
    tile: ColumnTile,
    log: bool,
) {
    let ColumnTile { rows, stride, width } = tile;
    let mut top = [T::ZERO; MAX_TILE_COLUMNS];
    let top = &mut top[..width];
    // SAFETY: the caller's contract.
    unsafe {
        top.copy_from_slice(std::slice::from_raw_parts(x, width));
        for row in 1..rows {
            for (j, top) in top.iter_mut().enumerate() {
                *top = T::max_or_nan(*top, *x.add(row * stride + j));
            }
        }
        for row in 0..rows {
            for (j, &top) in top.iter().enumerate() {
                *out.add(row * stride + j) = *x.add(row * stride + j) - top;
            }
        }
        exponentials::<T, FMA>(out, out, tile);
        let mut sums = [T::ZERO; MAX_TILE_COLUMNS];
        let sums = &mut sums[..width];
        add_rows(sums, tile, |at| *out.add(at));
        // The maxima, or the reciprocals of the sums.
        let other = top;
        for (sum, other) in sums.iter_mut().zip(&mut *other) {
            if log {
                *sum = sum.log::<FMA>();
            } else {
                *other = T::ONE / *sum;
            }
        }
        for row in 0..rows {
            for (j, (&sum, &other)) in sums.iter().zip(&*other).enumerate() {
                let (from, to) = (x.add(row * stride + j), out.add(row * stride + j));
                *to = if log { (*from - other) - sum } else { (*to).divide::<FMA>(sum, other) };
            }
        }
    }
}

/// `out = exp(x)` for a tile, in one loop per contiguous stretch.
///
/// # Safety
/// `x` and `out` hold the tile.
#[inline(always)]
unsafe fn exponentials<T: Float, const FMA: bool>(x: *const T, out: *mut T, tile: ColumnTile) {
    let (length, count) = tile.contiguous_stretches();
    for stretch in 0..count {
        for j in stretch * tile.stride..stretch * tile.stride + length {
            // SAFETY: the caller's contract.
            unsafe { *out.add(j) = (*x.add(j)).exp::<FMA>() };
        }
    }
}

/// Sums the terms of each column, block by block of rows.
#[inline(always)]
fn add_rows<T: Float>(sums: &mut [T], tile: ColumnTile, term: impl Fn(usize) -> T) {
    let mut block = [T::ZERO; MAX_TILE_COLUMNS];
    let block = &mut block[..sums.len()];
    for first in (0..tile.rows).step_by(BLOCK_ROWS) {
        block.fill(T::ZERO);
        for row in first..tile.rows.min(first + BLOCK_ROWS) {
            for (j, sum) in block.iter_mut().enumerate() {
                *sum = *sum + term(row * tile.stride + j);
            }
        }
        for (sum, &partial) in sums.iter_mut().zip(&*block) {
            *sum = *sum + partial;
        }
    }
}

leveled_fma! {
    /// Backward of softmax or log-softmax for the columns of a tile.
    pub(super) unsafe fn softmax_columns_backward<T: Float>(
        y: *const T, g: *const T, out: *mut T, tile: ColumnTile, log: bool,
    ) = softmax_columns_backward_body
}

/// # Safety
/// `y`, `g` and `out` hold the tile, and `out` overlaps neither.
#[inline(always)]
unsafe fn softmax_columns_backward_body<T: Float, const FMA: bool>(
    y: *const T,
    g: *const T,
    out: *mut T,
    tile: ColumnTile,
    log: bool,
) {
    let ColumnTile { rows, stride, width } = tile;
    let mut sums = [T::ZERO; MAX_TILE_COLUMNS];
    let sums = &mut sums[..width];
    // SAFETY: the caller's contract.
    unsafe {
        if log {
            exponentials::<T, FMA>(y, out, tile);
            add_rows(sums, tile, |at| *g.add(at));
        } else {
            add_rows(sums, tile, |at| *g.add(at) * *y.add(at));
        }
        for row in 0..rows {
            for (j, &sum) in sums.iter().enumerate() {
                let at = row * stride + j;
                let (g, to) = (*g.add(at), out.add(at));
                *to = if log { g - *to * sum } else { *y.add(at) * (g - sum) };
            }
        }
    }
}
