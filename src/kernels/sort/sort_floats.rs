//! Sorts floats with the SIMD sort, which cannot handle NaN and does not order zeros by sign.
//!
//! Invariant: the result is that of sorting by the keys that distinguish zeros.

use std::slice::{from_raw_parts, from_raw_parts_mut};

use super::total_order::{SortFn, SortKey};
use crate::kernels::multiversion::multiversion;

/// Up to this many elements are searched for NaN first: they are in the L1 cache then.
const NAN_SCAN_ELEMENTS: usize = 4096;

/// Sorts floats, in place or to other memory. Negative zeros come before positive ones, and every NaN becomes
/// the same.
///
/// # Safety
/// Both places hold `n` elements, and the CPU has what the sort requires.
pub(super) unsafe fn sort_floats<T: SortKey + Default + PartialOrd>(
    from: *const T,
    to: *mut T,
    n: usize,
    descending: bool,
    sort: SortFn<T>,
) {
    let mut kept = n;
    // SAFETY: the caller's contract.
    unsafe {
        if from_raw_parts(from, n).is_sorted() {
            to.copy_from(from, n);
        } else {
            let scans_first = n <= NAN_SCAN_ELEMENTS || std::ptr::eq(from, to);
            let found = scans_first && has_nan(from, n);
            if found {
                to.copy_from(from, n);
            }
            if found || !sort(from, to, n) {
                kept = without_nan(from_raw_parts_mut(to, n));
                sort(to, to, kept);
            }
        }
        order_zeros(from_raw_parts_mut(to, kept));
        if descending {
            from_raw_parts_mut(to, n).reverse();
        }
    }
}

/// Moves NaNs to the end and makes them equal; returns how many numbers there are.
fn without_nan<T: SortKey>(elements: &mut [T]) -> usize {
    let mut kept = 0;
    for i in 0..elements.len() {
        let element = elements[i];
        elements[kept] = element;
        kept += usize::from(!element.is_nan_value());
    }
    elements[kept..].fill(T::from_signed_zero_key(!T::Key::default()));
    kept
}

/// Orders zeros, which are adjacent, by their signs.
fn order_zeros<T: SortKey + Default + PartialOrd>(sorted: &mut [T]) {
    let zero = T::default();
    let below = sorted.partition_point(|&x| x < zero);
    let zeros = sorted[below..].partition_point(|&x| x <= zero);
    if zeros > 1 {
        let zeros = &mut sorted[below..below + zeros];
        let positive = zero.signed_zero_key();
        let split = zeros.iter().filter(|x| x.signed_zero_key() < positive).count();
        zeros[..split].fill(T::from_signed_zero_key(!positive));
        zeros[split..].fill(zero);
    }
}

multiversion! {
    /// Whether there is a NaN among the elements.
    unsafe fn has_nan<T: SortKey>(from: *const T, n: usize) -> bool = has_nan_body
}

#[inline(always)]
unsafe fn has_nan_body<T: SortKey>(from: *const T, n: usize) -> bool {
    let mut found = 0;
    for i in 0..n {
        // SAFETY: the caller's contract.
        let element = unsafe { *from.add(i) };
        found |= u32::from(element.is_nan_value());
    }
    found != 0
}
