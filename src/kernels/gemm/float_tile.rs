//! Micro-kernels of float matrices: a tile of a product as sums in registers.
//!
//! Owns: the tiles of every level with vectors that can be masked, and what is written of one. Never packs or cuts. A tile
//! reads `a` where it lies, whatever its strides, number by number, and rows of `b`.
//! Invariant: an element is one running sum of fused products in the order of the inner axis, in a tile of any size.

use super::float_pack::Turn;
#[cfg(target_arch = "x86_64")]
use super::float_pack::{turn_f32, turn_f64};
use super::product::Mat;

/// Where a tile is written: its first element, the distance of its rows, its columns.
pub(super) struct Place<T> {
    pub(super) ptr: *mut T,
    pub(super) step: isize,
    pub(super) columns: usize,
    /// Whether it is added to what is there.
    pub(super) keep: bool,
    /// Whether it is called for before it is needed, being in no near cache.
    pub(super) far: bool,
    pub(super) factor: T,
}

/// A tile of `k` products of a column of `a` and a row of `b`, whose rows are `step` apart.
///
/// # Safety
/// `a` holds the rows of the tile, `b` the columns of the place, both `k` times; the place is writable and overlaps neither,
/// its columns are of the last vector of the tile, and the CPU is of the level.
pub(super) type Tile<T> =
    unsafe fn(k: usize, a: Mat<*const T>, b: *const T, step: isize, to: Place<T>);

/// The tiles of a level: of each number of rows, the largest first, those of one vector of columns and more.
pub(super) struct Tiles<T: 'static> {
    pub(super) lanes: usize,
    pub(super) run: &'static [(usize, &'static [Tile<T>])],
    pub(super) turn: Turn<T>,
}

/// A float of which there may be tiles.
pub(in crate::kernels) trait FloatTile: Copy + Default + 'static {
    /// The tiles of the level of this process.
    #[allow(private_interfaces)]
    fn tiles() -> Option<&'static Tiles<Self>>;
}

/// The body for each row of a tile, laid out by the compiler or not: sums that a loop runs over would lie in memory.
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
        /// As `Tile`.
        #[target_feature(enable = $features)]
        unsafe fn $name<const R: usize, const V: usize>(
            k: usize,
            a: Mat<*const $t>,
            b: *const $t,
            step: isize,
            to: Place<$t>,
        ) {
            use std::arch::x86_64::*;
            use std::hint::black_box;
            const L: usize = $lanes;
            let mut masks = [$mask(L); V];
            masks[V - 1] = $mask(to.columns - (V - 1) * L);
            let place = |i: usize, j: usize| {
                to.ptr.wrapping_offset(i as isize * to.step).wrapping_add(j * L)
            };
            if to.far {
                for i in 0..R {
                    (0..V).for_each(|j| _mm_prefetch::<_MM_HINT_T0>(place(i, j).cast::<i8>()));
                }
            }
            let mut sums = [[$zero(); V]; R];
            // Unless the compiler cannot see what these multiples are, it adds row to row, each sum waiting for the last.
            let one = a.rs;
            let (three, five) = (black_box(3 * one), black_box(5 * one));
            let (mut at, mut b) = (a.ptr, b);
            // SAFETY: the caller's contract; lanes beyond the columns are neither read nor written.
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
                // What is not added to is not read, not even by loads without lanes, which wait for memory as others do.
                if to.keep {
                    each_row!(ROW < R, {
                        for j in 0..V {
                            sums[ROW][j] =
                                $fma(factor, sums[ROW][j], $load(place(ROW, j), masks[j]));
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
                        $store(place(ROW, j), masks[j], sums[ROW][j]);
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
    ($($t:ty, $avx512:ident, $avx2:ident, $turn:ident, $lanes:literal;)*) => {$(
        impl FloatTile for $t {
            #[allow(private_interfaces)]
            #[inline]
            fn tiles() -> Option<&'static Tiles<$t>> {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::kernels::isa::{Level, level};
                    const AVX2: Tiles<$t> = Tiles {
                        lanes: $lanes / 2,
                        run: &[
                            (6, &[$avx2::<6, 1>, $avx2::<6, 2>]),
                            (2, &[$avx2::<2, 1>, $avx2::<2, 2>]),
                            (1, &[$avx2::<1, 1>, $avx2::<1, 2>]),
                        ],
                        turn: $turn,
                    };
                    // Four vectors of columns want fewer reads than tiles of more rows, and a processor that multiplies wide
                    // vectors takes a lower clock for each of them.
                    const AVX512: Tiles<$t> = Tiles {
                        lanes: $lanes,
                        run: &[
                            (6, &[$avx512::<6, 1>, $avx512::<6, 2>, $avx512::<6, 3>, $avx512::<6, 4>]),
                            (2, &[$avx512::<2, 1>, $avx512::<2, 2>, $avx512::<2, 3>, $avx512::<2, 4>]),
                            (1, &[$avx512::<1, 1>, $avx512::<1, 2>, $avx512::<1, 3>, $avx512::<1, 4>]),
                        ],
                        turn: $turn,
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
        }
    )*};
}
float_tiles! {
    f64, avx512_f64, avx2_f64, turn_f64, 8;
    f32, avx512_f32, avx2_f32, turn_f32, 16;
}
