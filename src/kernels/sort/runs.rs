//! Runs of equal elements in what is sorted.
//!
//! Owns: `firsts`. Never sorts. Invariant: of a run its first element stays.

use super::total_order::Key;
#[cfg(target_arch = "x86_64")]
use crate::kernels::isa::{Level, level};

/// The first of each run of elements that count as one; `None` where every element is a run and none is NaN.
pub fn firsts<T: Key>(sorted: &[T]) -> Option<Vec<T>> {
    let mut values = vec![*sorted.first()?; sorted.len()];
    // Every NaN is behind the numbers, and all of them are one.
    let numbers = sorted.len() - sorted.iter().rev().take_while(|value| value.nan()).count();
    let mut kept = kept_of(&sorted[..numbers], &mut values);
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

fn kept_of<T: Key>(sorted: &[T], values: &mut [T]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let (Some(firsts), Level::Avx512, false) = (T::FIRSTS, level(), sorted.is_empty()) {
        // SAFETY: the CPU has the features of its level, and there is room for all.
        return unsafe { firsts(sorted.as_ptr(), sorted.len(), values.as_mut_ptr()) };
    }
    let mut kept = 0;
    for (i, &value) in sorted.iter().enumerate() {
        // Without a branch: what is no first is written over by the next one.
        values[kept] = value;
        kept += usize::from(i == 0 || !value.alike(sorted[i - 1]));
    }
    kept
}
