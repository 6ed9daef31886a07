//! Squared Euclidean distances between pairs of rows.
//!
//! Rows of the second operand are transposed into strips. Differences are squared, not expanded into
//! products. Invariant: a pair is summed in the order of its columns, whatever the strip size.

use std::ops::{Add, Mul, Sub};

use crate::kernels::launch::launch;
use crate::kernels::multiversion::multiversion;
use crate::kernels::transpose::transpose_block;
use crate::kernels::view::{View, ViewMut, with_float};
use crate::threads::parallel_for;

/// Rows of the second operand in a strip.
pub(super) const STRIP_ROWS: usize = 32;
/// Differences of one block of a split.
pub(super) const PIECE_ELEMENTS: usize = 1 << 17;

/// A float dtype.
pub(super) trait Float:
    Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
}
impl Float for f32 {}
impl Float for f64 {}

/// The operands as addresses.
struct DistanceOperands<T>(*const T, *const T, *mut T);
// SAFETY: made from views, which are Send + Sync; blocks write disjoint rows.
unsafe impl<T> Sync for DistanceOperands<T> {}

/// `out[b, i, j] = Σ_k (x[b, i, k] - y[b, j, k])²` of contiguous floats of one dtype.
pub fn squared_distances(x: View, y: View, out: ViewMut) {
    launch!("squared_distances", [x, y] => [out];; distances_between(x, y, &out));
}

/// The same for all pairs of rows of one matrix, each once: first row 0 with each later row, then row 1, and
/// so on.
pub fn squared_distances_within(x: View, out: ViewMut) {
    launch!("squared_distances", [x] => [out];; distances_within(x, &out));
}

fn distances_within(x: View, out: &ViewMut) {
    let (rows, columns) = (x.dims[0], x.dims[1]);
    assert!(x.is_contiguous() && out.is_contiguous());
    assert!(out.dims == [rows * rows.saturating_sub(1) / 2], "a number for each pair");
    with_float!([x, out], T => {
        // SAFETY: the operands have these dims.
        unsafe { distances_by_strips::<T>(x.at(0), x.at(0), out.at(0), (rows, rows, columns), true) }
    });
}

fn distances_between(x: View, y: View, out: &ViewMut) {
    let (sets, rows, columns, others) = (x.dims[0], x.dims[1], x.dims[2], y.dims[1]);
    assert!(x.is_contiguous() && y.is_contiguous() && out.is_contiguous());
    assert!(y.dims == [sets, others, columns] && out.dims == [sets, rows, others]);
    let blocks = (rows * others * columns / PIECE_ELEMENTS).clamp(1, rows.max(1));
    with_float!([x, y, out], T => {
        let operands = &DistanceOperands::<T>(x.at(0), y.at(0), out.at(0));
        parallel_for(sets * blocks, &|b| {
            let (set, block) = (b / blocks, b % blocks);
            let (start, end) = (block * rows / blocks, (block + 1) * rows / blocks);
            let first = set * rows + start;
            // SAFETY: the rows are inside the operands, and written by this block only.
            unsafe {
                let (x, y) = (operands.0.add(first * columns), operands.1.add(set * others * columns));
                distances_by_strips(x, y, operands.2.add(first * others), (end - start, others, columns), false);
            }
        });
    });
}

/// The distances of all pairs, or (`later`) only of rows with later rows.
///
/// # Safety
/// `rows` rows of `x` and `others` of `y` are readable; there is space for a number per pair.
unsafe fn distances_by_strips<T: Float>(
    x: *const T,
    y: *const T,
    out: *mut T,
    (rows, others, columns): (usize, usize, usize),
    later: bool,
) {
    let mut strip = vec![T::default(); columns * STRIP_ROWS];
    for first in (0..others).step_by(STRIP_ROWS) {
        let len = STRIP_ROWS.min(others - first);
        // SAFETY: the caller's contract; the unused rows of a short strip hold numbers and are not written
        // out.
        unsafe {
            let from = y.add(first * columns);
            transpose_block(
                from,
                columns as isize,
                strip.as_mut_ptr(),
                STRIP_ROWS as isize,
                (columns, len),
            );
            let rows = if later { first + len - 1 } else { rows };
            let from = if later { Some(first) } else { None };
            let to = if later { out } else { out.add(first) };
            strip_distances(x, (rows, columns), strip.as_ptr(), to, (others, len), from);
        }
    }
}

multiversion! {
    /// The squared distances of rows to those of a strip.
    unsafe fn strip_distances<T: Float>(
        x: *const T, size: (usize, usize), strip: *const T, out: *mut T, to: (usize, usize), later: Option<usize>,
    ) = strip_distances_body
}

/// # Safety
/// `rows` rows of `columns` elements and a strip are readable; `out` has rows of `others` numbers, of which
/// `len` are written. With `later`, the first row of the strip, `out` holds the pairs of rows with later
/// rows.
#[inline(always)]
unsafe fn strip_distances_body<T: Float>(
    x: *const T,
    (rows, columns): (usize, usize),
    strip: *const T,
    out: *mut T,
    (others, len): (usize, usize),
    later: Option<usize>,
) {
    for i in 0..rows {
        let (skip, to) = match later {
            None => (0, i * others),
            Some(first) => {
                let skip = (i + 1).saturating_sub(first);
                // Row `j` has `j + 1` pairs fewer than there are rows.
                (skip, i * others - i * (i + 1) / 2 + (first + skip) - (i + 1))
            }
        };
        let mut sums = [T::default(); STRIP_ROWS];
        // SAFETY: the caller's contract.
        unsafe {
            for k in 0..columns {
                let (a, at) = (*x.add(i * columns + k), strip.add(k * STRIP_ROWS));
                for (j, sum) in sums.iter_mut().enumerate() {
                    let difference = a - *at.add(j);
                    *sum = *sum + difference * difference;
                }
            }
            std::ptr::copy_nonoverlapping(sums.as_ptr().add(skip), out.add(to), len - skip);
        }
    }
}
