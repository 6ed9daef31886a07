//! Sums of squares that leave the range of floats, again in a scale in which they do not.
//!
//! Owns: which sums these are, and their rows. Never computes a sum that is in range again.
//! Invariant: a row is decided by its sum alone, and computed in the order of its elements.

use super::super::launch::launch;
use super::super::view::{Axes, View, ViewMut, with_float};
use crate::array::capture;
use crate::dtype::Element;
use crate::threads::parallel_for;

/// Rows of one piece of a split.
const PIECE: usize = 1 << 14;

/// Where sums of squares have all their digits, and the least number to divide by.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Below this, sums lack digits of what was added.
    pub low: f64,
    /// The largest number.
    pub high: f64,
    /// A power of two: divided by that, the smallest numbers have squares.
    pub unit: f64,
}

/// Whether all of some numbers lie in C order and between two others. Never in a recording: later runs have other numbers.
pub fn are_within(x: View, (low, high): (f64, f64)) -> bool {
    if capture::active() {
        return false;
    }
    x.is_contiguous()
        && with_float!([x], T => {
            // SAFETY: so many elements lie there.
            let x = unsafe { std::slice::from_raw_parts(x.at::<T>(0), x.numel()) };
            within(x, (T::from_f64(low), T::from_f64(high)))
        })
}

/// Without a way out: that is faster where the answer is yes.
#[inline(always)]
fn within<T: Element + PartialOrd>(x: &[T], (low, high): (T, T)) -> bool {
    x.iter().fold(true, |within, x| within & (*x >= low) & (*x <= high))
}

/// The sums of squares of the rows of `x` times a factor for each row: 1 where the sum that was computed is in range, or the
/// row has no other. The axes of rows have size 1 in `sums`; all but `x` lie in C order.
pub fn scaled_sum_of_squares(
    x: View,
    sums: View,
    scaled: ViewMut,
    factors: ViewMut,
    range: &Range,
) {
    launch!("scaled_sum_of_squares", [x, sums] => [scaled, factors]; range = *range;
        of_rows(x, sums, &scaled, &factors, &range));
}

fn of_rows(x: View, sums: View, scaled: &ViewMut, factors: &ViewMut, range: &Range) {
    assert!(
        sums.dims == scaled.dims && sums.dims == factors.dims && x.dims.len() == sums.dims.len()
    );
    assert!(sums.is_contiguous() && scaled.is_contiguous() && factors.is_contiguous());
    let kept = Axes::new(sums.dims, [x.strides]).collapse(false);
    let inner = x.dims.iter().zip(sums.dims).map(|(&all, &kept)| if kept == 1 { all } else { 1 });
    let inner = Axes::new(&inner.collect::<Vec<usize>>(), [x.strides]).collapse(true);
    let rows = sums.numel();
    let blocks = (rows / PIECE).max(1);
    with_float!([x, sums, scaled, factors], T => parallel_for(blocks, &|b| {
        let (start, end) = (b * rows / blocks, (b + 1) * rows / blocks);
        let (from, len) = (start as isize, end - start);
        // SAFETY: the views have these elements, and the results are this block's own.
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
        if within(sums, ends) {
            return;
        }
        let mut row = 0;
        kept.for_range(start, end, &mut |[from]| {
            if !within(&sums[row..=row], ends) {
                // SAFETY: `x` has this row.
                let found = unsafe { again(x, from, &inner, (sums[row], *range)) };
                (scaled[row], factors[row]) = found;
            }
            row += 1;
        });
    }));
}

/// The sum of squares of a row times a factor: the power of two that makes the largest magnitude a number from 1 to 2.
///
/// # Safety
/// `x` is readable along `inner` from there.
#[cold]
#[inline(never)]
unsafe fn again<T: Element + PartialOrd>(
    x: View,
    from: isize,
    inner: &Axes<1>,
    (sum, range): (T, Range),
) -> (T, T) {
    // SAFETY: the caller's contract.
    let element = |at: isize| -> f64 { unsafe { *x.at::<T>(from + at) }.to_f64() };
    let (mut most, mut finite) = (0.0f64, true);
    inner.for_each(|[at]| {
        let x = element(at).abs();
        finite &= x.is_finite();
        most = most.max(x);
    });
    if !finite || most == 0.0 {
        return (sum, T::from_f64(1.0));
    }
    let factor = 1.0 / power_of_two(most.max(range.unit));
    let mut squares = 0.0;
    inner.for_each(|[at]| squares += (element(at) * factor).powi(2));
    (T::from_f64(squares), T::from_f64(factor))
}

/// The power of two at or below a normal number.
fn power_of_two(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(x.to_bits() & EXPONENT)
}
