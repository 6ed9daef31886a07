//! Vectors of floats for loops whose steps the compiler would cut in another way.
//!
//! Owns: products, parts and transposes of vectors of AVX2 and AVX-512. Never branches.
//! Invariant: a lane of a sum or a product depends on the same lane of the operands.

use crate::kernels::fft::float::Real;
use crate::kernels::simd::Lanes;

/// Floats that are computed with together, beside what all loops over lanes do.
///
/// # Safety
/// As `Lanes`.
pub(in crate::kernels::fft) unsafe trait Vector:
    Lanes<Part: Real>
{
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    /// `self * by - from`.
    fn fused_sub(self, by: Self, from: Self) -> Self;
    /// The real and the imaginary parts of as many complex numbers as there are lanes, in an order of its own.
    fn split(a: Self, b: Self) -> [Self; 2];
    /// The reverse of `split`.
    fn join(parts: [Self; 2]) -> [Self; 2];
    /// Of as many vectors as one has complex numbers: the first numbers of all, the second ones, and so on.
    fn transposed(tile: [Self; 8]) -> [Self; 8];
}

macro_rules! vectors {
    ($($v:ident: $sub:ident $mul:ident $fused_sub:ident [$($re:tt)*] [$($im:tt)*] $low:ident $high:ident
        |$t:ident| $transposed:expr;)*) => {$(
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
            #[inline(always)]
            fn transposed($t: [Self; 8]) -> [Self; 8] {
                #[allow(unused_imports)]
                use std::arch::x86_64::*;
                // SAFETY: as above.
                #[allow(unused_unsafe)]
                unsafe { $transposed }
            }
        }
    )*};
}
vectors! {
    __m512d: _mm512_sub_pd _mm512_mul_pd _mm512_fmsub_pd
        [_mm512_unpacklo_pd] [_mm512_unpackhi_pd] _mm512_unpacklo_pd _mm512_unpackhi_pd
        |t| {
            let [a, b, c, d] = quarters([t[0], t[1], t[2], t[3]]);
            [a, b, c, d, a, b, c, d]
        };
    __m512: _mm512_sub_ps _mm512_mul_ps _mm512_fmsub_ps
        [_mm512_shuffle_ps::<0x88>] [_mm512_shuffle_ps::<0xdd>] _mm512_unpacklo_ps _mm512_unpackhi_ps
        |t| {
            let (mut even, mut odd) = ([_mm512_castps_pd(t[0]); 4], [_mm512_castps_pd(t[0]); 4]);
            for i in 0..4 {
                let (a, b) = (_mm512_castps_pd(t[2 * i]), _mm512_castps_pd(t[2 * i + 1]));
                (even[i], odd[i]) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
            }
            (even, odd) = (quarters(even), quarters(odd));
            let mut out = t;
            for i in 0..4 {
                (out[2 * i], out[2 * i + 1]) = (_mm512_castpd_ps(even[i]), _mm512_castpd_ps(odd[i]));
            }
            out
        };
    __m256d: _mm256_sub_pd _mm256_mul_pd _mm256_fmsub_pd
        [_mm256_unpacklo_pd] [_mm256_unpackhi_pd] _mm256_unpacklo_pd _mm256_unpackhi_pd
        |t| {
            let a = _mm256_permute2f128_pd::<0x20>(t[0], t[1]);
            let b = _mm256_permute2f128_pd::<0x31>(t[0], t[1]);
            [a, b, a, b, a, b, a, b]
        };
    __m256: _mm256_sub_ps _mm256_mul_ps _mm256_fmsub_ps
        [_mm256_shuffle_ps::<0x88>] [_mm256_shuffle_ps::<0xdd>] _mm256_unpacklo_ps _mm256_unpackhi_ps
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

/// The first quarters of four vectors, the second ones, and so on.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn quarters(t: [std::arch::x86_64::__m512d; 4]) -> [std::arch::x86_64::__m512d; 4] {
    use std::arch::x86_64::_mm512_shuffle_f64x2 as shuffle;
    // SAFETY: whoever has such vectors has their instructions.
    unsafe {
        let (a, b) = (shuffle::<0x44>(t[0], t[1]), shuffle::<0xee>(t[0], t[1]));
        let (c, d) = (shuffle::<0x44>(t[2], t[3]), shuffle::<0xee>(t[2], t[3]));
        [shuffle::<0x88>(a, c), shuffle::<0xdd>(a, c), shuffle::<0x88>(b, d), shuffle::<0xdd>(b, d)]
    }
}

/// Complex numbers that are computed with as they lie: their parts side by side.
///
/// # Safety
/// As `Vector`.
pub(in crate::kernels::fft) unsafe trait Pairs: Vector {
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
