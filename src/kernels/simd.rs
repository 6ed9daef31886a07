//! SIMD vectors of floats (AVX2 and AVX-512) for loops that LLVM vectorises badly.
//!
//! Invariant: masked-out lanes are neither read nor written, and count as zero.

mod complex_lanes;

pub(super) use complex_lanes::{ComplexLanes, ComplexPairs};

/// A SIMD vector of floats.
///
/// # Safety
/// The type consists of `LANES` floats, and the CPU has its instructions where it is used.
pub(super) unsafe trait Lanes: Copy {
    type Scalar: Copy + Default + std::ops::Add<Output = Self::Scalar>;
    type Mask: Copy;
    const LANES: usize;
    /// The lanes of a 128-bit block.
    const BLOCK_LANES: usize = 16 / size_of::<Self::Scalar>();
    /// Whether these are vectors of AVX-512, which has `expand_load`, `permute` and 32 registers.
    const AVX512: bool;
    fn zero() -> Self;
    fn splat(x: Self::Scalar) -> Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    /// `self * factor + addend`, fused.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// `self * factor - subtrahend`, fused.
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self;
    /// Pairwise sums of adjacent lanes: within each 128-bit block those of `a`, then those of `b`.
    fn pairwise_add_lanes(a: Self, b: Self) -> Self;
    /// Pairwise sums of adjacent 128-bit blocks: all of `a`, then all of `b`.
    fn pairwise_add_blocks(a: Self, b: Self) -> Self;
    /// The mask of the first `n` lanes.
    fn first_n(n: usize) -> Self::Mask;
    /// The sum of all lanes.
    #[inline(always)]
    fn reduce_sum(self) -> Self::Scalar {
        let (mut sum, mut span) = (self, Self::LANES);
        while span > 1 {
            sum = if span > Self::BLOCK_LANES {
                Self::pairwise_add_blocks(sum, sum)
            } else {
                Self::pairwise_add_lanes(sum, sum)
            };
            span /= 2;
        }
        let mut first = Self::Scalar::default();
        // SAFETY: one lane is stored to one float.
        unsafe { sum.masked_store(&mut first, Self::first_n(1)) };
        first
    }
    /// # Safety
    /// The elements are readable; so below.
    unsafe fn load(from: *const Self::Scalar) -> Self;
    /// # Safety
    /// As `load`, for the lanes of the mask.
    unsafe fn masked_load(from: *const Self::Scalar, mask: Self::Mask) -> Self;
    /// Loads consecutive elements into the lanes whose bits are set.
    ///
    /// # Safety
    /// As `load`, for as many elements as there are bits; and `AVX512`.
    unsafe fn expand_load(from: *const Self::Scalar, bits: u16) -> Self;
    /// The lanes of the mask; zeros elsewhere.
    fn select_or_zero(self, mask: Self::Mask) -> Self;
    /// Permutation: lane `i` from lane `from[i]`.
    ///
    /// # Safety
    /// `AVX512`.
    unsafe fn permute(self, from: &[u8; 16]) -> Self;
    /// # Safety
    /// The elements are writable; so below, for the lanes of the mask.
    unsafe fn store(self, to: *mut Self::Scalar);
    /// # Safety
    /// As `store`.
    unsafe fn masked_store(self, to: *mut Self::Scalar, mask: Self::Mask);
}

macro_rules! lanes {
    ($($v:ident of $lanes:literal $t:ty, $mask:ty, $avx512:literal: $splat:ident $add:ident $sub:ident $mul:ident $mul_add:ident $mul_sub:ident
        $load:ident $store:ident
        |$a:ident, $b:ident| $add_lanes:expr, $add_blocks:expr; |$n:ident| $first_n:expr;
        |$from:ident, $m:ident| $masked_load:expr; |$to:ident, $x:ident, $k:ident| $masked_store:expr;
        |$at:ident, $bits:ident| $expand_load:expr; |$y:ident, $order:ident| $permute:expr;
        |$z:ident, $selected:ident| $select:expr;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the register consists of as many floats.
        unsafe impl Lanes for std::arch::x86_64::$v {
            type Scalar = $t;
            type Mask = $mask;
            const LANES: usize = $lanes;
            const AVX512: bool = $avx512;
            #[inline(always)]
            fn zero() -> Self {
                Self::splat(0.0)
            }
            #[inline(always)]
            fn splat(x: $t) -> Self {
                // SAFETY: the CPU has the instructions, as the trait requires; so below.
                unsafe { std::arch::x86_64::$splat(x) }
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
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$mul_add(self, factor, addend) }
            }
            #[inline(always)]
            fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$mul_sub(self, factor, subtrahend) }
            }
            #[inline(always)]
            fn pairwise_add_lanes($a: Self, $b: Self) -> Self {
                use std::arch::x86_64::*;
                // SAFETY: as above.
                unsafe { $add_lanes }
            }
            #[inline(always)]
            fn pairwise_add_blocks($a: Self, $b: Self) -> Self {
                use std::arch::x86_64::*;
                // SAFETY: as above.
                unsafe { $add_blocks }
            }
            #[inline(always)]
            fn first_n($n: usize) -> $mask {
                #[allow(unused_imports)]
                use std::arch::x86_64::*;
                // SAFETY: as above.
                #[allow(unused_unsafe)]
                unsafe { $first_n }
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: the caller's contract.
                unsafe { std::arch::x86_64::$load(from) }
            }
            #[inline(always)]
            unsafe fn masked_load($from: *const $t, $m: $mask) -> Self {
                use std::arch::x86_64::*;
                // SAFETY: the caller's contract.
                unsafe { $masked_load }
            }
            #[inline(always)]
            unsafe fn expand_load($at: *const $t, $bits: u16) -> Self {
                #[allow(unused_imports)]
                use std::arch::x86_64::*;
                // SAFETY: the caller's contract.
                #[allow(unused_unsafe)]
                unsafe { $expand_load }
            }
            #[inline(always)]
            fn select_or_zero(self, $selected: $mask) -> Self {
                use std::arch::x86_64::*;
                let $z = self;
                // SAFETY: as above.
                unsafe { $select }
            }
            #[inline(always)]
            unsafe fn permute(self, $order: &[u8; 16]) -> Self {
                #[allow(unused_imports)]
                use std::arch::x86_64::*;
                let $y = self;
                // SAFETY: the caller's contract.
                #[allow(unused_unsafe)]
                unsafe { $permute }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: the caller's contract.
                unsafe { std::arch::x86_64::$store(to, self) }
            }
            #[inline(always)]
            unsafe fn masked_store(self, $to: *mut $t, $k: $mask) {
                use std::arch::x86_64::*;
                let $x = self;
                // SAFETY: the caller's contract.
                unsafe { $masked_store }
            }
        }
    )*};
}

lanes! {
    __m512 of 16 f32, u16, true: _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_fmadd_ps _mm512_fmsub_ps
        _mm512_loadu_ps _mm512_storeu_ps
        |a, b| _mm512_add_ps(_mm512_shuffle_ps::<0x88>(a, b), _mm512_shuffle_ps::<0xdd>(a, b)),
        _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
        |n| ((1u32 << n) - 1) as u16;
        |from, mask| _mm512_maskz_loadu_ps(mask, from);
        |to, x, mask| _mm512_mask_storeu_ps(to, mask, x);
        |from, bits| _mm512_maskz_expandloadu_ps(bits, from);
        |x, order| _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(order.as_ptr().cast())), x);
        |x, mask| _mm512_maskz_mov_ps(mask, x);
    __m512d of 8 f64, u8, true: _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_fmadd_pd _mm512_fmsub_pd
        _mm512_loadu_pd _mm512_storeu_pd
        |a, b| _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b)),
        _mm512_add_pd(_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xdd>(a, b));
        |n| ((1u32 << n) - 1) as u8;
        |from, mask| _mm512_maskz_loadu_pd(mask, from);
        |to, x, mask| _mm512_mask_storeu_pd(to, mask, x);
        |from, bits| _mm512_maskz_expandloadu_pd(bits as u8, from);
        |x, order| _mm512_permutexvar_pd(_mm512_cvtepu8_epi64(_mm_loadu_si128(order.as_ptr().cast())), x);
        |x, mask| _mm512_maskz_mov_pd(mask, x);
    __m256 of 8 f32, std::arch::x86_64::__m256i, false: _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_fmadd_ps _mm256_fmsub_ps
        _mm256_loadu_ps _mm256_storeu_ps
        |a, b| _mm256_hadd_ps(a, b),
        _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
        |n| _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        |from, mask| _mm256_maskload_ps(from, mask);
        |to, x, mask| _mm256_maskstore_ps(to, mask, x);
        |_from, _bits| unreachable!("AVX-512"); |_x, _order| unreachable!("AVX-512");
        |x, mask| _mm256_and_ps(x, _mm256_castsi256_ps(mask));
    __m256d of 4 f64, std::arch::x86_64::__m256i, false: _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_fmadd_pd _mm256_fmsub_pd
        _mm256_loadu_pd _mm256_storeu_pd
        |a, b| _mm256_hadd_pd(a, b),
        _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b));
        |n| _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), _mm256_setr_epi64x(0, 1, 2, 3));
        |from, mask| _mm256_maskload_pd(from, mask);
        |to, x, mask| _mm256_maskstore_pd(to, mask, x);
        |_from, _bits| unreachable!("AVX-512"); |_x, _order| unreachable!("AVX-512");
        |x, mask| _mm256_and_pd(x, _mm256_castsi256_pd(mask));
}

/// A float type with vectors at the levels above the baseline.
pub(super) trait SimdFloat: Copy + Default + std::ops::Add<Output = Self> {
    #[cfg(target_arch = "x86_64")]
    type Avx512: Lanes<Scalar = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: Lanes<Scalar = Self>;
}
impl SimdFloat for f64 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = std::arch::x86_64::__m512d;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = std::arch::x86_64::__m256d;
}
impl SimdFloat for f32 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = std::arch::x86_64::__m512;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = std::arch::x86_64::__m256;
}

/// Declares `unsafe fn $name`, which runs the `#[inline(always)]` function `$body::<V>` compiled for
/// the level of this process, where `V` are the vectors of the level. Returns `None` at the baseline,
/// which has none. The safety contract is the body's.
macro_rules! leveled_simd {
    ($(#[$doc:meta])* $vis:vis unsafe fn $name:ident<$g:ident : $bound:path>(
        $($arg:ident : $t:ty),* $(,)?) -> Option<$ret:ty> = $body:ident) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the body of the loop.
        #[inline]
        $vis unsafe fn $name<$g: $bound>($($arg: $t),*) -> Option<$ret> {
            #[cfg(target_arch = "x86_64")]
            {
                use $crate::kernels::isa::{Level, level};
                use $crate::kernels::simd::SimdFloat;
                #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl,popcnt,bmi2")]
                unsafe fn avx512<$g: $bound>($($arg: $t),*) -> $ret {
                    // SAFETY: the caller's contract.
                    unsafe { $body::<<$g as SimdFloat>::Avx512>($($arg),*) }
                }
                #[target_feature(enable = "avx2,fma")]
                unsafe fn avx2<$g: $bound>($($arg: $t),*) -> $ret {
                    // SAFETY: the caller's contract.
                    unsafe { $body::<<$g as SimdFloat>::Avx2>($($arg),*) }
                }
                match level() {
                    // SAFETY: the CPU has the features of its level; the rest is the caller's contract.
                    Level::Avx512 => Some(unsafe { avx512::<$g>($($arg),*) }),
                    // SAFETY: as above.
                    Level::Avx2 => Some(unsafe { avx2::<$g>($($arg),*) }),
                    Level::Baseline => None,
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            {
                let _ = ($($arg,)*);
                None
            }
        }
    };
}
pub(super) use leveled_simd;
