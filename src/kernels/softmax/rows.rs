//! Softmax and log-softmax along the last axis, forward and first-order backward; and the choice of the loops of any axis.
//!
//! Owns: the entrances and the loops of rows.
//! Invariant: every row is shifted by its maximum, so nothing overflows that has a finite result.

use super::super::launch::launch;
use super::super::reduce::LEAF;
use super::super::view::{View, ViewMut, with_float};
use super::columns::{back_columns, by_tiles, soft_columns};
use super::masked_rows::{Spread, spread};
use super::row_blocks::{Float, Shape, by_rows, shifted_sum_body};
use crate::kernels::multiversion::leveled_fma;

/// `out = softmax(x)` along an axis.
pub fn softmax(x: View, axis: usize, out: ViewMut) {
    launch!("softmax", [x] => [out];; with_float!([x, out], T => soft::<T>(x, axis, out, false)));
}

/// `out = log(softmax(x))` along an axis.
pub fn log_softmax(x: View, axis: usize, out: ViewMut) {
    launch!("log_softmax", [x] => [out];; with_float!([x, out], T => soft::<T>(x, axis, out, true)));
}

fn soft<T: Float>(x: View, axis: usize, out: ViewMut, log: bool) {
    assert_eq!(x.dims, out.dims);
    let shape = Shape::of(x.dims, axis, &[x.is_contiguous(), out.is_contiguous()]);
    if shape.inner != 1 {
        return by_tiles(shape, &|skip, tile| {
            let skip = skip as isize;
            // SAFETY: the views are contiguous and hold the tile.
            unsafe { soft_columns::<T>(x.at(skip), out.at(skip), tile, log) }
        });
    }
    let n = shape.n;
    by_rows(shape.outer, n, &|first, count| {
        let skip = (first * n) as isize;
        // SAFETY: the views are contiguous and hold these rows.
        unsafe { soft_rows::<T>(x.at(skip), out.at(skip), n, count, log) }
    });
}

/// The gradient of `softmax` from its result `y`: `y * (g - sum(g * y))`.
pub fn softmax_backward(y: View, g: View, axis: usize, out: ViewMut) {
    launch!(
        "softmax_backward", [y, g] => [out];;
        with_float!([y, g, out], T => soft_backward::<T>(y, g, axis, out, false))
    );
}

/// The gradient of `log_softmax` from its result `y`: `g - exp(y) * sum(g)`.
pub fn log_softmax_backward(y: View, g: View, axis: usize, out: ViewMut) {
    launch!(
        "log_softmax_backward", [y, g] => [out];;
        with_float!([y, g, out], T => soft_backward::<T>(y, g, axis, out, true))
    );
}

fn soft_backward<T: Float>(y: View, g: View, axis: usize, out: ViewMut, log: bool) {
    assert!(y.dims == out.dims && g.dims == out.dims);
    let whole = [y.is_contiguous(), g.is_contiguous(), out.is_contiguous()];
    let shape = Shape::of(y.dims, axis, &whole);
    if shape.inner != 1 {
        return by_tiles(shape, &|skip, tile| {
            let skip = skip as isize;
            // SAFETY: the views are contiguous and hold the tile.
            unsafe { back_columns::<T>(y.at(skip), g.at(skip), out.at(skip), tile, log) }
        });
    }
    let n = shape.n;
    by_rows(shape.outer, n, &|first, count| {
        let skip = (first * n) as isize;
        // SAFETY: the views are contiguous and hold these rows.
        unsafe { back_rows::<T>(y.at(skip), g.at(skip), out.at(skip), n, count, log) }
    });
}

/// Rows that are computed together at most.
const GROUP: usize = 32;

leveled_fma! {
    /// Softmax of `rows` rows of `n`, or its logarithm.
    unsafe fn soft_rows<T: Float>(x: *const T, out: *mut T, n: usize, rows: usize, log: bool) = soft_rows_body
}

/// # Safety
/// `x` and `out` hold `rows` rows of `n` elements, at least one, and do not overlap.
#[inline(always)]
unsafe fn soft_rows_body<T: Float, const FMA: bool>(
    x: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
    log: bool,
) {
    // Short rows share the loop of exponentials, so that it runs in full vectors.
    let group = (LEAF / n).clamp(1, GROUP);
    let (mut tops, mut sums) = ([T::ZERO; GROUP], [T::ZERO; GROUP]);
    for first in (0..rows).step_by(group) {
        let count = group.min(rows - first);
        // SAFETY: the caller's contract.
        unsafe {
            let (x, out) = (x.add(first * n), out.add(first * n));
            T::largest(x, n, tops.as_mut_ptr(), count);
            if log && n > LEAF {
                sums[0] = shifted_sum_body::<T, FMA>(x, n, tops[0]);
            } else {
                spread::<T, FMA>(
                    Spread::Shifted,
                    (x, out),
                    (count, n),
                    (tops.as_ptr(), tops.as_ptr()),
                );
                for j in 0..count * n {
                    *out.add(j) = (*out.add(j)).exp::<FMA>();
                }
                T::total(out, n, sums.as_mut_ptr(), count);
            }
            if log {
                for sum in &mut sums {
                    *sum = sum.log::<FMA>();
                }
            }
            let (how, from) =
                if log { (Spread::Log, x) } else { (Spread::Quotient, out.cast_const()) };
            spread::<T, FMA>(how, (from, out), (count, n), (tops.as_ptr(), sums.as_ptr()));
        }
    }
}

leveled_fma! {
    /// Backward of softmax for `rows` rows of `n`, or of its logarithm.
    unsafe fn back_rows<T: Float>(
        y: *const T, g: *const T, out: *mut T, n: usize, rows: usize, log: bool,
    ) = back_rows_body
}

/// # Safety
/// `y`, `g` and `out` hold `rows` rows of `n` elements, at least one, and `out` overlaps neither.
#[inline(always)]
unsafe fn back_rows_body<T: Float, const FMA: bool>(
    y: *const T,
    g: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
    log: bool,
) {
    let group = (LEAF / n).clamp(1, GROUP);
    let mut sums = [T::ZERO; GROUP];
    for first in (0..rows).step_by(group) {
        let count = group.min(rows - first);
        // SAFETY: the caller's contract.
        unsafe {
            let (y, g, out) = (y.add(first * n), g.add(first * n), out.add(first * n));
            for j in 0..count * n {
                let (y, g) = (*y.add(j), *g.add(j));
                *out.add(j) = if log { y.exp::<FMA>() } else { g * y };
            }
            T::total(if log { g } else { out }, n, sums.as_mut_ptr(), count);
            for (row, &sum) in sums[..count].iter().enumerate() {
                for j in row * n..(row + 1) * n {
                    let (g, to) = (*g.add(j), out.add(j));
                    *to = if log { g - *to * sum } else { *y.add(j) * (g - sum) };
                }
            }
        }
    }
}
