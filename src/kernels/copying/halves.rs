//! Conversions between float16 and float32 by the instructions for them, which most processors have.
//!
//! Owns: their loops over whole vectors. Never converts what is left of a vector. Invariant: the bits are those of the
//! conversions of one element: to the nearest, ties to even, a NaN stays one.

use super::cast::Convert;
use crate::dtype::Half;
use crate::kernels::leveled::Levels;

impl Convert<Half> for f32 {
    const LEVELS: Levels = Levels::Baseline;
    #[inline(always)]
    fn convert(x: Half) -> f32 {
        f32::from(x)
    }
    #[inline(always)]
    unsafe fn first(a: *const Half, b: *mut f32, n: usize) -> usize {
        // SAFETY: the caller's contract.
        unsafe { widened(a, b, n) }
    }
}
impl Convert<f32> for Half {
    const LEVELS: Levels = Levels::Baseline;
    #[inline(always)]
    fn convert(x: f32) -> Half {
        Half::from_f32(x)
    }
    #[inline(always)]
    unsafe fn first(a: *const f32, b: *mut Half, n: usize) -> usize {
        // SAFETY: the caller's contract.
        unsafe { rounded(a, b, n) }
    }
}

#[cfg(target_arch = "x86_64")]
mod instructions {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps,
        _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_storeu_ps,
    };

    use crate::dtype::Half;
    use crate::kernels::isa::{Level, level};

    /// Numbers of a vector.
    const WIDTH: usize = 8;

    pub(super) fn there() -> bool {
        level() != Level::Baseline && is_x86_feature_detected!("f16c")
    }

    /// # Safety
    /// The processor has the instructions; `n` elements are valid on both sides.
    #[target_feature(enable = "avx,f16c")]
    pub(super) unsafe fn widen(a: *const Half, b: *mut f32, n: usize) -> usize {
        for i in 0..n / WIDTH {
            // SAFETY: the caller's contract.
            unsafe {
                let halves = _mm_loadu_si128(a.add(WIDTH * i).cast());
                _mm256_storeu_ps(b.add(WIDTH * i), _mm256_cvtph_ps(halves));
            }
        }
        n / WIDTH * WIDTH
    }

    /// # Safety
    /// As for `widen`.
    #[target_feature(enable = "avx,f16c")]
    pub(super) unsafe fn round(a: *const f32, b: *mut Half, n: usize) -> usize {
        for i in 0..n / WIDTH {
            // SAFETY: the caller's contract.
            unsafe {
                let numbers = _mm256_loadu_ps(a.add(WIDTH * i));
                let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(numbers);
                _mm_storeu_si128(b.add(WIDTH * i).cast(), halves);
            }
        }
        n / WIDTH * WIDTH
    }
}

/// Widens the first of `n` neighbours and says how many.
///
/// # Safety
/// `n` elements are valid on both sides.
unsafe fn widened(a: *const Half, b: *mut f32, n: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if instructions::there() {
        // SAFETY: the caller's contract.
        return unsafe { instructions::widen(a, b, n) };
    }
    let _ = (a, b, n);
    0
}

/// Rounds the first of `n` neighbours and says how many.
///
/// # Safety
/// As for `widened`.
unsafe fn rounded(a: *const f32, b: *mut Half, n: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if instructions::there() {
        // SAFETY: the caller's contract.
        return unsafe { instructions::round(a, b, n) };
    }
    let _ = (a, b, n);
    0
}
