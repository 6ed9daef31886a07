//! Helpers of the softmax loops: the float types, the split of rows over threads, the sum of exponentials.
//!
//! Invariant: rows are independent, so any split of them gives the same result.

use std::mem::MaybeUninit;

use crate::dtype::Element;
use crate::kernels::math;
use crate::kernels::reduce::{Fold, LEAF_ELEMENTS, Max, PairwiseTree, Sum, fold_rows};
use crate::kernels::simd::SimdFloat;
use crate::threads::parallel_ranges;

/// Elements per block of a split.
const BLOCK_ELEMENTS: usize = 1 << 15;

/// The float operations of softmax rows.
pub(super) trait Float:
    Element
    + SimdFloat
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    /// The exponential of a number that is at most zero, up to rounding.
    fn exp<const FMA: bool>(self) -> Self;
    /// The logarithm of a sum of numbers up to one, of which the largest is one.
    fn log<const FMA: bool>(self) -> Self;
    /// The quotient by a number of at least one whose reciprocal is known; cheaper than a division.
    fn divide<const FMA: bool>(self, by: Self, reciprocal: Self) -> Self;
    /// The larger number; NaN if one is.
    fn max_or_nan(self, o: Self) -> Self;
    /// The largest element of each of `rows` rows of `n`.
    ///
    /// # Safety
    /// The rows are readable, and there is space for as many results.
    unsafe fn row_max(p: *const Self, n: usize, out: *mut Self, rows: usize);
    /// The sums of rows.
    ///
    /// # Safety
    /// As `row_max`.
    unsafe fn row_sums(p: *const Self, n: usize, out: *mut Self, rows: usize);
}

macro_rules! float {
    ($($t:ident),*) => {$(
        impl Float for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            #[inline(always)]
            fn exp<const FMA: bool>(self) -> $t {
                math::$t::exp_of_negative::<FMA>(self)
            }
            #[inline(always)]
            fn log<const FMA: bool>(self) -> $t {
                math::$t::ln::<FMA>(self)
            }
            #[inline(always)]
            fn divide<const FMA: bool>(self, by: $t, reciprocal: $t) -> $t {
                if !FMA {
                    return self / by;
                }
                // The error of the product is exact.
                let quotient = self * reciprocal;
                (-quotient).mul_add(by, self).mul_add(reciprocal, quotient)
            }
            #[inline(always)]
            fn max_or_nan(self, o: $t) -> $t {
                Max::<$t>::merge(self, o)
            }
            #[inline(always)]
            unsafe fn row_max(p: *const $t, n: usize, out: *mut $t, rows: usize) {
                // SAFETY: the caller's contract.
                unsafe { fold_rows::<Max<$t>>(p, n, n as isize, out, 1, rows) }
            }
            #[inline(always)]
            unsafe fn row_sums(p: *const $t, n: usize, out: *mut $t, rows: usize) {
                // SAFETY: the caller's contract.
                unsafe { fold_rows::<Sum<$t>>(p, n, n as isize, out, 1, rows) }
            }
        }
    )*};
}
float!(f64, f32);

/// Rows and columns of contiguous operands of equal dims.
pub(super) fn shape(dims: &[usize], contiguous: &[bool]) -> (usize, usize) {
    let shape = AxisShape::of(dims, dims.len().saturating_sub(1), contiguous);
    (shape.outer, shape.n)
}

/// An axis of contiguous operands: the number of positions before it, along it and after it.
#[derive(Clone, Copy)]
pub(super) struct AxisShape {
    pub(super) outer: usize,
    pub(super) n: usize,
    pub(super) inner: usize,
}

impl AxisShape {
    pub(super) fn of(dims: &[usize], axis: usize, contiguous: &[bool]) -> AxisShape {
        assert!(contiguous.iter().all(|&c| c), "softmax takes contiguous operands");
        let (before, rest) = dims.split_at(axis);
        let (n, after) = rest.split_first().map_or((1, rest), |(&n, after)| (n, after));
        AxisShape { outer: before.iter().product(), n, inner: after.iter().product() }
    }
}

/// Runs `body(first row, row count)` over all rows, split over threads when there are many elements.
pub(super) fn for_row_blocks(rows: usize, columns: usize, body: &(dyn Fn(usize, usize) + Sync)) {
    if rows == 0 || columns == 0 {
        return;
    }
    let blocks = (rows * columns / BLOCK_ELEMENTS).clamp(1, rows);
    parallel_ranges(rows, blocks, &|first, end| body(first, end - first));
}

/// The pairwise sum of `exp(x - top)`.
///
/// # Safety
/// `x` holds `n` elements.
#[inline(always)]
pub(super) unsafe fn shifted_sum_body<T: Float, const FMA: bool>(
    x: *const T,
    n: usize,
    top: T,
) -> T {
    let mut buffer = [MaybeUninit::<T>::uninit(); LEAF_ELEMENTS];
    let mut tree = PairwiseTree::new();
    for start in (0..n).step_by(LEAF_ELEMENTS) {
        let len = LEAF_ELEMENTS.min(n - start);
        for (j, slot) in buffer[..len].iter_mut().enumerate() {
            // SAFETY: the caller's contract.
            slot.write((unsafe { *x.add(start + j) } - top).exp::<FMA>());
        }
        let mut part = T::ZERO;
        // SAFETY: the first `len` elements of the buffer were just written.
        unsafe { T::row_sums(buffer.as_ptr().cast(), len, &mut part, 1) };
        tree.push(part, |a, b| a + b);
    }
    tree.finish(|a, b| a + b).unwrap_or(T::ZERO)
}
