//! Softmax and log-softmax along an axis that is not the last, forward and first-order backward.
//!
//! Owns: the tiles of neighbouring columns, of which each is a sum of its own. Never transposes. Invariant: a column is
//! shifted by its maximum, and its sum is one of blocks of rows, whatever tile it is in.

use super::row_blocks::{Float, Shape, by_rows};
use crate::kernels::multiversion::leveled_fma;

/// Columns of a tile at most.
const WIDEST: usize = 256;
/// Columns of a tile at least, if there are so many, and elements that a tile of more has at most.
const NARROWEST: usize = 64;
const TILE: usize = 1 << 13;
/// Rows that are added one after the other.
const ROWS: usize = 32;

/// Some neighbouring columns.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    rows: usize,
    /// From row to row.
    stride: usize,
    width: usize,
}

impl Tile {
    /// How many elements follow on each other, and how many such stretches there are.
    #[inline(always)]
    fn stretches(self) -> (usize, usize) {
        match self.width == self.stride {
            true => (self.rows * self.width, 1),
            false => (self.width, self.rows),
        }
    }
}

/// Calls `body(skip, tile)` for all tiles.
pub(super) fn by_tiles(shape: Shape, body: &(dyn Fn(usize, Tile) + Sync)) {
    let Shape { outer, n: rows, inner: stride } = shape;
    let most = (TILE / rows.max(1)).clamp(NARROWEST, WIDEST);
    let tiles = stride.div_ceil(most);
    // Whole vectors in all but the last one.
    let width = stride.div_ceil(tiles.max(1)).next_multiple_of(16).min(stride);
    by_rows(outer * tiles, rows * width, &|first, count| {
        for i in first..first + count {
            let left = i % tiles * width;
            let width = width.min(stride.saturating_sub(left));
            body(i / tiles * rows * stride + left, Tile { rows, stride, width });
        }
    });
}

leveled_fma! {
    /// Softmax of the columns of a tile, or its logarithm.
    pub(super) unsafe fn soft_columns<T: Float>(x: *const T, out: *mut T, tile: Tile, log: bool) = soft_body
}

/// # Safety
/// `x` and `out` hold the tile and do not overlap.
#[inline(always)]
unsafe fn soft_body<T: Float, const FMA: bool>(x: *const T, out: *mut T, tile: Tile, log: bool) {
    let Tile { rows, stride, width } = tile;
    let mut top = [T::ZERO; WIDEST];
    let top = &mut top[..width];
    // SAFETY: the caller's contract.
    unsafe {
        top.copy_from_slice(std::slice::from_raw_parts(x, width));
        for row in 1..rows {
            for (j, top) in top.iter_mut().enumerate() {
                *top = T::larger(*top, *x.add(row * stride + j));
            }
        }
        for row in 0..rows {
            for (j, &top) in top.iter().enumerate() {
                *out.add(row * stride + j) = *x.add(row * stride + j) - top;
            }
        }
        exponentials::<T, FMA>(out, out, tile);
        let mut sums = [T::ZERO; WIDEST];
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
                *to = if log { (*from - other) - sum } else { (*to).divided::<FMA>(sum, other) };
            }
        }
    }
}

/// `out = exp(x)` for a tile; what follows on each other is one loop.
///
/// # Safety
/// `x` and `out` hold the tile.
#[inline(always)]
unsafe fn exponentials<T: Float, const FMA: bool>(x: *const T, out: *mut T, tile: Tile) {
    let (length, count) = tile.stretches();
    for stretch in 0..count {
        for j in stretch * tile.stride..stretch * tile.stride + length {
            // SAFETY: the caller's contract.
            unsafe { *out.add(j) = (*x.add(j)).exp::<FMA>() };
        }
    }
}

/// Adds the terms of each column, block by block of rows.
#[inline(always)]
fn add_rows<T: Float>(sums: &mut [T], tile: Tile, term: impl Fn(usize) -> T) {
    let mut block = [T::ZERO; WIDEST];
    let block = &mut block[..sums.len()];
    for first in (0..tile.rows).step_by(ROWS) {
        block.fill(T::ZERO);
        for row in first..tile.rows.min(first + ROWS) {
            for (j, sum) in block.iter_mut().enumerate() {
                *sum = *sum + term(row * tile.stride + j);
            }
        }
        for (sum, &part) in sums.iter_mut().zip(&*block) {
            *sum = *sum + part;
        }
    }
}

leveled_fma! {
    /// Backward of softmax for the columns of a tile, or of its logarithm.
    pub(super) unsafe fn back_columns<T: Float>(
        y: *const T, g: *const T, out: *mut T, tile: Tile, log: bool,
    ) = back_body
}

/// # Safety
/// `y`, `g` and `out` hold the tile, and `out` overlaps neither.
#[inline(always)]
unsafe fn back_body<T: Float, const FMA: bool>(
    y: *const T,
    g: *const T,
    out: *mut T,
    tile: Tile,
    log: bool,
) {
    let Tile { rows, stride, width } = tile;
    let mut sums = [T::ZERO; WIDEST];
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
