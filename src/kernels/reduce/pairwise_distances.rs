//! Sums over pairs of rows: the squared distances of each row from each other one.
//!
//! Owns: their loop, over rows that lie side by side in a turned strip. Never multiplies rows out in place of their
//! differences. Invariant: a pair is added in the order of its columns, whatever the strip is.

use std::ops::{Add, Mul, Sub};

use crate::kernels::launch::launch;
use crate::kernels::multiversion::leveled;
use crate::kernels::transpose::turn;
use crate::kernels::view::{View, ViewMut, with_float};
use crate::threads::parallel_for;

/// Rows of the second operand that are computed with together.
pub(super) const WIDTH: usize = 32;
/// Differences of one piece of a split.
pub(super) const PIECE: usize = 1 << 17;

/// A float, as these loops compute with it.
pub(super) trait Number:
    Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
}
impl Number for f32 {}
impl Number for f64 {}

/// The operands as addresses.
struct Sides<T>(*const T, *const T, *mut T);
// SAFETY: made from views, which are Send + Sync; blocks write disjoint rows.
unsafe impl<T> Sync for Sides<T> {}

/// `out[b, i, j] = Σ_k (x[b, i, k] - y[b, j, k])²` of contiguous floats of one dtype.
pub fn squared_distances(x: View, y: View, out: ViewMut) {
    launch!("squared_distances", [x, y] => [out];; of_pairs(x, y, &out));
}

/// The same of each pair of rows of one matrix, once: the pairs of the first row, then those of the second with later ones.
pub fn squared_distances_within(x: View, out: ViewMut) {
    launch!("squared_distances", [x] => [out];; within(x, &out));
}

fn within(x: View, out: &ViewMut) {
    let (rows, columns) = (x.dims[0], x.dims[1]);
    assert!(x.is_contiguous() && out.is_contiguous());
    assert!(out.dims == [rows * rows.saturating_sub(1) / 2], "a number for each pair");
    with_float!([x, out], T => {
        // SAFETY: the operands have these dims.
        unsafe { strips::<T>(x.at(0), x.at(0), out.at(0), (rows, rows, columns), true) }
    });
}

fn of_pairs(x: View, y: View, out: &ViewMut) {
    let (sets, rows, columns, others) = (x.dims[0], x.dims[1], x.dims[2], y.dims[1]);
    assert!(x.is_contiguous() && y.is_contiguous() && out.is_contiguous());
    assert!(y.dims == [sets, others, columns] && out.dims == [sets, rows, others]);
    let blocks = (rows * others * columns / PIECE).clamp(1, rows.max(1));
    with_float!([x, y, out], T => {
        let sides = &Sides::<T>(x.at(0), y.at(0), out.at(0));
        parallel_for(sets * blocks, &|b| {
            let (set, block) = (b / blocks, b % blocks);
            let (start, end) = (block * rows / blocks, (block + 1) * rows / blocks);
            let first = set * rows + start;
            // SAFETY: the rows are inside the operands, and this block's own.
            unsafe {
                let (x, y) = (sides.0.add(first * columns), sides.1.add(set * others * columns));
                strips(x, y, sides.2.add(first * others), (end - start, others, columns), false);
            }
        });
    });
}

/// Those of all pairs, or only of rows with later ones.
///
/// # Safety
/// `rows` rows of `x` and `others` of `y` are readable; there is room for a number of each pair.
unsafe fn strips<T: Number>(
    x: *const T,
    y: *const T,
    out: *mut T,
    (rows, others, columns): (usize, usize, usize),
    later: bool,
) {
    let mut strip = vec![T::default(); columns * WIDTH];
    for first in (0..others).step_by(WIDTH) {
        let len = WIDTH.min(others - first);
        // SAFETY: the caller's contract; what a short strip leaves over is a number, and not written out.
        unsafe {
            let from = y.add(first * columns);
            turn(from, columns as isize, strip.as_mut_ptr(), WIDTH as isize, (columns, len));
            let rows = if later { first + len - 1 } else { rows };
            let from = if later { Some(first) } else { None };
            let to = if later { out } else { out.add(first) };
            against(x, (rows, columns), strip.as_ptr(), to, (others, len), from);
        }
    }
}

leveled! {
    /// The squared distances of rows from those of a strip.
    unsafe fn against<T: Number>(
        x: *const T, size: (usize, usize), strip: *const T, out: *mut T, to: (usize, usize), later: Option<usize>,
    ) = against_body
}

/// # Safety
/// As many rows of as many elements are readable, and a strip; there is room for rows of the first of `to`, of which the
/// second are written; or, where the strip begins with the row `later`, room for the pairs of rows with later ones.
#[inline(always)]
unsafe fn against_body<T: Number>(
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
        let mut sums = [T::default(); WIDTH];
        // SAFETY: the caller's contract.
        unsafe {
            for k in 0..columns {
                let (a, at) = (*x.add(i * columns + k), strip.add(k * WIDTH));
                for (j, sum) in sums.iter_mut().enumerate() {
                    let apart = a - *at.add(j);
                    *sum = *sum + apart * apart;
                }
            }
            std::ptr::copy_nonoverlapping(sums.as_ptr().add(skip), out.add(to), len - skip);
        }
    }
}
