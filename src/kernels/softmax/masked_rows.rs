//! What rows of softmax do with their maxima and sums, in vectors that are masked at the end of a row.
//!
//! Owns: the three loops of rows that the compiler would cut into single elements where rows are short. Never exponentiates.
//! Invariant: an element has the bits that the plain loop gives it.

use super::row_blocks::Float;
#[cfg(target_arch = "x86_64")]
use crate::kernels::simd::Lanes;

/// What becomes of the elements of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// `x - top`.
    Shifted,
    /// `(x - top) - sum`.
    Log,
    /// `x / sum`.
    Quotient,
}

/// `out` from `x` (rows, n), with a maximum and a sum for each row. `FMA`: whether the CPU has vectors.
///
/// # Safety
/// `x` and `out` hold the rows, and are one or apart; there are as many maxima and sums.
#[inline(always)]
pub(super) unsafe fn spread<T: Float, const FMA: bool>(
    how: Spread,
    (x, out): (*const T, *mut T),
    (rows, n): (usize, usize),
    (tops, sums): (*const T, *const T),
) {
    // SAFETY: the caller's contract.
    unsafe {
        // A masked read waits for masked writes around it: of short rows, quotients are taken one by one.
        let apart = how != Spread::Quotient || n * size_of::<T>() >= 64;
        if FMA && apart && T::by_vectors(how, (x, out), (rows, n), (tops, sums)) {
            return;
        }
        for row in 0..rows {
            let (top, sum) = (*tops.add(row), *sums.add(row));
            for j in row * n..(row + 1) * n {
                let (x, to) = (*x.add(j), out.add(j));
                *to = match how {
                    Spread::Shifted => x - top,
                    Spread::Log => (x - top) - sum,
                    Spread::Quotient => x / sum,
                };
            }
        }
    }
}

/// # Safety
/// As `spread`, on a CPU with the vectors.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn in_vectors<V: Lanes>(
    how: Spread,
    (x, out): (*const V::Part, *mut V::Part),
    (rows, n): (usize, usize),
    (tops, sums): (*const V::Part, *const V::Part),
) where
    V::Part: Float,
{
    let zero = V::Part::ZERO;
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (x, out) = (x.add(row * n), out.add(row * n));
            let (top, sum) = (*tops.add(row), *sums.add(row));
            let with = [V::all(zero - top), V::all(zero - sum), V::all(V::Part::ONE / sum)];
            let whole = n / V::LANES * V::LANES;
            for at in (0..whole).step_by(V::LANES) {
                changed(how, V::read(x.add(at)), with).write(out.add(at));
            }
            if whole < n {
                let mask = V::first(n - whole);
                changed(how, V::read_some(x.add(whole), mask), with)
                    .write_some(out.add(whole), mask);
            }
        }
    }
}

/// With what is added for the maximum, for the sum, and the reciprocal of the sum.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn changed<V: Lanes>(how: Spread, x: V, [below, less, reciprocal]: [V; 3]) -> V {
    match how {
        Spread::Shifted => x.add(below),
        Spread::Log => x.add(below).add(less),
        Spread::Quotient => {
            // What the product lacks is exact, so that the sum is the quotient.
            let near = x.fused(reciprocal, V::zero());
            near.fused(less, x).fused(reciprocal, near)
        }
    }
}
