//! Micro-kernels of complex matrices: a tile of a product as real sums in registers.
//!
//! Owns: the tiles for every level, and what is written of one. Never packs or cuts. Operands are packed by planes, so that
//! a product of two complex numbers is four fused multiply-adds and no shuffle.
//! Invariant: an element is the same sum in the same order in a tile of any size.

use std::ops::{Add, Mul, Neg};

use super::super::isa::{Level, level};

/// Where a tile is written: its first element, the strides, the rows and columns that exist.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Place<T> {
    pub(super) ptr: *mut [T; 2],
    pub(super) strides: [isize; 2],
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Whether it is added to what is there.
    pub(super) keep: bool,
}

/// A tile of `k` products: of a column of complex numbers `a` for each, and of a row `b`, real parts before imaginary ones.
///
/// # Safety
/// The operands hold `k` columns and rows of the tile's size, the place is writable, and the CPU is of the level.
pub(in crate::kernels) type Tile<T> = unsafe fn(k: usize, a: *const T, b: *const T, to: Place<T>);

/// The tiles of a level: of many rows and few, each of many columns and half as many.
pub(in crate::kernels) struct Tiles<T> {
    pub(super) rows: [usize; 2],
    pub(super) columns: [usize; 2],
    pub(super) run: [[Tile<T>; 2]; 2],
}

/// A part of complex numbers of which there are tiles.
pub(in crate::kernels) trait TilePart:
    Copy + Default + Add<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + 'static
{
    /// `a * b + c`, rounded once where the target always can.
    fn fused(a: Self, b: Self, c: Self) -> Self;
    /// The tiles of the level of this process.
    fn tiles() -> &'static Tiles<Self>;
}

/// Writes a tile whose rows are `stride` elements apart.
///
/// # Safety
/// The tile is readable and the place writable.
#[inline(always)]
unsafe fn write<T: TilePart>(to: Place<T>, re: *const T, im: *const T, stride: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        for i in 0..to.rows {
            let (re, im) = (re.add(i * stride), im.add(i * stride));
            let row = to.ptr.wrapping_offset(i as isize * to.strides[0]);
            if to.strides[1] == 1 && to.columns == stride {
                if to.keep {
                    for j in 0..stride {
                        let [x, y] = *row.add(j);
                        *row.add(j) = [x + *re.add(j), y + *im.add(j)];
                    }
                } else {
                    (0..stride).for_each(|j| *row.add(j) = [*re.add(j), *im.add(j)]);
                }
                continue;
            }
            for j in 0..to.columns {
                let at = row.wrapping_offset(j as isize * to.strides[1]);
                let [x, y] = if to.keep { *at } else { [T::default(); 2] };
                *at = if to.keep {
                    [x + *re.add(j), y + *im.add(j)]
                } else {
                    [*re.add(j), *im.add(j)]
                };
            }
        }
    }
}

/// A tile for any target.
///
/// # Safety
/// As `Tile`.
unsafe fn plain<T: TilePart, const R: usize, const N: usize>(
    k: usize,
    a: *const T,
    b: *const T,
    to: Place<T>,
) {
    let mut re = [[T::default(); N]; R];
    let mut im = [[T::default(); N]; R];
    // SAFETY: the caller's contract.
    unsafe {
        for p in 0..k {
            let (a, b) = (a.add(2 * R * p), b.add(2 * N * p));
            for i in 0..R {
                let (x, y) = (*a.add(2 * i), *a.add(2 * i + 1));
                for j in 0..N {
                    let (u, v) = (*b.add(j), *b.add(N + j));
                    re[i][j] = T::fused(-y, v, T::fused(x, u, re[i][j]));
                    im[i][j] = T::fused(y, u, T::fused(x, v, im[i][j]));
                }
            }
        }
        write(to, re.as_ptr().cast(), im.as_ptr().cast(), N);
    }
}

macro_rules! vector_tile {
    ($name:ident, $feature:literal, $t:ty, $lanes:literal,
     $zero:ident $load:ident $all:ident $fma:ident $fnma:ident $store:ident) => {
        /// # Safety
        /// As `Tile`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $feature)]
        unsafe fn $name<const R: usize, const V: usize>(
            k: usize,
            a: *const $t,
            b: *const $t,
            to: Place<$t>,
        ) {
            use std::arch::x86_64::*;
            const L: usize = $lanes;
            let (mut re, mut im) = ([[$zero(); V]; R], [[$zero(); V]; R]);
            // SAFETY: the caller's contract.
            unsafe {
                for p in 0..k {
                    let (a, b) = (a.add(2 * R * p), b.add(2 * V * L * p));
                    let (mut u, mut v) = ([$zero(); V], [$zero(); V]);
                    for j in 0..V {
                        (u[j], v[j]) = ($load(b.add(j * L)), $load(b.add((V + j) * L)));
                    }
                    for i in 0..R {
                        let (x, y) = ($all(*a.add(2 * i)), $all(*a.add(2 * i + 1)));
                        for j in 0..V {
                            re[i][j] = $fma(x, u[j], re[i][j]);
                            im[i][j] = $fma(x, v[j], im[i][j]);
                        }
                        for j in 0..V {
                            re[i][j] = $fnma(y, v[j], re[i][j]);
                            im[i][j] = $fma(y, u[j], im[i][j]);
                        }
                    }
                }
                let (mut x, mut y) = ([[[0.0; L]; V]; R], [[[0.0; L]; V]; R]);
                for i in 0..R {
                    for j in 0..V {
                        $store(x[i][j].as_mut_ptr(), re[i][j]);
                        $store(y[i][j].as_mut_ptr(), im[i][j]);
                    }
                }
                write(to, x.as_ptr().cast(), y.as_ptr().cast(), V * L);
            }
        }
    };
}
vector_tile!(avx512_f64, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", f64, 8, _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_fnmadd_pd _mm512_storeu_pd);
vector_tile!(avx512_f32, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", f32, 16, _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_fnmadd_ps _mm512_storeu_ps);
vector_tile!(avx2_f64, "avx2,fma", f64, 4, _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_fnmadd_pd _mm256_storeu_pd);
vector_tile!(avx2_f32, "avx2,fma", f32, 8, _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_fnmadd_ps _mm256_storeu_ps);

macro_rules! tile_parts {
    ($($t:ty, $avx512:ident, $avx2:ident, $lanes:literal;)*) => {$(
        impl TilePart for $t {
            #[inline(always)]
            fn fused(a: $t, b: $t, c: $t) -> $t {
                if cfg!(target_arch = "aarch64") { a.mul_add(b, c) } else { a * b + c }
            }

            fn tiles() -> &'static Tiles<$t> {
                const PLAIN: Tiles<$t> = Tiles {
                    rows: [2, 1],
                    columns: [8, 4],
                    run: [[plain::<$t, 2, 8>, plain::<$t, 2, 4>], [plain::<$t, 1, 8>, plain::<$t, 1, 4>]],
                };
                #[cfg(target_arch = "x86_64")]
                const AVX2: Tiles<$t> = Tiles {
                    rows: [2, 1],
                    columns: [$lanes, $lanes / 2],
                    run: [[$avx2::<2, 2>, $avx2::<2, 1>], [$avx2::<1, 2>, $avx2::<1, 1>]],
                };
                #[cfg(target_arch = "x86_64")]
                const AVX512: Tiles<$t> = Tiles {
                    rows: [6, 2],
                    columns: [2 * $lanes, $lanes],
                    run: [[$avx512::<6, 2>, $avx512::<6, 1>], [$avx512::<2, 2>, $avx512::<2, 1>]],
                };
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => &AVX512,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => &AVX2,
                    _ => &PLAIN,
                }
            }
        }
    )*};
}
tile_parts! {
    f64, avx512_f64, avx2_f64, 8;
    f32, avx512_f32, avx2_f32, 16;
}
