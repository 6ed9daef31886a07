//! Unique elements of a sorted slice.
//!
//! Invariant: of equal elements the first stays.

use super::total_order::TotalOrder;
#[cfg(target_arch = "x86_64")]
use crate::kernels::isa::{Level, level};

/// The first of each run of equal elements; `None` if all are distinct and none is NaN.
pub fn unique_sorted<T: TotalOrder>(sorted: &[T]) -> Option<Vec<T>> {
    let mut values = vec![*sorted.first()?; sorted.len()];
    // NaNs are at the end, and count as equal.
    let numbers =
        sorted.len() - sorted.iter().rev().take_while(|value| value.is_nan_value()).count();
    let mut kept = unique_numbers(&sorted[..numbers], &mut values);
    if numbers < sorted.len() {
        values[kept] = sorted[numbers];
        kept += 1;
    } else if kept == numbers {
        return None;
    }
    values.truncate(kept);
    values.shrink_to_fit();
    Some(values)
}

fn unique_numbers<T: TotalOrder>(sorted: &[T], values: &mut [T]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let (Some(simd_unique), Level::Avx512, false) = (T::SIMD_UNIQUE, level(), sorted.is_empty())
    {
        // SAFETY: the CPU has the features of its level, and there is space for all.
        return unsafe { simd_unique(sorted.as_ptr(), sorted.len(), values.as_mut_ptr()) };
    }
    let mut kept = 0;
    for (i, &value) in sorted.iter().enumerate() {
        // Branch-free: an element that is not the first of its run is overwritten by the next one.
        values[kept] = value;
        kept += usize::from(i == 0 || !value.same(sorted[i - 1]));
    }
    kept
}
