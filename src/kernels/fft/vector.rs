//! Vectors of floats for loops whose steps the compiler would cut in another way.
//!
//! Owns: sums and products of vectors of AVX2 and AVX-512. Never branches. Invariant: a lane depends on the same lane of the operands.

use super::number::Real;

/// Floats that are computed with together.
///
/// # Safety
/// It consists of `LANES` parts, and the CPU has its instructions where it is used.
pub(super) unsafe trait Vector: Copy {
    type Part: Real;
    const LANES: usize;
    fn all(x: Self::Part) -> Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    /// `self * by + to`.
    fn fused(self, by: Self, to: Self) -> Self;
    /// `self * by - from`.
    fn fused_sub(self, by: Self, from: Self) -> Self;
    /// The real and the imaginary parts of as many complex numbers as there are lanes, in an order of its own.
    fn split(a: Self, b: Self) -> [Self; 2];
    /// The reverse of `split`.
    fn join(parts: [Self; 2]) -> [Self; 2];
}

macro_rules! vectors {
    ($($v:ident of $lanes:literal $t:ty: $all:ident $add:ident $sub:ident $mul:ident $fused:ident $fused_sub:ident
        [$($re:tt)*] [$($im:tt)*] $low:ident $high:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a register of as many floats.
        unsafe impl Vector for std::arch::x86_64::$v {
            type Part = $t;
            const LANES: usize = $lanes;
            #[inline(always)]
            fn all(x: $t) -> Self {
                // SAFETY: the CPU has them, as the trait says; so for the others.
                unsafe { std::arch::x86_64::$all(x) }
            }
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$add(self, o) }
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$sub(self, o) }
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$mul(self, o) }
            }
            #[inline(always)]
            fn fused(self, by: Self, to: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$fused(self, by, to) }
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
    __m512d of 8 f64: _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_fmadd_pd _mm512_fmsub_pd
        [_mm512_unpacklo_pd] [_mm512_unpackhi_pd] _mm512_unpacklo_pd _mm512_unpackhi_pd;
    __m512 of 16 f32: _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_fmadd_ps _mm512_fmsub_ps
        [_mm512_shuffle_ps::<0x88>] [_mm512_shuffle_ps::<0xdd>] _mm512_unpacklo_ps _mm512_unpackhi_ps;
    __m256d of 4 f64: _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_fmadd_pd _mm256_fmsub_pd
        [_mm256_unpacklo_pd] [_mm256_unpackhi_pd] _mm256_unpacklo_pd _mm256_unpackhi_pd;
    __m256 of 8 f32: _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_fmadd_ps _mm256_fmsub_ps
        [_mm256_shuffle_ps::<0x88>] [_mm256_shuffle_ps::<0xdd>] _mm256_unpacklo_ps _mm256_unpackhi_ps;
}
