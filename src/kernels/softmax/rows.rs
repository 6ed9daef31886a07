//! Softmax and log-softmax, forward and first-order backward.
//!
//! Owns: their loops. Never reduces over another axis than the last.
//! Invariant: every row is shifted by its maximum, so nothing overflows that has a finite result.

use super::super::launch::launch;
use super::super::leveled::leveled_fma;
use super::super::reduce::LEAF;
use super::super::view::{View, ViewMut, with_float};
use super::float::{Float, by_rows, shape, shifted_sum_body};

/// `out = softmax(x)` along the last axis.
pub fn softmax(x: View, out: ViewMut) {
    launch!("softmax", [x] => [out];; with_float!([x, out], T => soft::<T>(x, out, false)));
}

/// `out = log(softmax(x))` along the last axis.
pub fn log_softmax(x: View, out: ViewMut) {
    launch!("log_softmax", [x] => [out];; with_float!([x, out], T => soft::<T>(x, out, true)));
}

fn soft<T: Float>(x: View, out: ViewMut, log: bool) {
    assert_eq!(x.dims, out.dims);
    let (rows, n) = shape(x.dims, &[x.is_contiguous(), out.is_contiguous()]);
    by_rows(rows, n, &|first, count| {
        let skip = (first * n) as isize;
        // SAFETY: the views are contiguous and hold these rows.
        unsafe {
            if log {
                log_rows::<T>(x.at(skip), out.at(skip), n, count);
            } else {
                soft_rows::<T>(x.at(skip), out.at(skip), n, count);
            }
        }
    });
}

/// The gradient of `softmax` from its result `y`: `y * (g - sum(g * y))`.
pub fn softmax_backward(y: View, g: View, out: ViewMut) {
    launch!(
        "softmax_backward", [y, g] => [out];;
        with_float!([y, g, out], T => soft_backward::<T>(y, g, out, false))
    );
}

/// The gradient of `log_softmax` from its result `y`: `g - exp(y) * sum(g)`.
pub fn log_softmax_backward(y: View, g: View, out: ViewMut) {
    launch!(
        "log_softmax_backward", [y, g] => [out];;
        with_float!([y, g, out], T => soft_backward::<T>(y, g, out, true))
    );
}

fn soft_backward<T: Float>(y: View, g: View, out: ViewMut, log: bool) {
    assert!(y.dims == out.dims && g.dims == out.dims);
    let whole = [y.is_contiguous(), g.is_contiguous(), out.is_contiguous()];
    let (rows, n) = shape(y.dims, &whole);
    by_rows(rows, n, &|first, count| {
        let skip = (first * n) as isize;
        // SAFETY: the views are contiguous and hold these rows.
        unsafe {
            if log {
                log_back_rows::<T>(y.at(skip), g.at(skip), out.at(skip), n, count);
            } else {
                soft_back_rows::<T>(y.at(skip), g.at(skip), out.at(skip), n, count);
            }
        }
    });
}

leveled_fma! {
    /// Softmax of `rows` rows of `n`.
    unsafe fn soft_rows<T: Float>(x: *const T, out: *mut T, n: usize, rows: usize) = soft_rows_body
}

/// # Safety
/// `x` and `out` hold `rows` rows of `n` elements.
#[inline(always)]
unsafe fn soft_rows_body<T: Float, const FMA: bool>(
    x: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
) {
    // Narrow rows share the loop of exponentials, so that it runs in full vectors.
    let group = (LEAF / n.max(1)).max(1);
    for first in (0..rows).step_by(group) {
        let count = group.min(rows - first);
        // SAFETY: the caller's contract.
        unsafe {
            let (x, out) = (x.add(first * n), out.add(first * n));
            for row in 0..count {
                let (x, out) = (x.add(row * n), out.add(row * n));
                let top = T::largest(x, n);
                for j in 0..n {
                    let shifted = *x.add(j) - top;
                    *out.add(j) = if group == 1 { shifted.exp::<FMA>() } else { shifted };
                }
            }
            for j in 0..if group == 1 { 0 } else { count * n } {
                *out.add(j) = (*out.add(j)).exp::<FMA>();
            }
            for row in 0..count {
                let out = out.add(row * n);
                let sum = T::total(out, n);
                for j in 0..n {
                    *out.add(j) = *out.add(j) / sum;
                }
            }
        }
    }
}

leveled_fma! {
    /// Log-softmax of `rows` rows of `n`.
    unsafe fn log_rows<T: Float>(x: *const T, out: *mut T, n: usize, rows: usize) = log_rows_body
}

/// # Safety
/// `x` and `out` hold `rows` rows of `n` elements.
#[inline(always)]
unsafe fn log_rows_body<T: Float, const FMA: bool>(
    x: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
) {
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (x, out) = (x.add(row * n), out.add(row * n));
            let top = T::largest(x, n);
            let log_sum = shifted_sum_body::<T, FMA>(x, n, top).ln();
            for j in 0..n {
                *out.add(j) = (*x.add(j) - top) - log_sum;
            }
        }
    }
}

leveled_fma! {
    /// Backward of softmax for `rows` rows of `n`.
    unsafe fn soft_back_rows<T: Float>(
        y: *const T, g: *const T, out: *mut T, n: usize, rows: usize,
    ) = soft_back_body
}

/// # Safety
/// `y`, `g` and `out` hold `rows` rows of `n` elements.
#[inline(always)]
unsafe fn soft_back_body<T: Float, const FMA: bool>(
    y: *const T,
    g: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
) {
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (y, g, out) = (y.add(row * n), g.add(row * n), out.add(row * n));
            for j in 0..n {
                *out.add(j) = *g.add(j) * *y.add(j);
            }
            let dot = T::total(out, n);
            for j in 0..n {
                *out.add(j) = *y.add(j) * (*g.add(j) - dot);
            }
        }
    }
}

leveled_fma! {
    /// Backward of log-softmax for `rows` rows of `n`.
    unsafe fn log_back_rows<T: Float>(
        y: *const T, g: *const T, out: *mut T, n: usize, rows: usize,
    ) = log_back_body
}

/// # Safety
/// `y`, `g` and `out` hold `rows` rows of `n` elements.
#[inline(always)]
unsafe fn log_back_body<T: Float, const FMA: bool>(
    y: *const T,
    g: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
) {
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (y, g, out) = (y.add(row * n), g.add(row * n), out.add(row * n));
            let sum = T::total(g, n);
            for j in 0..n {
                *out.add(j) = *g.add(j) - (*y.add(j)).exp::<FMA>() * sum;
            }
        }
    }
}
