//! Batch normalisation of (rows, channels): the sums of neighbouring columns, side by side.
//!
//! Owns: both passes over a block of columns. Invariant: a sum runs over the rows in order, in blocks whose totals are
//! kept in float64.

use super::channels::{At, LEVELS, reciprocal};
use super::rows::{Number, fill};
use crate::kernels::multiversion::leveled;

/// Columns of a block.
pub(super) const WIDTH: usize = 64;
/// Rows of a running sum.
const ROWS: usize = 128;

/// Some columns of (rows, channels).
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) rows: usize,
    pub(super) channels: usize,
    pub(super) first: usize,
    /// At most `WIDTH`.
    pub(super) width: usize,
}

/// The sum of `term(row, column)` over the rows, for every column.
#[inline(always)]
fn sums<T: Number>(at: Columns, term: impl Fn(usize, usize) -> T) -> [f64; WIDTH] {
    let mut totals = [0.0; WIDTH];
    let width = at.width.min(WIDTH);
    for start in (0..at.rows).step_by(ROWS) {
        let mut running = [T::default(); WIDTH];
        for row in start..at.rows.min(start + ROWS) {
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

leveled! {
    /// The forward pass of some columns.
    pub(super) unsafe fn forward<T: Number>(
        at: At<T>, columns: Columns, eps: f64,
    ) = forward_body, LEVELS
}

/// # Safety
/// `x` and `out` hold the columns, `weight` and `bias` an element for each, `stats` two.
#[inline(always)]
unsafe fn forward_body<T: Number>(at: At<T>, columns: Columns, eps: f64) {
    let Columns { rows, channels, first, .. } = columns;
    let width = columns.width.min(WIDTH);
    let (mut mean, mut factor) = ([T::default(); WIDTH], [T::default(); WIDTH]);
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
            factor[j] = T::from_f64(reciprocal(*stats.add(1), eps)) * *at.weight.add(first + j);
        }
        let bias = at.bias.add(first);
        for row in 0..rows {
            let (x, y) = (x.add(row * channels), at.out.add(row * channels + first));
            fill(width, y, |j| (*x.add(j) - mean[j]) * factor[j] + *bias.add(j));
        }
    }
}

leveled! {
    /// The backward pass of some columns.
    pub(super) unsafe fn backward<T: Number>(
        at: At<T>, columns: Columns, eps: f64,
    ) = backward_body, LEVELS
}

/// # Safety
/// As `forward_body`, with `g` like `x`, and `sums` for each column; `out` may be null.
#[inline(always)]
unsafe fn backward_body<T: Number>(at: At<T>, columns: Columns, eps: f64) {
    let Columns { rows, channels, first, .. } = columns;
    let width = columns.width.min(WIDTH);
    let [mut mean, mut factor, mut slope, mut shift] = [[T::default(); WIDTH]; 4];
    // SAFETY: the caller's contract.
    unsafe {
        let (x, g) = (at.x.add(first), at.g.add(first));
        for (j, mean) in mean[..width].iter_mut().enumerate() {
            *mean = *at.stats.add(2 * (first + j));
        }
        let plain = sums(columns, |row, j| *g.add(row * channels + j));
        let sloped = sums(columns, |row, j| {
            *g.add(row * channels + j) * (*x.add(row * channels + j) - mean[j])
        });
        for j in 0..width {
            let r = reciprocal(*at.stats.add(2 * (first + j) + 1), eps);
            let weight = *at.weight.add(first + j);
            *at.sums.add(first + j) = [sloped[j] * r, plain[j]];
            let scale = weight.to_f64() * r / rows as f64;
            factor[j] = T::from_f64(r) * weight;
            slope[j] = T::from_f64(scale * r * r * sloped[j]);
            shift[j] = T::from_f64(scale * plain[j]);
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
