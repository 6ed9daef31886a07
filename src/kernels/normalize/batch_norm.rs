//! Batch normalisation of (rows, channels) inputs: statistics of columns, many columns at a time.
//!
//! Invariant: a sum runs over the rows in order, in blocks whose totals are kept in float64.

use super::channels::{ChannelOperands, LEVELS, inverse_std};
use super::rows::{Number, fill};
use crate::kernels::multiversion::multiversion;

/// Columns of a block.
pub(super) const BLOCK_COLUMNS: usize = 64;
/// Rows of one running sum.
const ROWS_PER_SUM: usize = 128;

/// A block of columns.
#[derive(Clone, Copy)]
pub(super) struct ColumnBlock {
    pub(super) rows: usize,
    pub(super) channels: usize,
    pub(super) first: usize,
    /// At most `BLOCK_COLUMNS`.
    pub(super) width: usize,
}

/// The sum of `term(row, column)` over the rows, for every column.
#[inline(always)]
fn sums<T: Number>(at: ColumnBlock, term: impl Fn(usize, usize) -> T) -> [f64; BLOCK_COLUMNS] {
    let mut totals = [0.0; BLOCK_COLUMNS];
    let width = at.width.min(BLOCK_COLUMNS);
    for start in (0..at.rows).step_by(ROWS_PER_SUM) {
        let mut running = [T::default(); BLOCK_COLUMNS];
        for row in start..at.rows.min(start + ROWS_PER_SUM) {
            for (j, sum) in running[..width].iter_mut().enumerate() {
                *sum = *sum + term(row, j);
            }
        }
        for (total, sum) in totals.iter_mut().zip(running) {
            *total += sum.to_f64();
        }
    }
    totals
}

multiversion! {
    /// The forward pass of a block of columns.
    pub(super) unsafe fn forward<T: Number>(
        at: ChannelOperands<T>, columns: ColumnBlock, eps: f64,
    ) = forward_body, LEVELS
}

/// # Safety
/// `x` and `out` hold the columns, `weight` and `bias` an element for each, `stats` two.
#[inline(always)]
unsafe fn forward_body<T: Number>(at: ChannelOperands<T>, columns: ColumnBlock, eps: f64) {
    let ColumnBlock { rows, channels, first, .. } = columns;
    let width = columns.width.min(BLOCK_COLUMNS);
    let (mut mean, mut factor) = ([T::default(); BLOCK_COLUMNS], [T::default(); BLOCK_COLUMNS]);
    // SAFETY: the caller's contract.
    unsafe {
        let x = at.x.add(first);
        let totals = sums(columns, |row, j| *x.add(row * channels + j));
        for (mean, total) in mean.iter_mut().zip(totals) {
            *mean = T::from_f64(total / rows as f64);
        }
        let squares = sums(columns, |row, j| {
            let gap = *x.add(row * channels + j) - mean[j];
            gap * gap
        });
        for j in 0..width {
            let (stats, var) = (at.stats.add(2 * (first + j)), squares[j] / rows as f64);
            *stats = mean[j];
            *stats.add(1) = T::from_f64(var);
            factor[j] = T::from_f64(inverse_std(*stats.add(1), eps)) * *at.weight.add(first + j);
        }
        let bias = at.bias.add(first);
        for row in 0..rows {
            let (x, y) = (x.add(row * channels), at.out.add(row * channels + first));
            fill(width, y, |j| (*x.add(j) - mean[j]) * factor[j] + *bias.add(j));
        }
    }
}

multiversion! {
    /// The backward pass of a block of columns.
    pub(super) unsafe fn backward<T: Number>(
        at: ChannelOperands<T>, columns: ColumnBlock, eps: f64,
    ) = backward_body, LEVELS
}

/// # Safety
/// As `forward_body`, with `g` like `x`, and `sums` for each column; `out` may be null.
#[inline(always)]
unsafe fn backward_body<T: Number>(at: ChannelOperands<T>, columns: ColumnBlock, eps: f64) {
    let ColumnBlock { rows, channels, first, .. } = columns;
    let width = columns.width.min(BLOCK_COLUMNS);
    let [mut mean, mut factor, mut slope, mut shift] = [[T::default(); BLOCK_COLUMNS]; 4];
    // SAFETY: the caller's contract.
    unsafe {
        let (x, g) = (at.x.add(first), at.g.add(first));
        for (j, mean) in mean[..width].iter_mut().enumerate() {
            *mean = *at.stats.add(2 * (first + j));
        }
        let grad_sums = sums(columns, |row, j| *g.add(row * channels + j));
        let grad_dots = sums(columns, |row, j| {
            *g.add(row * channels + j) * (*x.add(row * channels + j) - mean[j])
        });
        for j in 0..width {
            let r = inverse_std(*at.stats.add(2 * (first + j) + 1), eps);
            let weight = *at.weight.add(first + j);
            *at.sums.add(first + j) = [grad_dots[j] * r, grad_sums[j]];
            let scale = weight.to_f64() * r / rows as f64;
            factor[j] = T::from_f64(r) * weight;
            slope[j] = T::from_f64(scale * r * r * grad_dots[j]);
            shift[j] = T::from_f64(scale * grad_sums[j]);
        }
        if at.out.is_null() {
            return;
        }
        for row in 0..rows {
            let (x, g) = (x.add(row * channels), g.add(row * channels));
            let out = at.out.add(row * channels + first);
            fill(width, out, |j| {
                *g.add(j) * factor[j] - (*x.add(j) - mean[j]) * slope[j] - shift[j]
            });
        }
    }
}
