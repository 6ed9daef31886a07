//! Vectors of floats for loops whose steps the compiler would cut in another way.
//!
//! Owns: sums and products of vectors of AVX2 and AVX-512. Never branches. Invariant: a lane depends on the same lane of the operands.

use rustfft::num_complex::Complex;

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

/// Complex numbers that are computed with as they lie: their parts side by side.
///
/// # Safety
/// As `Vector`.
pub(super) unsafe trait Pairs: Vector {
    /// Half as many numbers as there are lanes.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn read(from: *const Complex<Self::Part>) -> Self;
    /// # Safety
    /// The places are writable.
    unsafe fn write(self, to: *mut Complex<Self::Part>);
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
    ($($v:ident of $t:ty: $read:ident $write:ident |$x:ident| $reversed:expr,
        $reals:ident [$($imags:tt)*] [$($swapped:tt)*] $apart:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a register of as many floats.
        unsafe impl Pairs for std::arch::x86_64::$v {
            #[inline(always)]
            unsafe fn read(from: *const Complex<$t>) -> Self {
                // SAFETY: the caller's contract.
                unsafe { std::arch::x86_64::$read(from.cast()) }
            }
            #[inline(always)]
            unsafe fn write(self, to: *mut Complex<$t>) {
                // SAFETY: the caller's contract.
                unsafe { std::arch::x86_64::$write(to.cast(), self) }
            }
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
    __m256d of f64: _mm256_loadu_pd _mm256_storeu_pd |x| _mm256_permute2f128_pd::<1>(x, x),
        _mm256_movedup_pd [_mm256_permute_pd::<0xf>] [_mm256_permute_pd::<0x5>] _mm256_fmaddsub_pd;
    __m256 of f32: _mm256_loadu_ps _mm256_storeu_ps
        |x| _mm256_castpd_ps(_mm256_permute4x64_pd::<0x1b>(_mm256_castps_pd(x))),
        _mm256_moveldup_ps [_mm256_movehdup_ps] [_mm256_permute_ps::<0xb1>] _mm256_fmaddsub_ps;
}
