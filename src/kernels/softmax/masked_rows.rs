//! The element updates of softmax rows, with SIMD that is masked at the end of a row; LLVM vectorises short
//! rows badly.
//!
//! Invariant: an element has the bits of the scalar loop.

use super::row_blocks::Float;
use crate::kernels::simd::{Lanes, leveled_simd};

/// An update of the elements of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowUpdate {
    /// `x - max`.
    SubtractMax,
    /// `(x - max) - sum`.
    LogSoftmax,
    /// `x / sum`.
    DivideBySum,
}

/// Writes `out` from `x` (rows, n), with a maximum and a sum per row. `FMA`: whether the CPU has the vectors.
///
/// # Safety
/// `x` and `out` hold the rows, and are the same or disjoint; there are as many maxima and sums.
#[inline(always)]
pub(super) unsafe fn update_rows<T: Float, const FMA: bool>(
    update: RowUpdate,
    (x, out): (*const T, *mut T),
    (rows, n): (usize, usize),
    (tops, sums): (*const T, *const T),
) {
    // SAFETY: the caller's contract.
    unsafe {
        // A masked load stalls on masked stores around it: quotients of short rows are scalar.
        let vectorises = update != RowUpdate::DivideBySum || n * size_of::<T>() >= 64;
        let (elements, of_rows) = ((x, out), (tops, sums));
        if FMA && vectorises && update_rows_simd(update, elements, (rows, n), of_rows).is_some() {
            return;
        }
        for row in 0..rows {
            let (top, sum) = (*tops.add(row), *sums.add(row));
            for j in row * n..(row + 1) * n {
                let (x, to) = (*x.add(j), out.add(j));
                *to = match update {
                    RowUpdate::SubtractMax => x - top,
                    RowUpdate::LogSoftmax => (x - top) - sum,
                    RowUpdate::DivideBySum => x / sum,
                };
            }
        }
    }
}

leveled_simd! {
    /// `update_rows` with explicit SIMD.
    unsafe fn update_rows_simd<T: Float>(
        update: RowUpdate, elements: (*const T, *mut T), size: (usize, usize), of_rows: (*const T, *const T),
    ) -> Option<()> = update_rows_simd_body
}

/// # Safety
/// As `update_rows`, on a CPU with the vectors.
#[inline(always)]
unsafe fn update_rows_simd_body<V: Lanes>(
    update: RowUpdate,
    (x, out): (*const V::Scalar, *mut V::Scalar),
    (rows, n): (usize, usize),
    (tops, sums): (*const V::Scalar, *const V::Scalar),
) where
    V::Scalar: Float,
{
    let zero = V::Scalar::ZERO;
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (x, out) = (x.add(row * n), out.add(row * n));
            let (top, sum) = (*tops.add(row), *sums.add(row));
            let with = [V::splat(zero - top), V::splat(zero - sum), V::splat(V::Scalar::ONE / sum)];
            let whole = n / V::LANES * V::LANES;
            for at in (0..whole).step_by(V::LANES) {
                apply(update, V::load(x.add(at)), with).store(out.add(at));
            }
            if whole < n {
                let mask = V::first_n(n - whole);
                apply(update, V::masked_load(x.add(whole), mask), with)
                    .masked_store(out.add(whole), mask);
            }
        }
    }
}

/// Applies an update, given the negated maximum, the negated sum, and the reciprocal of the sum.
#[inline(always)]
fn apply<V: Lanes>(update: RowUpdate, x: V, [minus_max, minus_sum, reciprocal]: [V; 3]) -> V {
    match update {
        RowUpdate::SubtractMax => x.add(minus_max),
        RowUpdate::LogSoftmax => x.add(minus_max).add(minus_sum),
        RowUpdate::DivideBySum => {
            // One Newton step: the error of the product is exact with FMA, so that the result is the
            // correctly rounded quotient.
            let quotient = x.mul_add(reciprocal, V::zero());
            quotient.mul_add(minus_sum, x).mul_add(reciprocal, quotient)
        }
    }
}
