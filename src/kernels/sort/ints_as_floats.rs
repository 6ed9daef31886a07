//! Sorts 64-bit integers with the float sort: each integer maps to a float of the same order, made of the
//! bits of its magnitude and sign.
//!
//! Invariant: all these floats are normal, so that no flush-to-zero mode of the CPU affects them.

use super::sort_avx512::doubles;
use crate::kernels::multiversion::multiversion;

const SIGN: u64 = 1 << 63;
/// The bits of the smallest normal float.
const MIN_NORMAL: u64 = 1 << 52;
/// The bits of infinity: the first value that is no finite float.
const INFINITY_BITS: u64 = 0x7ff << 52;

/// Sorts integers as floats: together if all are near the middle of their range, else the lower and the upper
/// half separately.
///
/// # Safety
/// The CPU has what `doubles` requires.
pub(super) unsafe fn sort(numbers: &mut [u64]) {
    // SAFETY: the caller's contract.
    unsafe {
        if all_fit(numbers.as_ptr(), numbers.len()) {
            return sort_near(SIGN, numbers);
        }
        let mut low = 0;
        for i in 0..numbers.len() {
            numbers.swap(i, low);
            low += usize::from(numbers[low] < SIGN);
        }
        let (low, high) = numbers.split_at_mut(low);
        sort_near(SIGN / 2, low);
        sort_near(SIGN + SIGN / 2, high);
    }
}

/// Sorts integers that are all near `zero`.
///
/// # Safety
/// The CPU has what `doubles` requires.
unsafe fn sort_near(zero: u64, numbers: &mut [u64]) {
    let (p, n) = (numbers.as_mut_ptr(), numbers.len());
    // SAFETY: floats have the size of the integers in whose memory they are, and the caller's contract.
    unsafe {
        to_floats(p, n, zero);
        doubles::sort(p.cast::<f64>(), p.cast::<f64>(), n);
        from_floats(p, n, zero);
    }
}

multiversion! {
    /// Whether the floats of all integers are finite if the middle of the range is zero.
    unsafe fn all_fit(at: *const u64, n: usize) -> bool = all_fit_body
}
multiversion! {
    /// Converts integers to their floats, in place.
    unsafe fn to_floats(at: *mut u64, n: usize, zero: u64) = to_floats_body
}
multiversion! {
    /// Converts the floats back, in place.
    unsafe fn from_floats(at: *mut u64, n: usize, zero: u64) = from_floats_body
}

#[inline(always)]
unsafe fn all_fit_body(at: *const u64, n: usize) -> bool {
    let mut beyond = 0;
    for i in 0..n {
        // SAFETY: the caller's contract.
        let signed = unsafe { *at.add(i) ^ SIGN } as i64;
        beyond |= u64::from(signed.unsigned_abs() >= INFINITY_BITS - MIN_NORMAL);
    }
    beyond == 0
}

#[inline(always)]
unsafe fn to_floats_body(at: *mut u64, n: usize, zero: u64) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        let number = unsafe { &mut *at.add(i) };
        let signed = number.wrapping_sub(zero) as i64;
        *number = (signed.unsigned_abs() + MIN_NORMAL) | signed as u64 & SIGN;
    }
}

#[inline(always)]
unsafe fn from_floats_body(at: *mut u64, n: usize, zero: u64) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        let number = unsafe { &mut *at.add(i) };
        let magnitude = (*number & !SIGN).wrapping_sub(MIN_NORMAL) as i64;
        let signed = if *number & SIGN == 0 { magnitude } else { magnitude.wrapping_neg() };
        *number = zero.wrapping_add(signed as u64);
    }
}
