//! Extremes of floats, of which one instruction merges two as long as there is no NaN.
//!
//! Owns: the loop over a leaf, with sums beside the lanes: they are no numbers where there is a NaN. So are those of both
//! infinities, which costs time only. Never splits work.
//! Invariant: which of two zeros or of several NaN it gives depends on the number of elements only.

use std::marker::PhantomData;

use super::fold::{Fold, NARROW, WIDE, halved, lanes, merge_block, prefetch};

/// Sums beside the lanes.
const FEW: usize = WIDE / 4;

/// A fold of numbers only: what becomes of a NaN is not said.
pub(super) struct Bare<F>(PhantomData<F>);

/// What `F`, which picks one of its floats, merges a leaf to; by lanes of `B`, which picks the same where there is no NaN.
///
/// # Safety
/// As `lanes`.
#[inline(always)]
pub(super) unsafe fn picked<F, B, T>(p: *const T, n: usize) -> T
where
    T: Copy + Default + PartialEq + std::ops::Add<Output = T>,
    F: Fold<In = T, Acc = T>,
    B: Fold<In = T, Acc = T>,
{
    // SAFETY: the caller's contract.
    unsafe {
        if n < WIDE {
            return lanes::<F>(p, n);
        }
        let (mut lanes, mut at) = ([B::IDENTITY; WIDE], p);
        let mut sums = [T::default(); FEW];
        for _ in 0..n / WIDE {
            prefetch(at, WIDE);
            add_block(&mut sums, at);
            merge_block::<B, WIDE>(&mut lanes, &mut at);
        }
        if !n.is_multiple_of(WIDE) {
            // Some count twice, which changes no extreme.
            at = p.add(n - WIDE);
            add_block(&mut sums, at);
            merge_block::<B, WIDE>(&mut lanes, &mut at);
        }
        if none(&sums) {
            return careful::<F, T>(p, n);
        }
        // Nothing is left over.
        let lanes = halved::<B, WIDE, 32>(lanes, 0, &mut at);
        let lanes = halved::<B, 32, 16>(lanes, 0, &mut at);
        let few = halved::<B, 16, NARROW>(lanes, 0, &mut at);
        let few = halved::<B, NARROW, 4>(few, 0, &mut at);
        let few = halved::<B, 4, 2>(few, 0, &mut at);
        halved::<B, 2, 1>(few, 0, &mut at)[0]
    }
}

/// Adds a block to the sums of its quarters.
///
/// # Safety
/// It is readable.
#[inline(always)]
unsafe fn add_block<T: Copy + std::ops::Add<Output = T>>(sums: &mut [T; FEW], at: *const T) {
    for (j, sum) in sums.iter_mut().enumerate() {
        // SAFETY: the caller's contract.
        let (a, b, c, d) =
            unsafe { (*at.add(j), *at.add(j + FEW), *at.add(j + 2 * FEW), *at.add(j + 3 * FEW)) };
        *sum = *sum + ((a + b) + (c + d));
    }
}

/// Whether one of the sums is no number.
#[inline(always)]
fn none<T: Copy + PartialEq>(sums: &[T; FEW]) -> bool {
    let mut any = false;
    for &sum in sums {
        #[allow(clippy::eq_op)]
        let nan = sum != sum;
        any |= nan;
    }
    any
}

/// The first NaN, or what all elements merge to: there is one, or there are numbers above and below zero, so that the order does
/// not matter.
///
/// # Safety
/// `n` elements are readable.
#[cold]
#[inline(never)]
unsafe fn careful<F: Fold<In = T, Acc = T>, T: Copy + PartialEq>(p: *const T, n: usize) -> T {
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
