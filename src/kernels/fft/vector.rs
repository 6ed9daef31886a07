//! Vectors of floats for loops whose steps the compiler would cut in another way.
//!
//! Owns: products and parts of vectors of AVX2 and AVX-512. Never branches. Invariant: a lane depends on the same lane of the operands.

use super::number::Real;
use crate::kernels::lanes::Lanes;

/// Floats that are computed with together, beside what all loops over lanes do.
///
/// # Safety
/// As `Lanes`.
pub(super) unsafe trait Vector: Lanes<Part: Real> {
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    /// `self * by - from`.
    fn fused_sub(self, by: Self, from: Self) -> Self;
    /// The real and the imaginary parts of as many complex numbers as there are lanes, in an order of its own.
    fn split(a: Self, b: Self) -> [Self; 2];
    /// The reverse of `split`.
    fn join(parts: [Self; 2]) -> [Self; 2];
}

macro_rules! vectors {
    ($($v:ident: $sub:ident $mul:ident $fused_sub:ident [$($re:tt)*] [$($im:tt)*] $low:ident $high:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a register of as many floats.
        unsafe impl Vector for std::arch::x86_64::$v {
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                // SAFETY: the CPU has them, as the trait says; so for the others.
                unsafe { std::arch::x86_64::$sub(self, o) }
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$mul(self, o) }
            }
            #[inline(always)]
            fn fused_sub(self, by: Self, from: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$fused_sub(self, by, from) }
            }
            #[inline(always)]
            fn split(a: Self, b: Self) -> [Self; 2] {
                use std::arch::x86_64::*;
                // SAFETY: as above.
                unsafe { [$($re)*(a, b), $($im)*(a, b)] }
            }
            #[inline(always)]
            fn join([re, im]: [Self; 2]) -> [Self; 2] {
                use std::arch::x86_64::{$high, $low};
                // SAFETY: as above.
                unsafe { [$low(re, im), $high(re, im)] }
            }
        }
    )*};
}
vectors! {
    __m512d: _mm512_sub_pd _mm512_mul_pd _mm512_fmsub_pd
        [_mm512_unpacklo_pd] [_mm512_unpackhi_pd] _mm512_unpacklo_pd _mm512_unpackhi_pd;
    __m512: _mm512_sub_ps _mm512_mul_ps _mm512_fmsub_ps
        [_mm512_shuffle_ps::<0x88>] [_mm512_shuffle_ps::<0xdd>] _mm512_unpacklo_ps _mm512_unpackhi_ps;
    __m256d: _mm256_sub_pd _mm256_mul_pd _mm256_fmsub_pd
        [_mm256_unpacklo_pd] [_mm256_unpackhi_pd] _mm256_unpacklo_pd _mm256_unpackhi_pd;
    __m256: _mm256_sub_ps _mm256_mul_ps _mm256_fmsub_ps
        [_mm256_shuffle_ps::<0x88>] [_mm256_shuffle_ps::<0xdd>] _mm256_unpacklo_ps _mm256_unpackhi_ps;
}

/// Complex numbers that are computed with as they lie: their parts side by side.
///
/// # Safety
/// As `Vector`.
pub(super) unsafe trait Pairs: Vector {
    /// The last number first.
    fn reversed(self) -> Self;
    /// The real part of each number in both its places.
    fn reals(self) -> Self;
    /// The imaginary part in both.
    fn imags(self) -> Self;
    /// Each part in the place of the other.
    fn swapped(self) -> Self;
    /// `self * by - apart` in the places of real parts, `self * by + apart` in those of imaginary ones.
    fn fused_apart(self, by: Self, apart: Self) -> Self;

    /// The same number everywhere.
    #[inline(always)]
    fn both(re: Self::Part, im: Self::Part) -> Self {
        Self::join([Self::all(re), Self::all(im)])[0]
    }
}

macro_rules! pairs {
    ($($v:ident: |$x:ident| $reversed:expr,
        $reals:ident [$($imags:tt)*] [$($swapped:tt)*] $apart:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a register of as many floats.
        unsafe impl Pairs for std::arch::x86_64::$v {
            #[inline(always)]
            fn reversed(self) -> Self {
                use std::arch::x86_64::*;
                let $x = self;
                // SAFETY: the CPU has them, as the trait says; so for the others.
                unsafe { $reversed }
            }
            #[inline(always)]
            fn reals(self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$reals(self) }
            }
            #[inline(always)]
            fn imags(self) -> Self {
                use std::arch::x86_64::*;
                // SAFETY: as above.
                unsafe { $($imags)*(self) }
            }
            #[inline(always)]
            fn swapped(self) -> Self {
                use std::arch::x86_64::*;
                // SAFETY: as above.
                unsafe { $($swapped)*(self) }
            }
            #[inline(always)]
            fn fused_apart(self, by: Self, apart: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$apart(self, by, apart) }
            }
        }
    )*};
}
pairs! {
    __m256d: |x| _mm256_permute2f128_pd::<1>(x, x),
        _mm256_movedup_pd [_mm256_permute_pd::<0xf>] [_mm256_permute_pd::<0x5>] _mm256_fmaddsub_pd;
    __m256: |x| _mm256_castpd_ps(_mm256_permute4x64_pd::<0x1b>(_mm256_castps_pd(x))),
        _mm256_moveldup_ps [_mm256_movehdup_ps] [_mm256_permute_ps::<0xb1>] _mm256_fmaddsub_ps;
}
