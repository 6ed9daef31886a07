//! Whole numbers in order, sorted as floats.
//!
//! Owns: the floats that have the order of whole numbers: not their values, but the bits of their magnitude and sign.
//! Invariant: all of them are normal, so that no mode of the CPU takes them for zero.

use super::sort_avx512::doubles;
use crate::kernels::multiversion::leveled;

const SIGN: u64 = 1 << 63;
/// The bits of the least normal float.
const LEAST: u64 = 1 << 52;
/// The bits of what is no finite float.
const END: u64 = 0x7ff << 52;

/// Sorts numbers as floats: together where all lie about the middle of their range, else one half and then the other.
///
/// # Safety
/// The CPU has what `doubles` need.
pub(super) unsafe fn sort(numbers: &mut [u64]) {
    // SAFETY: the caller's contract.
    unsafe {
        if fit(numbers.as_ptr(), numbers.len()) {
            return around(SIGN, numbers);
        }
        let mut low = 0;
        for i in 0..numbers.len() {
            numbers.swap(i, low);
            low += usize::from(numbers[low] < SIGN);
        }
        let (low, high) = numbers.split_at_mut(low);
        around(SIGN / 2, low);
        around(SIGN + SIGN / 2, high);
    }
}

/// Sorts numbers of which none is far from this one.
///
/// # Safety
/// The CPU has what `doubles` need.
unsafe fn around(zero: u64, numbers: &mut [u64]) {
    let (p, n) = (numbers.as_mut_ptr(), numbers.len());
    // SAFETY: floats are as large as the numbers in whose place they lie, and the caller's contract.
    unsafe {
        floats_of(p, n, zero);
        doubles::sort(p.cast::<f64>(), p.cast::<f64>(), n);
        wholes_of(p, n, zero);
    }
}

leveled! {
    /// Whether the floats of all numbers are finite if the middle is zero.
    unsafe fn fit(at: *const u64, n: usize) -> bool = fit_loop
}
leveled! {
    /// Writes their floats over numbers.
    unsafe fn floats_of(at: *mut u64, n: usize, zero: u64) = float_loop
}
leveled! {
    /// Writes the numbers over their floats.
    unsafe fn wholes_of(at: *mut u64, n: usize, zero: u64) = whole_loop
}

#[inline(always)]
unsafe fn fit_loop(at: *const u64, n: usize) -> bool {
    let mut beyond = 0;
    for i in 0..n {
        // SAFETY: the caller's contract.
        let signed = unsafe { *at.add(i) ^ SIGN } as i64;
        beyond |= u64::from(signed.unsigned_abs() >= END - LEAST);
    }
    beyond == 0
}

#[inline(always)]
unsafe fn float_loop(at: *mut u64, n: usize, zero: u64) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        let number = unsafe { &mut *at.add(i) };
        let signed = number.wrapping_sub(zero) as i64;
        *number = (signed.unsigned_abs() + LEAST) | signed as u64 & SIGN;
    }
}

#[inline(always)]
unsafe fn whole_loop(at: *mut u64, n: usize, zero: u64) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        let number = unsafe { &mut *at.add(i) };
        let magnitude = (*number & !SIGN).wrapping_sub(LEAST) as i64;
        let signed = if *number & SIGN == 0 { magnitude } else { magnitude.wrapping_neg() };
        *number = zero.wrapping_add(signed as u64);
    }
}
