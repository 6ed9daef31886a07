//! SIMD micro-kernels of complex matrix products: one tile of the result in registers.
//!
//! Uses four real products per complex one: the three-product formula would lose a small part
//! beside a large one, and complex-step derivatives rest on that. Rows of `b` are read as
//! interleaved real and imaginary parts. The real and the imaginary parts of `a` have accumulators
//! of their own, combined once at the end, so that no product needs a shuffle. Invariant: an element
//! is the same sum in the same order in a tile of any size.

use std::ops::{Add, Mul, Neg};

use super::matrix::{Mat, Size};
use super::tile::{Tile, TileOutput, Tiles};
use crate::dtype::Complex;
use crate::kernels::isa::{Level, level};

/// Stride in bytes, from one element that a tile reads to the next, from which packing pays.
const MIN_STRIDE_BYTES_TO_PACK: usize = 2048;

/// The real type of the two parts of a complex type with tiles.
trait Part:
    Copy + Default + Add<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + 'static
{
    /// `a * b + c`, fused on targets that always have the instruction.
    fn fused(a: Self, b: Self, c: Self) -> Self;
}

/// Stores a tile whose rows are `wide` numbers long.
///
/// # Safety
/// The tile is readable and the output writable.
#[inline(always)]
unsafe fn store_tile<T: Part>(to: &TileOutput<Complex<T>>, tile: *const [T; 2], wide: usize)
where
    Complex<T>: Tile,
{
    // SAFETY: the caller's contract.
    unsafe {
        for i in 0..to.rows {
            let from = tile.add(i * wide);
            let row = to.ptr.wrapping_offset(i as isize * to.strides[0]).cast::<[T; 2]>();
            if to.strides[1] == 1 && to.columns == wide {
                let (row, from) = (row.cast::<T>(), from.cast::<T>());
                if to.accumulate {
                    (0..2 * wide).for_each(|j| *row.add(j) = *row.add(j) + *from.add(j));
                } else {
                    std::ptr::copy_nonoverlapping(from, row, 2 * wide);
                }
                continue;
            }
            for j in 0..to.columns {
                let at = row.wrapping_offset(j as isize * to.strides[1]);
                let [x, y] = *from.add(j);
                *at = match to.accumulate {
                    true => [(*at)[0] + x, (*at)[1] + y],
                    false => [x, y],
                };
            }
        }
    }
}

/// Pointers to `R` rows of `a`; missing rows repeat the last one.
#[inline(always)]
fn row_pointers<T, const R: usize>(a: Mat<*const Complex<T>>, count: usize) -> [*const T; R] {
    std::array::from_fn(|i| a.from(i.min(count - 1), 0).ptr.cast())
}

/// Portable tile with rows of `W` real numbers.
///
/// # Safety
/// As `MicroKernel`.
unsafe fn scalar_tile<T: Part, const R: usize, const W: usize>(
    k: usize,
    a: Mat<*const Complex<T>>,
    b: *const Complex<T>,
    step: isize,
    to: &TileOutput<Complex<T>>,
) where
    Complex<T>: Tile<Factor = T>,
{
    let (mut re, mut im) = ([[T::default(); W]; R], [[T::default(); W]; R]);
    let at = row_pointers::<T, R>(a, to.rows);
    // SAFETY: the caller's contract.
    unsafe {
        for p in 0..k as isize {
            let b = b.wrapping_offset(p * step).cast::<T>();
            for i in 0..R {
                let a = at[i].wrapping_offset(2 * p * a.cs);
                let (x, y) = (*a, *a.add(1));
                for j in 0..W {
                    re[i][j] = T::fused(x, *b.add(j), re[i][j]);
                    im[i][j] = T::fused(y, *b.add(j), im[i][j]);
                }
            }
        }
        for (re, im) in re.iter_mut().zip(&im) {
            for (re, im) in re.chunks_exact_mut(2).zip(im.chunks_exact(2)) {
                (re[0], re[1]) = (to.factor * (re[0] + -im[1]), to.factor * (re[1] + im[0]));
            }
        }
        store_tile(to, re.as_ptr().cast(), W / 2);
    }
}

macro_rules! vector_tile {
    ($name:ident, $feature:literal, $t:ty, $lanes:literal,
     $zero:ident $load:ident $all:ident $fma:ident $mixed:ident $add:ident $mul:ident $swap:ident<$order:literal> $store:ident) => {
        /// # Safety
        /// As `MicroKernel`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $feature)]
        unsafe fn $name<const R: usize, const V: usize>(
            k: usize,
            a: Mat<*const Complex<$t>>,
            b: *const Complex<$t>,
            step: isize,
            to: &TileOutput<Complex<$t>>,
        ) {
            use std::arch::x86_64::*;
            const L: usize = $lanes;
            let (mut re, mut im) = ([[$zero(); V]; R], [[$zero(); V]; R]);
            let (mut at, mut b) = (row_pointers::<$t, R>(a, to.rows), b.cast::<$t>());
            // Full rows are stored directly from registers.
            let whole = to.strides[1] == 1 && to.columns == V * L / 2;
            let output_at = |i: usize, j: usize| {
                to.ptr.wrapping_offset(i as isize * to.strides[0]).cast::<$t>().wrapping_add(j * L)
            };
            // SAFETY: the caller's contract; a prefetch reads nothing.
            unsafe {
                if whole && to.prefetch {
                    for i in 0..R {
                        (0..V).for_each(|j| {
                            _mm_prefetch::<_MM_HINT_T0>(output_at(i, j).cast::<i8>())
                        });
                    }
                }
                for _ in 0..k {
                    let mut row = [$zero(); V];
                    for j in 0..V {
                        row[j] = $load(b.add(j * L));
                    }
                    for i in 0..R {
                        let (x, y) = ($all(*at[i]), $all(*at[i].add(1)));
                        for j in 0..V {
                            re[i][j] = $fma(x, row[j], re[i][j]);
                            im[i][j] = $fma(y, row[j], im[i][j]);
                        }
                        at[i] = at[i].wrapping_offset(2 * a.cs);
                    }
                    b = b.wrapping_offset(2 * step);
                }
                let (one, factor) = ($all(1.0), $all(to.factor));
                for i in 0..R {
                    for j in 0..V {
                        re[i][j] = $mul(factor, $mixed(one, re[i][j], $swap::<$order>(im[i][j])));
                        if whole && i < to.rows {
                            let (at, new) = (output_at(i, j), re[i][j]);
                            $store(at, if to.accumulate { $add($load(at), new) } else { new });
                        }
                    }
                }
                if !whole {
                    let mut tile = [[[0.0; L]; V]; R];
                    for i in 0..R {
                        (0..V).for_each(|j| $store(tile[i][j].as_mut_ptr(), re[i][j]));
                    }
                    store_tile(to, tile.as_ptr().cast(), V * L / 2);
                }
            }
        }
    };
}
vector_tile!(avx512_f64, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", f64, 8, _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_fmaddsub_pd _mm512_add_pd _mm512_mul_pd _mm512_permute_pd<0x55> _mm512_storeu_pd);
vector_tile!(avx512_f32, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", f32, 16, _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_fmaddsub_ps _mm512_add_ps _mm512_mul_ps _mm512_permute_ps<0xb1> _mm512_storeu_ps);
vector_tile!(avx2_f64, "avx2,fma", f64, 4, _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_fmaddsub_pd _mm256_add_pd _mm256_mul_pd _mm256_permute_pd<0x5> _mm256_storeu_pd);
vector_tile!(avx2_f32, "avx2,fma", f32, 8, _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_fmaddsub_ps _mm256_add_ps _mm256_mul_ps _mm256_permute_ps<0xb1> _mm256_storeu_ps);

macro_rules! complex_tiles {
    ($($t:ty, $avx512:ident, $avx2:ident, $lanes:literal;)*) => {$(
        impl Part for $t {
            #[inline(always)]
            fn fused(a: $t, b: $t, c: $t) -> $t {
                if cfg!(target_arch = "aarch64") { a.mul_add(b, c) } else { a * b + c }
            }
        }

        impl Tile for Complex<$t> {
            type Factor = $t;
            const BLOCK_M: usize = 48;
            const BLOCK_N: usize = 256;
            const PADDED: bool = true;
            // Their joint rows are read as fast as whole rows.
            const STRIPS_PER_PACK: usize = 4;

            fn tiles() -> Option<&'static Tiles<Complex<$t>>> {
                const PLAIN: Tiles<Complex<$t>> = Tiles {
                    rows: &[2, 1],
                    columns: &[8, 4],
                    run: &[
                        &[scalar_tile::<$t, 2, 16>, scalar_tile::<$t, 2, 8>],
                        &[scalar_tile::<$t, 1, 16>, scalar_tile::<$t, 1, 8>],
                    ],
                };
                // Columns count complex numbers; an AVX2 vector holds `$lanes / 4` of them.
                #[cfg(target_arch = "x86_64")]
                const AVX2: Tiles<Complex<$t>> = Tiles {
                    rows: &[3, 1],
                    columns: &[$lanes / 2, $lanes / 4],
                    run: &[&[$avx2::<3, 2>, $avx2::<3, 1>], &[$avx2::<1, 2>, $avx2::<1, 1>]],
                };
                #[cfg(target_arch = "x86_64")]
                const AVX512: Tiles<Complex<$t>> = Tiles {
                    rows: &[6, 2],
                    columns: &[$lanes, $lanes / 2],
                    run: &[&[$avx512::<6, 2>, $avx512::<6, 1>], &[$avx512::<2, 2>, $avx512::<2, 1>]],
                };
                Some(match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => &AVX512,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => &AVX2,
                    _ => &PLAIN,
                })
            }

            fn packs_a(_: Size, a: Mat<*const Complex<$t>>) -> bool {
                is_far_apart::<Complex<$t>>(a.cs)
            }

            fn reads_b_in_place(_: Size, b: Mat<*const Complex<$t>>) -> bool {
                b.cs == 1 && !is_far_apart::<Complex<$t>>(b.rs)
            }

            fn prefetches_output(_: Size) -> bool {
                true
            }
        }
    )*};
}
complex_tiles! {
    f64, avx512_f64, avx2_f64, 8;
    f32, avx512_f32, avx2_f32, 16;
}

/// Whether elements with this stride are so far apart that packing pays.
fn is_far_apart<T>(step: isize) -> bool {
    step.unsigned_abs() >= MIN_STRIDE_BYTES_TO_PACK / size_of::<T>()
}
