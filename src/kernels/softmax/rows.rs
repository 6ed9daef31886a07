//! Entry points of softmax and log-softmax, forward and first-order backward, and their loops along the last
//! axis.
//!
//! Invariant: every row is shifted by its maximum, so nothing overflows that has a finite result.

use super::super::launch::launch;
use super::super::reduce::LEAF_ELEMENTS;
use super::super::view::{View, ViewMut, with_float};
use super::columns::{for_each_tile, softmax_columns, softmax_columns_backward};
use super::masked_rows::{RowUpdate, update_rows};
use super::row_blocks::{AxisShape, Float, for_row_blocks, shifted_sum_body};
use crate::kernels::multiversion::leveled_fma;

/// `out = softmax(x)` along an axis.
pub fn softmax(x: View, axis: usize, out: ViewMut) {
    launch!("softmax", [x] => [out];; with_float!([x, out], T => softmax_forward::<T>(x, axis, out, false)));
}

/// `out = log(softmax(x))` along an axis.
pub fn log_softmax(x: View, axis: usize, out: ViewMut) {
    launch!("log_softmax", [x] => [out];; with_float!([x, out], T => softmax_forward::<T>(x, axis, out, true)));
}

fn softmax_forward<T: Float>(x: View, axis: usize, out: ViewMut, log: bool) {
    assert_eq!(x.dims, out.dims);
    let shape = AxisShape::of(x.dims, axis, &[x.is_contiguous(), out.is_contiguous()]);
    if shape.inner != 1 {
        return for_each_tile(shape, &|skip, tile| {
            let skip = skip as isize;
            // SAFETY: the views are contiguous and hold the tile.
            unsafe { softmax_columns::<T>(x.at(skip), out.at(skip), tile, log) }
        });
    }
    let n = shape.n;
    for_row_blocks(shape.outer, n, &|first, count| {
        let skip = (first * n) as isize;
        // SAFETY: the views are contiguous and hold these rows.
        unsafe { softmax_rows::<T>(x.at(skip), out.at(skip), n, count, log) }
    });
}

/// The gradient of `softmax` from its result `y`: `y * (g - sum(g * y))`.
pub fn softmax_backward(y: View, g: View, axis: usize, out: ViewMut) {
    launch!(
        "softmax_backward", [y, g] => [out];;
        with_float!([y, g, out], T => softmax_axis_backward::<T>(y, g, axis, out, false))
    );
}

/// The gradient of `log_softmax` from its result `y`: `g - exp(y) * sum(g)`.
pub fn log_softmax_backward(y: View, g: View, axis: usize, out: ViewMut) {
    launch!(
        "log_softmax_backward", [y, g] => [out];;
        with_float!([y, g, out], T => softmax_axis_backward::<T>(y, g, axis, out, true))
    );
}

fn softmax_axis_backward<T: Float>(y: View, g: View, axis: usize, out: ViewMut, log: bool) {
    assert!(y.dims == out.dims && g.dims == out.dims);
    let whole = [y.is_contiguous(), g.is_contiguous(), out.is_contiguous()];
    let shape = AxisShape::of(y.dims, axis, &whole);
    if shape.inner != 1 {
        return for_each_tile(shape, &|skip, tile| {
            let skip = skip as isize;
            // SAFETY: the views are contiguous and hold the tile.
            unsafe {
                softmax_columns_backward::<T>(y.at(skip), g.at(skip), out.at(skip), tile, log)
            }
        });
    }
    let n = shape.n;
    for_row_blocks(shape.outer, n, &|first, count| {
        let skip = (first * n) as isize;
        // SAFETY: the views are contiguous and hold these rows.
        unsafe { softmax_rows_backward::<T>(y.at(skip), g.at(skip), out.at(skip), n, count, log) }
    });
}

/// The most rows that are computed together.
const MAX_GROUP_ROWS: usize = 32;

leveled_fma! {
    /// Softmax or log-softmax of `rows` rows of `n`.
    unsafe fn softmax_rows<T: Float>(x: *const T, out: *mut T, n: usize, rows: usize, log: bool) = softmax_rows_body
}

/// # Safety
/// `x` and `out` hold `rows` rows of `n` elements, at least one, and do not overlap.
#[inline(always)]
unsafe fn softmax_rows_body<T: Float, const FMA: bool>(
    x: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
    log: bool,
) {
    // Short rows share the loop of exponentials, so that it runs in full vectors.
    let group = (LEAF_ELEMENTS / n).clamp(1, MAX_GROUP_ROWS);
    let (mut tops, mut sums) = ([T::ZERO; MAX_GROUP_ROWS], [T::ZERO; MAX_GROUP_ROWS]);
    for first in (0..rows).step_by(group) {
        let count = group.min(rows - first);
        // SAFETY: the caller's contract.
        unsafe {
            let (x, out) = (x.add(first * n), out.add(first * n));
            T::row_max(x, n, tops.as_mut_ptr(), count);
            if log && n > LEAF_ELEMENTS {
                sums[0] = shifted_sum_body::<T, FMA>(x, n, tops[0]);
            } else {
                update_rows::<T, FMA>(
                    RowUpdate::SubtractMax,
                    (x, out),
                    (count, n),
                    (tops.as_ptr(), tops.as_ptr()),
                );
                for j in 0..count * n {
                    *out.add(j) = (*out.add(j)).exp::<FMA>();
                }
                T::row_sums(out, n, sums.as_mut_ptr(), count);
            }
            if log {
                for sum in &mut sums {
                    *sum = sum.log::<FMA>();
                }
            }
            let (update, from) = if log {
                (RowUpdate::LogSoftmax, x)
            } else {
                (RowUpdate::DivideBySum, out.cast_const())
            };
            update_rows::<T, FMA>(update, (from, out), (count, n), (tops.as_ptr(), sums.as_ptr()));
        }
    }
}

leveled_fma! {
    /// Backward of softmax or log-softmax for `rows` rows of `n`.
    unsafe fn softmax_rows_backward<T: Float>(
        y: *const T, g: *const T, out: *mut T, n: usize, rows: usize, log: bool,
    ) = softmax_rows_backward_body
}

/// # Safety
/// `y`, `g` and `out` hold `rows` rows of `n` elements, at least one, and `out` overlaps neither.
#[inline(always)]
unsafe fn softmax_rows_backward_body<T: Float, const FMA: bool>(
    y: *const T,
    g: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
    log: bool,
) {
    let group = (LEAF_ELEMENTS / n).clamp(1, MAX_GROUP_ROWS);
    let mut sums = [T::ZERO; MAX_GROUP_ROWS];
    for first in (0..rows).step_by(group) {
        let count = group.min(rows - first);
        // SAFETY: the caller's contract.
        unsafe {
            let (y, g, out) = (y.add(first * n), g.add(first * n), out.add(first * n));
            for j in 0..count * n {
                let (y, g) = (*y.add(j), *g.add(j));
                *out.add(j) = if log { y.exp::<FMA>() } else { g * y };
            }
            T::row_sums(if log { g } else { out }, n, sums.as_mut_ptr(), count);
            for (row, &sum) in sums[..count].iter().enumerate() {
                for j in row * n..(row + 1) * n {
                    let (g, to) = (*g.add(j), out.add(j));
                    *to = if log { g - *to * sum } else { *y.add(j) * (g - sum) };
                }
            }
        }
    }
}
