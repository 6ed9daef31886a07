//! Sums of squares that overflow or underflow, recomputed with scaled elements.
//!
//! Invariant: a row is recomputed depending on its sum alone, in the order of its elements.

use super::super::launch::launch;
use super::super::view::{Axes, View, ViewMut, with_float};
use crate::array::observer;
use crate::dtype::Element;
use crate::threads::parallel_for;

/// Rows of one block of a split.
const BLOCK_ROWS: usize = 1 << 14;

/// The range in which sums of squares are accurate, and the smallest scale.
#[derive(Clone, Copy, Debug)]
pub struct AccurateRange {
    /// Sums below have lost digits to underflow.
    pub low: f64,
    /// The largest number.
    pub high: f64,
    /// A power of two: divided by it, the smallest numbers have normal squares.
    pub unit: f64,
}

/// Whether all elements are contiguous and within the bounds. Always false in a trace: later runs have
/// other values.
pub fn all_within(x: View, (low, high): (f64, f64)) -> bool {
    if observer::is_active() {
        return false;
    }
    x.is_contiguous()
        && with_float!([x], T => {
            // SAFETY: the view is contiguous.
            let x = unsafe { std::slice::from_raw_parts(x.at::<T>(0), x.numel()) };
            is_within(x, (T::from_f64(low), T::from_f64(high)))
        })
}

/// Without early exit: faster when the answer is yes.
#[inline(always)]
fn is_within<T: Element + PartialOrd>(x: &[T], (low, high): (T, T)) -> bool {
    x.iter().fold(true, |inside, x| inside & (*x >= low) & (*x <= high))
}

/// The sums of squares of the rows of `x` times a factor per row: 1 if the computed sum is in range, or the
/// row has no better one. The row axes have size 1 in `sums`; all but `x` are contiguous.
pub fn scaled_sum_of_squares(
    x: View,
    sums: View,
    scaled: ViewMut,
    factors: ViewMut,
    range: &AccurateRange,
) {
    launch!("scaled_sum_of_squares", [x, sums] => [scaled, factors]; range = *range;
        rescale_rows(x, sums, &scaled, &factors, &range));
}

fn rescale_rows(x: View, sums: View, scaled: &ViewMut, factors: &ViewMut, range: &AccurateRange) {
    assert!(
        sums.dims == scaled.dims && sums.dims == factors.dims && x.dims.len() == sums.dims.len()
    );
    assert!(sums.is_contiguous() && scaled.is_contiguous() && factors.is_contiguous());
    let kept = Axes::new(sums.dims, [x.strides]).collapse(false);
    let inner = x.dims.iter().zip(sums.dims).map(|(&all, &kept)| if kept == 1 { all } else { 1 });
    let inner = Axes::new(&inner.collect::<Vec<usize>>(), [x.strides]).collapse(true);
    let rows = sums.numel();
    let blocks = (rows / BLOCK_ROWS).max(1);
    with_float!([x, sums, scaled, factors], T => parallel_for(blocks, &|b| {
        let (start, end) = (b * rows / blocks, (b + 1) * rows / blocks);
        let (from, len) = (start as isize, end - start);
        // SAFETY: the views have these elements, and the results are written by this block only.
        let (sums, scaled, factors) = unsafe {
            (
                std::slice::from_raw_parts(sums.at::<T>(from), len),
                std::slice::from_raw_parts_mut(scaled.at::<T>(from), len),
                std::slice::from_raw_parts_mut(factors.at::<T>(from), len),
            )
        };
        scaled.copy_from_slice(sums);
        factors.fill(T::from_f64(1.0));
        let ends = (T::from_f64(range.low), T::from_f64(range.high));
        if is_within(sums, ends) {
            return;
        }
        let mut row = 0;
        kept.for_range(start, end, &mut |[from]| {
            if !is_within(&sums[row..=row], ends) {
                // SAFETY: `x` has this row.
                let found = unsafe { rescaled_sum(x, from, &inner, (sums[row], *range)) };
                (scaled[row], factors[row]) = found;
            }
            row += 1;
        });
    }));
}

/// The sum of squares of a row times a factor: the power of two that brings the largest magnitude into [1,
/// 2).
///
/// # Safety
/// `x` is readable along `inner` from there.
#[cold]
#[inline(never)]
unsafe fn rescaled_sum<T: Element + PartialOrd>(
    x: View,
    from: isize,
    inner: &Axes<1>,
    (sum, range): (T, AccurateRange),
) -> (T, T) {
    // SAFETY: the caller's contract.
    let element = |at: isize| -> f64 { unsafe { *x.at::<T>(from + at) }.to_f64() };
    let (mut largest, mut finite) = (0.0f64, true);
    inner.for_each(|[at]| {
        let x = element(at).abs();
        finite &= x.is_finite();
        largest = largest.max(x);
    });
    if !finite || largest == 0.0 {
        return (sum, T::from_f64(1.0));
    }
    let factor = 1.0 / power_of_two(largest.max(range.unit));
    let mut squares = 0.0;
    inner.for_each(|[at]| squares += (element(at) * factor).powi(2));
    (T::from_f64(squares), T::from_f64(factor))
}

/// The power of two at or below a normal number.
fn power_of_two(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(x.to_bits() & EXPONENT)
}
