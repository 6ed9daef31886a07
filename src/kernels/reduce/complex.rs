//! Sums and products of complex numbers with explicit SIMD: compiled from plain loops, products were scalar
//! code.
//!
//! In products real and imaginary parts are in separate vectors. Invariant: as for `Fold`; everything is
//! computed in complex128, with the same bits at every instruction-set level.

use std::array::from_fn;

use super::super::isa::{Level, level};
use super::fold::{Fold, fold_blocks, merge_halves, prefetch};
use super::reductions::{Prod, Sum};
use crate::dtype::{Complex, Complex128};
use crate::kernels::number::complex_scalar::ComplexElement;

/// Elements of a block, each in a lane of its own: enough independent products to hide latency.
const BLOCK: usize = 16;

/// A complex number with block reductions.
pub(super) trait ComplexBlocks: ComplexElement {
    /// The sum of at least one block.
    ///
    /// # Safety
    /// The blocks are readable.
    unsafe fn sum(at: *const Self, blocks: usize) -> Complex128;
    /// The product of at least one block.
    ///
    /// # Safety
    /// The blocks are readable.
    unsafe fn product(at: *const Self, blocks: usize) -> Complex128;
}

/// `Fold::leaf` of sums.
///
/// # Safety
/// `n` elements are readable.
#[inline(always)]
pub(super) unsafe fn fold_sums<F>(p: *const F::In, n: usize) -> Complex128
where
    F: Fold<Acc = Complex128>,
    F::In: ComplexBlocks,
{
    // SAFETY: the caller's contract.
    unsafe { fold_blocks::<F, BLOCK>(p, n, |at, blocks| F::In::sum(at, blocks)) }
}

/// `Fold::leaf` of products.
///
/// # Safety
/// `n` elements are readable.
#[inline(always)]
pub(super) unsafe fn fold_products<F>(p: *const F::In, n: usize) -> Complex128
where
    F: Fold<Acc = Complex128>,
    F::In: ComplexBlocks,
{
    // SAFETY: the caller's contract.
    unsafe { fold_blocks::<F, BLOCK>(p, n, |at, blocks| F::In::product(at, blocks)) }
}

/// The loop for any target.
///
/// # Safety
/// The blocks are readable.
unsafe fn reduce_blocks<F: Fold<In = Complex128, Acc = Complex128>, C: ComplexElement>(
    mut at: *const C,
    blocks: usize,
) -> Complex128 {
    let mut lanes = [F::IDENTITY; BLOCK];
    for _ in 0..blocks {
        for (j, lane) in lanes.iter_mut().enumerate() {
            // SAFETY: the caller's contract.
            *lane = F::merge(*lane, unsafe { *at.add(j) }.widen());
        }
        at = at.wrapping_add(BLOCK);
    }
    merge_halves::<F>(&mut lanes)
}

macro_rules! vectors {
    ($sum:ident $product:ident, $feature:literal, $t:ty, $lanes:literal, |$p:ident| $load:expr,
     $all:ident $mul:ident $add:ident $sub:ident $even:ident $odd:ident $store:ident) => {
        /// # Safety
        /// As `ComplexBlocks::sum`, and the CPU is of the level.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $feature)]
        unsafe fn $sum(mut at: *const Complex<$t>, blocks: usize) -> Complex128 {
            use std::arch::x86_64::*;
            const VECTORS: usize = 2 * BLOCK / $lanes;
            let mut sums = [$all(0.0); VECTORS];
            for _ in 0..blocks {
                prefetch(at, BLOCK);
                for (j, sum) in sums.iter_mut().enumerate() {
                    let $p = at.cast::<$t>().wrapping_add(j * $lanes);
                    // SAFETY: the caller's contract.
                    *sum = $add(*sum, unsafe { $load });
                }
                at = at.wrapping_add(BLOCK);
            }
            let mut half = VECTORS / 2;
            while half > 0 {
                for j in 0..half {
                    sums[j] = $add(sums[j], sums[j + half]);
                }
                half /= 2;
            }
            let mut lanes = [Complex::new(0.0, 0.0); $lanes / 2];
            // SAFETY: the array holds the numbers of a vector.
            unsafe { $store(lanes.as_mut_ptr().cast::<f64>(), sums[0]) };
            merge_halves::<Sum<Complex128>>(&mut lanes)
        }

        /// # Safety
        /// As `ComplexBlocks::product`, and the CPU is of the level.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $feature)]
        unsafe fn $product(mut at: *const Complex<$t>, blocks: usize) -> Complex128 {
            use std::arch::x86_64::*;
            const VECTORS: usize = BLOCK / $lanes;
            let (mut re, mut im) = ([$all(1.0); VECTORS], [$all(0.0); VECTORS]);
            for _ in 0..blocks {
                prefetch(at, BLOCK);
                for j in 0..VECTORS {
                    let $p = at.wrapping_add(j * $lanes).cast::<$t>();
                    // SAFETY: the caller's contract.
                    let low = unsafe { $load };
                    let $p = $p.wrapping_add($lanes);
                    // SAFETY: as above.
                    let high = unsafe { $load };
                    let (a, b, x, y) = (re[j], im[j], $even(low, high), $odd(low, high));
                    re[j] = $sub($mul(a, x), $mul(b, y));
                    im[j] = $add($mul(a, y), $mul(b, x));
                }
                at = at.wrapping_add(BLOCK);
            }
            let mut half = VECTORS / 2;
            while half > 0 {
                for j in 0..half {
                    let (a, b, x, y) = (re[j], im[j], re[j + half], im[j + half]);
                    re[j] = $sub($mul(a, x), $mul(b, y));
                    im[j] = $add($mul(a, y), $mul(b, x));
                }
                half /= 2;
            }
            let (mut x, mut y) = ([0.0; $lanes], [0.0; $lanes]);
            // SAFETY: the arrays hold the numbers of a vector.
            unsafe {
                $store(x.as_mut_ptr(), re[0]);
                $store(y.as_mut_ptr(), im[0]);
            }
            // The elements of a vector's two halves alternate.
            let place = |j: usize| 2 * j % $lanes + 2 * j / $lanes;
            let mut lanes = from_fn::<_, $lanes, _>(|j| Complex::new(x[place(j)], y[place(j)]));
            merge_halves::<Prod<Complex128>>(&mut lanes)
        }
    };
}

macro_rules! complex_blocks {
    ($($t:ty: $sum512:ident $product512:ident |$p:ident| $wide:expr, $sum2:ident $product2:ident |$q:ident| $narrow:expr;)*) => {$(
        vectors!($sum512 $product512, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", $t, 8, |$p| $wide,
            _mm512_set1_pd _mm512_mul_pd _mm512_add_pd _mm512_sub_pd _mm512_unpacklo_pd _mm512_unpackhi_pd _mm512_storeu_pd);
        vectors!($sum2 $product2, "avx2,fma", $t, 4, |$q| $narrow,
            _mm256_set1_pd _mm256_mul_pd _mm256_add_pd _mm256_sub_pd _mm256_unpacklo_pd _mm256_unpackhi_pd _mm256_storeu_pd);

        impl ComplexBlocks for Complex<$t> {
            unsafe fn sum(at: *const Self, blocks: usize) -> Complex128 {
                // SAFETY: the caller's contract; the CPU is of the level.
                unsafe {
                    match level() {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512 => $sum512(at, blocks),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2 => $sum2(at, blocks),
                        _ => reduce_blocks::<Sum<Complex128>, _>(at, blocks),
                    }
                }
            }
            unsafe fn product(at: *const Self, blocks: usize) -> Complex128 {
                // SAFETY: as above.
                unsafe {
                    match level() {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512 => $product512(at, blocks),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2 => $product2(at, blocks),
                        _ => reduce_blocks::<Prod<Complex128>, _>(at, blocks),
                    }
                }
            }
        }
    )*};
}
complex_blocks! {
    f64: sum512_f64 product512_f64 |p| _mm512_loadu_pd(p), sum2_f64 product2_f64 |p| _mm256_loadu_pd(p);
    f32: sum512_f32 product512_f32 |p| _mm512_cvtps_pd(_mm256_loadu_ps(p)),
        sum2_f32 product2_f32 |p| _mm256_cvtps_pd(_mm_loadu_ps(p));
}
