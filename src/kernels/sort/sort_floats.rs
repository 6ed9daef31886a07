//! Floats in order, sorted as floats.
//!
//! Owns: what vectors do not sort: NaN, and zeros of either sign. Never converts the others to numbers. Invariant: the result
//! is that of sorting the numbers that tell zeros apart.

use std::slice::{from_raw_parts, from_raw_parts_mut};

use super::total_order::{Digits, Sort};
use crate::kernels::multiversion::leveled;

/// So many elements are searched for a NaN beforehand: they are in the nearest cache then.
const NEAR: usize = 4096;

/// Sorts floats as floats, in place or to other memory. What these do not tell apart comes into the order of the numbers
/// that do: negative zeros before positive ones, one NaN for all.
///
/// # Safety
/// There are so many elements in both places, and the CPU has what the sort needs.
pub(super) unsafe fn arrange<T: Digits + Default + PartialOrd>(
    from: *const T,
    to: *mut T,
    n: usize,
    descending: bool,
    sort: Sort<T>,
) {
    let mut kept = n;
    // SAFETY: the caller's contract.
    unsafe {
        if from_raw_parts(from, n).is_sorted() {
            to.copy_from(from, n);
        } else {
            let near = n <= NEAR || std::ptr::eq(from, to);
            let found = near && has_nan(from, n);
            if found {
                to.copy_from(from, n);
            }
            if found || !sort(from, to, n) {
                kept = without_nan(from_raw_parts_mut(to, n));
                sort(to, to, kept);
            }
        }
        in_one_order(from_raw_parts_mut(to, kept));
        if descending {
            from_raw_parts_mut(to, n).reverse();
        }
    }
}

/// Moves every NaN behind the numbers, as one and the same, and says how many numbers there are.
fn without_nan<T: Digits>(elements: &mut [T]) -> usize {
    let mut kept = 0;
    for i in 0..elements.len() {
        let element = elements[i];
        elements[kept] = element;
        kept += usize::from(!element.nan());
    }
    elements[kept..].fill(T::of_distinct(!T::Number::default()));
    kept
}

/// Puts zeros, which lie together, into the order of their signs.
fn in_one_order<T: Digits + Default + PartialOrd>(sorted: &mut [T]) {
    let zero = T::default();
    let below = sorted.partition_point(|&x| x < zero);
    let zeros = sorted[below..].partition_point(|&x| x <= zero);
    if zeros > 1 {
        let zeros = &mut sorted[below..below + zeros];
        let positive = zero.distinct();
        let split = zeros.iter().filter(|x| x.distinct() < positive).count();
        zeros[..split].fill(T::of_distinct(!positive));
        zeros[split..].fill(zero);
    }
}

leveled! {
    /// Whether a NaN is among the elements.
    unsafe fn has_nan<T: Digits>(from: *const T, n: usize) -> bool = nan_loop
}

#[inline(always)]
unsafe fn nan_loop<T: Digits>(from: *const T, n: usize) -> bool {
    let mut found = 0;
    for i in 0..n {
        // SAFETY: the caller's contract.
        let element = unsafe { *from.add(i) };
        found |= u32::from(element.nan());
    }
    found != 0
}
