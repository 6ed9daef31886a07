//! SIMD micro-kernels of float matrix products: one tile of the result in registers.
//!
//! For CPU levels with masked vectors. A tile reads `a` in place with any strides, one number at a
//! time, and contiguous rows of `b`. Invariant: an element is one running sum of fused products in
//! the order of the inner axis, in a tile of any size.

use super::matrix::{Mat, Size};
use super::tile::{Tile, TileOutput, Tiles};

/// Bytes of a column of a block of `a`.
const BLOCK_M_BYTES: usize = 960;
/// Bytes of a row of a block of `b`.
const BLOCK_N_BYTES: usize = 3840;
/// Most rows of `a` for which a row-contiguous `b` is read without packing: for any `b`, if its
/// rows are vector-aligned, and if it also fits the second cache.
const MAX_ROWS_UNPACKED: [usize; 3] = [128, 192, 320];
/// Bytes of a vector, and of a matrix that fits the second cache.
const VECTOR_BYTES: usize = 64;
const CACHED_BYTES: usize = 1 << 20;
/// Columns of `b` from which packing a column-contiguous `a` pays.
const MIN_COLUMNS_TO_PACK_A: usize = 512;

/// Repeats the body for each row of a tile at compile time: an array of accumulators indexed by a
/// loop would be spilled to memory.
#[cfg(target_arch = "x86_64")]
macro_rules! each_row {
    ($i:ident < $rows:ident, $body:block) => {
        each_row!($i < $rows, $body, 0, 1, 2, 3, 4, 5)
    };
    ($i:ident < $rows:ident, $body:block, $($row:literal),*) => {
        $({
            const $i: usize = $row;
            if $i < $rows $body
        })*
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! vector_tile {
    ($name:ident, $features:literal, $t:ty, $lanes:literal, $mask:expr, $load:expr, $store:expr,
     $zero:ident $all:ident $fma:ident $mul:ident) => {
        /// # Safety
        /// As `MicroKernel`.
        #[target_feature(enable = $features)]
        unsafe fn $name<const R: usize, const V: usize>(
            k: usize,
            a: Mat<*const $t>,
            b: *const $t,
            step: isize,
            to: &TileOutput<$t>,
        ) {
            use std::arch::x86_64::*;
            use std::hint::black_box;
            const L: usize = $lanes;
            let mut masks = [$mask(L); V];
            masks[V - 1] = $mask(to.columns - (V - 1) * L);
            let output_at = |i: usize, j: usize| {
                to.ptr.wrapping_offset(i as isize * to.strides[0]).wrapping_add(j * L)
            };
            if to.prefetch {
                for i in 0..R {
                    (0..V).for_each(|j| _mm_prefetch::<_MM_HINT_T0>(output_at(i, j).cast::<i8>()));
                }
            }
            let mut sums = [[$zero(); V]; R];
            // `black_box` hides these multiples: LLVM would otherwise add row strides one by one, a
            // chain of dependent additions.
            let one = a.rs;
            let (three, five) = (black_box(3 * one), black_box(5 * one));
            let (mut at, mut b) = (a.ptr, b);
            // SAFETY: the caller's contract; lanes beyond the columns are masked off.
            unsafe {
                for _ in 0..k {
                    let mut row = [$zero(); V];
                    for j in 0..V {
                        row[j] = $load(b.wrapping_add(j * L), masks[j]);
                    }
                    for i in 0..R {
                        let skip = match i {
                            0 => 0,
                            1 => one,
                            2 => 2 * one,
                            3 => three,
                            4 => 4 * one,
                            _ => five,
                        };
                        let x = $all(*at.wrapping_offset(skip));
                        for j in 0..V {
                            sums[i][j] = $fma(x, row[j], sums[i][j]);
                        }
                    }
                    at = at.wrapping_offset(a.cs);
                    b = b.wrapping_offset(step);
                }
                let factor = $all(to.factor);
                // The output is read only to accumulate: even a load with an empty mask waits for
                // memory.
                if to.accumulate {
                    each_row!(ROW < R, {
                        for j in 0..V {
                            sums[ROW][j] =
                                $fma(factor, sums[ROW][j], $load(output_at(ROW, j), masks[j]));
                        }
                    });
                } else {
                    each_row!(ROW < R, {
                        for j in 0..V {
                            sums[ROW][j] = $mul(factor, sums[ROW][j]);
                        }
                    });
                }
                each_row!(ROW < R, {
                    for j in 0..V {
                        $store(output_at(ROW, j), masks[j], sums[ROW][j]);
                    }
                });
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
vector_tile!(avx512_f64, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", f64, 8,
    |n: usize| ((1u32 << n) - 1) as __mmask8, |from, mask| _mm512_maskz_loadu_pd(mask, from),
    |to, mask, sum| _mm512_mask_storeu_pd(to, mask, sum),
    _mm512_setzero_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_mul_pd);
#[cfg(target_arch = "x86_64")]
vector_tile!(avx512_f32, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", f32, 16,
    |n: usize| ((1u32 << n) - 1) as __mmask16, |from, mask| _mm512_maskz_loadu_ps(mask, from),
    |to, mask, sum| _mm512_mask_storeu_ps(to, mask, sum),
    _mm512_setzero_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_mul_ps);
#[cfg(target_arch = "x86_64")]
vector_tile!(avx2_f64, "avx2,fma", f64, 4,
    |n: usize| _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), _mm256_setr_epi64x(0, 1, 2, 3)),
    |from, mask| _mm256_maskload_pd(from, mask), |to, mask, sum| _mm256_maskstore_pd(to, mask, sum),
    _mm256_setzero_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_mul_pd);
#[cfg(target_arch = "x86_64")]
vector_tile!(avx2_f32, "avx2,fma", f32, 8,
    |n: usize| _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
    |from, mask| _mm256_maskload_ps(from, mask), |to, mask, sum| _mm256_maskstore_ps(to, mask, sum),
    _mm256_setzero_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_mul_ps);

macro_rules! float_tiles {
    ($($t:ty, $avx512:ident, $avx2:ident, $lanes:literal;)*) => {$(
        impl Tile for $t {
            type Factor = $t;
            const BLOCK_M: usize = BLOCK_M_BYTES / size_of::<$t>();
            const BLOCK_N: usize = BLOCK_N_BYTES / size_of::<$t>();
            const PADDED: bool = false;
            const STRIPS_PER_PACK: usize = 1;

            #[inline]
            fn tiles() -> Option<&'static Tiles<$t>> {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::kernels::isa::{Level, level};
                    const ROWS: &[usize] = &[6, 2, 1];
                    const AVX2: Tiles<$t> = Tiles {
                        rows: ROWS,
                        columns: &[$lanes, $lanes / 2],
                        run: &[
                            &[$avx2::<6, 2>, $avx2::<6, 1>],
                            &[$avx2::<2, 2>, $avx2::<2, 1>],
                            &[$avx2::<1, 2>, $avx2::<1, 1>],
                        ],
                    };
                    // Four vectors of columns need fewer loads than more rows would; more rows of
                    // 512-bit products would also lower the clock.
                    const AVX512: Tiles<$t> = Tiles {
                        rows: ROWS,
                        columns: &[4 * $lanes, 3 * $lanes, 2 * $lanes, $lanes],
                        run: &[
                            &[$avx512::<6, 4>, $avx512::<6, 3>, $avx512::<6, 2>, $avx512::<6, 1>],
                            &[$avx512::<2, 4>, $avx512::<2, 3>, $avx512::<2, 2>, $avx512::<2, 1>],
                            &[$avx512::<1, 4>, $avx512::<1, 3>, $avx512::<1, 2>, $avx512::<1, 1>],
                        ],
                    };
                    return match level() {
                        Level::Avx512 => Some(&AVX512),
                        Level::Avx2 => Some(&AVX2),
                        Level::Baseline => None,
                    };
                }
                #[cfg(not(target_arch = "x86_64"))]
                None
            }

            fn packs_a(s: Size, a: Mat<*const $t>) -> bool {
                a.rs == 1 && s.n >= MIN_COLUMNS_TO_PACK_A
            }

            fn reads_b_in_place(s: Size, b: Mat<*const $t>) -> bool {
                let (size, step) = (size_of::<$t>(), b.rs.unsigned_abs());
                let whole = b.ptr.addr().is_multiple_of(VECTOR_BYTES)
                    && (step * size).is_multiple_of(VECTOR_BYTES);
                let cached = s.k.saturating_mul(s.n).saturating_mul(size) <= CACHED_BYTES;
                let most = MAX_ROWS_UNPACKED[usize::from(whole) + usize::from(whole && cached)];
                b.cs == 1 && s.m <= most
            }

            fn prefetches_output(s: Size) -> bool {
                s.m.saturating_mul(s.n).saturating_mul(size_of::<$t>()) > CACHED_BYTES
            }
        }
    )*};
}
float_tiles! {
    f64, avx512_f64, avx2_f64, 8;
    f32, avx512_f32, avx2_f32, 16;
}
