//! Sums of squares that leave the range of floats, again in a scale in which they do not.
//!
//! Owns: which sums these are, and their rows. Never computes a sum that is in range again.
//! Invariant: a row is decided by its sum alone, and computed in the order of its elements.

use super::super::launch::launch;
use super::super::view::{Axes, View, ViewMut, with_float};
use crate::threads::parallel_for;

/// Rows of one piece of a split.
const PIECE: usize = 1 << 14;

/// A float, as these rows compute with it: in float64.
trait Number: Copy + Send + Sync + Into<f64> + 'static {
    fn rounded(x: f64) -> Self;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn rounded(x: f64) -> $t {
                x as $t
            }
        }
    )*};
}
numbers!(f64, f32);

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

impl Range {
    #[inline(always)]
    fn has(self, sum: f64) -> bool {
        sum >= self.low && sum <= self.high
    }
}

/// Whether all numbers lie between two others.
pub fn are_within(x: View, (low, high): (f64, f64)) -> bool {
    let axes = Axes::new(x.dims, [x.strides]).collapse(true);
    let mut within = true;
    with_float!([x], T => axes.for_each(|[at]| {
        // SAFETY: the view is valid at its elements.
        let x: f64 = unsafe { *x.at::<T>(at) }.into();
        within &= x >= low && x <= high;
    }));
    within
}

/// The sums of squares of the rows of `x` times a factor for each row: 1 where the sum that was computed is in range, or the
/// row has no other. The axes of rows have size 1 in `sums`.
pub fn rescaled_squares(x: View, sums: View, scaled: ViewMut, factors: ViewMut, range: Range) {
    launch!("rescaled_squares", [x, sums] => [scaled, factors]; range = range;
        of_rows(x, sums, &scaled, &factors, range));
}

fn of_rows(x: View, sums: View, scaled: &ViewMut, factors: &ViewMut, range: Range) {
    assert!(
        sums.dims == scaled.dims && sums.dims == factors.dims && x.dims.len() == sums.dims.len()
    );
    let kept = Axes::new(sums.dims, [x.strides, sums.strides, scaled.strides, factors.strides]);
    let kept = kept.collapse(true);
    let inner = x.dims.iter().zip(sums.dims).map(|(&all, &kept)| if kept == 1 { all } else { 1 });
    let inner = Axes::new(&inner.collect::<Vec<usize>>(), [x.strides]).collapse(true);
    let rows = kept.count();
    let blocks = (rows / PIECE).max(1);
    with_float!([x, sums, scaled, factors], T => parallel_for(blocks, &|b| {
        let (start, end) = (b * rows / blocks, (b + 1) * rows / blocks);
        kept.for_range(start, end, &mut |[from, sum, to, factor]| {
            // SAFETY: the views are valid at these elements, and the results are this block's own.
            unsafe {
                let (sum, of) = (*sums.at::<T>(sum), <T as Number>::rounded(1.0));
                let plain = range.has(sum.into());
                let (sum, of) = if plain { (sum, of) } else { again(x, from, &inner, (sum, range)) };
                *scaled.at::<T>(to) = sum;
                *factors.at::<T>(factor) = of;
            }
        });
    }));
}

/// The sum of squares of a row times a factor: the power of two that makes the largest magnitude a number from 1 to 2.
///
/// # Safety
/// `x` is readable along `inner` from there.
#[cold]
#[inline(never)]
unsafe fn again<T: Number>(
    x: View,
    from: isize,
    inner: &Axes<1>,
    (sum, range): (T, Range),
) -> (T, T) {
    // SAFETY: the caller's contract.
    let element = |at: isize| -> f64 { unsafe { *x.at::<T>(from + at) }.into() };
    let (mut most, mut finite) = (0.0f64, true);
    inner.for_each(|[at]| {
        let x = element(at).abs();
        finite &= x.is_finite();
        most = most.max(x);
    });
    if !finite || most == 0.0 {
        return (sum, T::rounded(1.0));
    }
    let factor = 1.0 / power_of_two(most.max(range.unit));
    let mut squares = 0.0;
    inner.for_each(|[at]| squares += (element(at) * factor).powi(2));
    (T::rounded(squares), T::rounded(factor))
}

/// The power of two at or below a normal number.
fn power_of_two(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(x.to_bits() & EXPONENT)
}
