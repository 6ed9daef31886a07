//! Conversions between float16 and wider floats with F16C instructions, which most CPUs have.
//!
//! The remainder of a vector is converted element by element. Invariant: the bits are those of the scalar
//! conversions: round to nearest, ties to even, a NaN stays NaN.

use super::cast::Convert;
use crate::dtype::{Half, f16_from_f64};
use crate::kernels::multiversion::Levels;

/// Converts the first of `n` contiguous elements with F16C, if available; returns how many.
macro_rules! with_f16c {
    ($name:ident($a:expr, $b:expr, $n:expr)) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if f16c::is_available() { f16c::$name($a, $b, $n) } else { 0 }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = ($a, $b, $n);
            0
        }
    }};
}

impl Convert<Half> for f32 {
    const LEVELS: Levels = Levels::Baseline;
    #[inline(always)]
    fn convert(x: Half) -> f32 {
        f32::from(x)
    }
    #[inline(always)]
    unsafe fn convert_vectors(a: *const Half, b: *mut f32, n: usize) -> usize {
        // SAFETY: the caller's contract.
        unsafe { with_f16c!(widen(a, b, n)) }
    }
}
impl Convert<f32> for Half {
    const LEVELS: Levels = Levels::Baseline;
    #[inline(always)]
    fn convert(x: f32) -> Half {
        Half::from_f32(x)
    }
    #[inline(always)]
    unsafe fn convert_vectors(a: *const f32, b: *mut Half, n: usize) -> usize {
        // SAFETY: the caller's contract.
        unsafe { with_f16c!(round(a, b, n)) }
    }
}

impl Convert<Half> for f64 {
    const LEVELS: Levels = Levels::Baseline;
    #[inline(always)]
    fn convert(x: Half) -> f64 {
        f64::from(x)
    }
    #[inline(always)]
    unsafe fn convert_vectors(a: *const Half, b: *mut f64, n: usize) -> usize {
        // SAFETY: the caller's contract.
        unsafe { with_f16c!(widen64(a, b, n)) }
    }
}
impl Convert<f64> for Half {
    const LEVELS: Levels = Levels::Baseline;
    #[inline(always)]
    fn convert(x: f64) -> Half {
        f16_from_f64(x)
    }
    #[inline(always)]
    unsafe fn convert_vectors(a: *const f64, b: *mut Half, n: usize) -> usize {
        // SAFETY: the caller's contract.
        unsafe { with_f16c!(round64(a, b, n)) }
    }
}

#[cfg(target_arch = "x86_64")]
mod f16c {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_castps256_ps128,
        _mm256_cvtph_ps, _mm256_cvtps_pd, _mm256_cvtps_ph, _mm256_extractf128_ps, _mm256_loadu_ps,
        _mm256_storeu_pd, _mm256_storeu_ps,
    };

    use crate::dtype::{Half, round_to_odd};
    use crate::kernels::isa::{Level, level};

    /// Elements of a vector.
    const WIDTH: usize = 8;

    pub(super) fn is_available() -> bool {
        level() != Level::Baseline && is_x86_feature_detected!("f16c")
    }

    /// # Safety
    /// The CPU has the instructions; `n` elements are valid in source and destination.
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

    /// # Safety
    /// As for `widen`.
    #[target_feature(enable = "avx,f16c")]
    pub(super) unsafe fn widen64(a: *const Half, b: *mut f64, n: usize) -> usize {
        for i in 0..n / WIDTH {
            // SAFETY: the caller's contract.
            unsafe {
                let numbers = _mm256_cvtph_ps(_mm_loadu_si128(a.add(WIDTH * i).cast()));
                let (low, high) =
                    (_mm256_castps256_ps128(numbers), _mm256_extractf128_ps::<1>(numbers));
                _mm256_storeu_pd(b.add(WIDTH * i), _mm256_cvtps_pd(low));
                _mm256_storeu_pd(b.add(WIDTH * i + WIDTH / 2), _mm256_cvtps_pd(high));
            }
        }
        n / WIDTH * WIDTH
    }

    /// # Safety
    /// As for `widen`.
    #[target_feature(enable = "avx2,f16c")]
    pub(super) unsafe fn round64(a: *const f64, b: *mut Half, n: usize) -> usize {
        let whole = n / WIDTH * WIDTH;
        let mut numbers = [0f32; 16 * WIDTH];
        for start in (0..whole).step_by(numbers.len()) {
            let len = numbers.len().min(whole - start);
            // SAFETY: the caller's contract.
            unsafe {
                for (i, number) in numbers[..len].iter_mut().enumerate() {
                    *number = round_to_odd(*a.add(start + i));
                }
                round(numbers.as_ptr(), b.add(start), len);
            }
        }
        whole
    }
}
