//! Max and min of floats with one SIMD instruction per merge, as long as there is no NaN.
//!
//! Sums beside the lanes detect NaN: they become NaN. Sums of both infinities do, too, which costs only time.
//! Invariant: which of two zeros or of several NaN is the result depends on the number of elements only.

use std::marker::PhantomData;

use super::fold::{Fold, NARROW_LANES, WIDE_LANES, fold_lanes, halve_lanes, merge_block, prefetch};

/// Sums beside the lanes.
const SUM_LANES: usize = WIDE_LANES / 4;

/// A fold of the same elements with undefined results for NaN.
pub(super) struct IgnoreNan<F>(PhantomData<F>);

/// `Fold::leaf` of `F`, an extreme, with lanes of `B`, which gives the same where there is no NaN.
///
/// # Safety
/// As `fold_lanes`.
#[inline(always)]
pub(super) unsafe fn extreme_leaf<F, B, T>(p: *const T, n: usize) -> T
where
    T: Copy + Default + PartialEq + std::ops::Add<Output = T>,
    F: Fold<In = T, Acc = T>,
    B: Fold<In = T, Acc = T>,
{
    // SAFETY: the caller's contract.
    unsafe {
        if n < WIDE_LANES {
            return fold_lanes::<F>(p, n);
        }
        let (mut lanes, mut at) = ([B::IDENTITY; WIDE_LANES], p);
        let mut sums = [T::default(); SUM_LANES];
        for _ in 0..n / WIDE_LANES {
            prefetch(at, WIDE_LANES);
            add_block(&mut sums, at);
            merge_block::<B, WIDE_LANES>(&mut lanes, &mut at);
        }
        if !n.is_multiple_of(WIDE_LANES) {
            // The last block overlaps the one before, which changes no extreme.
            at = p.add(n - WIDE_LANES);
            add_block(&mut sums, at);
            merge_block::<B, WIDE_LANES>(&mut lanes, &mut at);
        }
        if any_nan(&sums) {
            return fold_with_nan::<F, T>(p, n);
        }
        // There is no remainder.
        let lanes = halve_lanes::<B, WIDE_LANES, 32>(lanes, 0, &mut at);
        let lanes = halve_lanes::<B, 32, 16>(lanes, 0, &mut at);
        let narrow = halve_lanes::<B, 16, NARROW_LANES>(lanes, 0, &mut at);
        let narrow = halve_lanes::<B, NARROW_LANES, 4>(narrow, 0, &mut at);
        let narrow = halve_lanes::<B, 4, 2>(narrow, 0, &mut at);
        halve_lanes::<B, 2, 1>(narrow, 0, &mut at)[0]
    }
}

/// Adds a block to the sums of its quarters.
///
/// # Safety
/// It is readable.
#[inline(always)]
unsafe fn add_block<T: Copy + std::ops::Add<Output = T>>(sums: &mut [T; SUM_LANES], at: *const T) {
    for (j, sum) in sums.iter_mut().enumerate() {
        // SAFETY: the caller's contract.
        let (a, b, c, d) = unsafe {
            (
                *at.add(j),
                *at.add(j + SUM_LANES),
                *at.add(j + 2 * SUM_LANES),
                *at.add(j + 3 * SUM_LANES),
            )
        };
        *sum = *sum + ((a + b) + (c + d));
    }
}

/// Whether one of the sums is NaN.
#[inline(always)]
fn any_nan<T: Copy + PartialEq>(sums: &[T; SUM_LANES]) -> bool {
    let mut any = false;
    for &sum in sums {
        #[allow(clippy::eq_op)]
        let nan = sum != sum;
        any |= nan;
    }
    any
}

/// The first NaN, or the extreme of all elements. With a NaN or elements of both signs, the order does not
/// matter.
///
/// # Safety
/// `n` elements are readable.
#[cold]
#[inline(never)]
unsafe fn fold_with_nan<F: Fold<In = T, Acc = T>, T: Copy + PartialEq>(p: *const T, n: usize) -> T {
    let mut merged = F::IDENTITY;
    for i in 0..n {
        // SAFETY: the caller's contract.
        merged = F::merge(merged, unsafe { *p.add(i) });
        #[allow(clippy::eq_op)]
        if merged != merged {
            break;
        }
    }
    merged
}
