//! Vectors of complex numbers: as separate vectors of real and imaginary parts, and interleaved.
//!
//! Invariant: a lane of a sum or a product depends on the same lane of the operands.

use super::Lanes;

/// SIMD vectors that hold the real or the imaginary parts of complex numbers, and their exchange
/// with interleaved memory.
///
/// # Safety
/// As `Lanes`.
pub(in crate::kernels) unsafe trait ComplexLanes: Lanes {
    /// Deinterleaves complex numbers: the real and the imaginary parts of as many as there are
    /// lanes, in an unspecified order.
    fn deinterleave(a: Self, b: Self) -> [Self; 2];
    /// The inverse of `deinterleave`.
    fn interleave(parts: [Self; 2]) -> [Self; 2];
    /// Transposes a tile of complex numbers with as many vectors as a vector has complex numbers.
    fn transpose(tile: [Self; 8]) -> [Self; 8];
}

macro_rules! complex_lanes {
    ($($v:ident: [$($re:tt)*] [$($im:tt)*] $low:ident $high:ident
        |$t:ident| $transpose:expr;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a register of this many floats.
        unsafe impl ComplexLanes for std::arch::x86_64::$v {
            #[inline(always)]
            fn deinterleave(a: Self, b: Self) -> [Self; 2] {
                use std::arch::x86_64::*;
                // SAFETY: the CPU has the instructions, as the trait requires; the same below.
                unsafe { [$($re)*(a, b), $($im)*(a, b)] }
            }
            #[inline(always)]
            fn interleave([re, im]: [Self; 2]) -> [Self; 2] {
                use std::arch::x86_64::{$high, $low};
                // SAFETY: as above.
                unsafe { [$low(re, im), $high(re, im)] }
            }
            #[inline(always)]
            fn transpose($t: [Self; 8]) -> [Self; 8] {
                #[allow(unused_imports)]
                use std::arch::x86_64::*;
                // SAFETY: as above.
                #[allow(unused_unsafe)]
                unsafe { $transpose }
            }
        }
    )*};
}
complex_lanes! {
    __m512d: [_mm512_unpacklo_pd] [_mm512_unpackhi_pd] _mm512_unpacklo_pd _mm512_unpackhi_pd
        |t| {
            let [a, b, c, d] = transpose_quarters([t[0], t[1], t[2], t[3]]);
            [a, b, c, d, a, b, c, d]
        };
    __m512: [_mm512_shuffle_ps::<0x88>] [_mm512_shuffle_ps::<0xdd>] _mm512_unpacklo_ps _mm512_unpackhi_ps
        |t| {
            let (mut even, mut odd) = ([_mm512_castps_pd(t[0]); 4], [_mm512_castps_pd(t[0]); 4]);
            for i in 0..4 {
                let (a, b) = (_mm512_castps_pd(t[2 * i]), _mm512_castps_pd(t[2 * i + 1]));
                (even[i], odd[i]) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
            }
            (even, odd) = (transpose_quarters(even), transpose_quarters(odd));
            let mut out = t;
            for i in 0..4 {
                (out[2 * i], out[2 * i + 1]) = (_mm512_castpd_ps(even[i]), _mm512_castpd_ps(odd[i]));
            }
            out
        };
    __m256d: [_mm256_unpacklo_pd] [_mm256_unpackhi_pd] _mm256_unpacklo_pd _mm256_unpackhi_pd
        |t| {
            let a = _mm256_permute2f128_pd::<0x20>(t[0], t[1]);
            let b = _mm256_permute2f128_pd::<0x31>(t[0], t[1]);
            [a, b, a, b, a, b, a, b]
        };
    __m256: [_mm256_shuffle_ps::<0x88>] [_mm256_shuffle_ps::<0xdd>] _mm256_unpacklo_ps _mm256_unpackhi_ps
        |t| {
            let (a, b) = (_mm256_castps_pd(t[0]), _mm256_castps_pd(t[1]));
            let (c, d) = (_mm256_castps_pd(t[2]), _mm256_castps_pd(t[3]));
            let even = [_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d)];
            let odd = [_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d)];
            let mut out = t;
            out[0] = _mm256_castpd_ps(_mm256_permute2f128_pd::<0x20>(even[0], even[1]));
            out[1] = _mm256_castpd_ps(_mm256_permute2f128_pd::<0x20>(odd[0], odd[1]));
            out[2] = _mm256_castpd_ps(_mm256_permute2f128_pd::<0x31>(even[0], even[1]));
            out[3] = _mm256_castpd_ps(_mm256_permute2f128_pd::<0x31>(odd[0], odd[1]));
            out
        };
}

/// Transposes the quarters of four vectors.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transpose_quarters(t: [std::arch::x86_64::__m512d; 4]) -> [std::arch::x86_64::__m512d; 4] {
    use std::arch::x86_64::_mm512_shuffle_f64x2 as shuffle;
    // SAFETY: a value of this vector type exists only on a CPU with its instructions.
    unsafe {
        let (a, b) = (shuffle::<0x44>(t[0], t[1]), shuffle::<0xee>(t[0], t[1]));
        let (c, d) = (shuffle::<0x44>(t[2], t[3]), shuffle::<0xee>(t[2], t[3]));
        [shuffle::<0x88>(a, c), shuffle::<0xdd>(a, c), shuffle::<0x88>(b, d), shuffle::<0xdd>(b, d)]
    }
}

/// Vectors of interleaved complex numbers.
///
/// # Safety
/// As `Lanes`.
pub(in crate::kernels) unsafe trait ComplexPairs: ComplexLanes {
    /// Reverses the order of the numbers.
    fn reverse_complex(self) -> Self;
    /// Duplicates the real part of each number.
    fn dup_real(self) -> Self;
    /// Duplicates the imaginary part of each number.
    fn dup_imag(self) -> Self;
    /// Swaps the real and the imaginary part of each number.
    fn swap_parts(self) -> Self;
    /// `self * factor - addend` for real parts, `self * factor + addend` for imaginary parts, fused.
    fn fmaddsub(self, factor: Self, addend: Self) -> Self;

    /// One complex number, repeated.
    #[inline(always)]
    fn splat_complex(re: Self::Scalar, im: Self::Scalar) -> Self {
        Self::interleave([Self::splat(re), Self::splat(im)])[0]
    }
}

macro_rules! complex_pairs {
    ($($v:ident: |$x:ident| $reverse:expr,
        $dup_real:ident [$($dup_imag:tt)*] [$($swap_parts:tt)*] $fmaddsub:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a register of this many floats.
        unsafe impl ComplexPairs for std::arch::x86_64::$v {
            #[inline(always)]
            fn reverse_complex(self) -> Self {
                use std::arch::x86_64::*;
                let $x = self;
                // SAFETY: the CPU has the instructions, as the trait requires; the same below.
                unsafe { $reverse }
            }
            #[inline(always)]
            fn dup_real(self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$dup_real(self) }
            }
            #[inline(always)]
            fn dup_imag(self) -> Self {
                use std::arch::x86_64::*;
                // SAFETY: as above.
                unsafe { $($dup_imag)*(self) }
            }
            #[inline(always)]
            fn swap_parts(self) -> Self {
                use std::arch::x86_64::*;
                // SAFETY: as above.
                unsafe { $($swap_parts)*(self) }
            }
            #[inline(always)]
            fn fmaddsub(self, factor: Self, addend: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$fmaddsub(self, factor, addend) }
            }
        }
    )*};
}
complex_pairs! {
    __m256d: |x| _mm256_permute2f128_pd::<1>(x, x),
        _mm256_movedup_pd [_mm256_permute_pd::<0xf>] [_mm256_permute_pd::<0x5>] _mm256_fmaddsub_pd;
    __m256: |x| _mm256_castpd_ps(_mm256_permute4x64_pd::<0x1b>(_mm256_castps_pd(x))),
        _mm256_moveldup_ps [_mm256_movehdup_ps] [_mm256_permute_ps::<0xb1>] _mm256_fmaddsub_ps;
}
