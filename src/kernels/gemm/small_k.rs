//! Products of floats with a short inner axis and a narrow side, or with few results, straight from where the operands lie.
//!
//! Owns: strips of tiles of sums in registers, for every level with vectors that can be masked, and which products they take.
//! Never packs or splits. Invariant: an element is running sums of fused products in the order of the inner axis, added in
//! that order, so that neither the tile nor the block that it lies in decides a bit.

use super::product::{Mat, Size};
use crate::kernels::number::ring::Ring;

/// The longest inner axis, and the most rows or columns: of larger ones, packing pays.
const DEPTH: usize = 64;
const NARROW: usize = 32;
/// Rows and columns of a result so small that packing never pays, and the inner axis of one running sum of it.
const FEW: usize = 12;
const RUN: usize = 512;

/// Rows from a place on, times columns of at most a tile.
///
/// # Safety
/// The operands are valid for the sizes, columns of `b` and `c` are neighbours, `c` overlaps neither operand, there is a row,
/// and the CPU is of the level.
type Strip<T> = unsafe fn(s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>);

/// The strips of a level: numbers in a vector, and strips of one vector and of two, with one for at most `LOW` rows.
pub(super) struct Strips<T> {
    lanes: usize,
    low: Strip<T>,
    run: [Strip<T>; 2],
}

/// Rows of a low strip.
const LOW: usize = 4;

/// A float of which there may be strips.
pub(super) trait Direct: Ring {
    /// The strips of the level of this process.
    fn strips() -> Option<Strips<Self>>;
}

/// Computes `c = a b` if it is such a product; it is, or is not, whichever block of rows or columns is asked for.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn direct<T: Direct>(
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) -> bool {
    let narrow = s.n > 1 && s.m.min(s.n) <= NARROW && (1..=DEPTH).contains(&s.k);
    let few = s.n > 1 && s.m.max(s.n) <= FEW && s.k > DEPTH;
    if !(narrow || few) || b.cs != 1 || c.cs != 1 {
        return false;
    }
    let Some(of_level) = T::strips() else {
        return false;
    };
    // SAFETY: the caller's contract; the first run writes what the others are added to.
    unsafe {
        strips(&of_level, Size { k: s.k.min(RUN), ..s }, a, b, c);
        for from in (RUN..s.k).step_by(RUN) {
            let mut part = [[T::ZERO; FEW]; FEW];
            let to = Mat::new(part.as_mut_ptr().cast::<T>(), [FEW as isize, 1]);
            strips(
                &of_level,
                Size { k: RUN.min(s.k - from), ..s },
                a.from(0, from),
                b.from(from, 0),
                to,
            );
            for (i, row) in part.iter().enumerate().take(s.m) {
                for (j, &more) in row.iter().enumerate().take(s.n) {
                    let sum = c.from(i, j).ptr;
                    *sum = (*sum).plus(more);
                }
            }
        }
    }
    true
}

/// All columns, in strips as wide as a level has.
///
/// # Safety
/// As `Strip`, for any number of columns.
unsafe fn strips<T>(
    of_level: &Strips<T>,
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) {
    let mut j = 0;
    while j < s.n {
        let left = s.n - j;
        let (run, wide) = match left > of_level.lanes {
            true => (of_level.run[1], left.min(2 * of_level.lanes)),
            false if s.m <= LOW => (of_level.low, left),
            false => (of_level.run[0], left),
        };
        // SAFETY: the caller's contract; the strip lies inside the product.
        unsafe { run(Size { n: wide, ..s }, a, b.from(0, j), c.from(0, j)) };
        j += wide;
    }
}

macro_rules! strip {
    ($name:ident, $features:literal, $t:ty, $lanes:literal, $mask:expr, $load:expr, $store:expr, $zero:ident $all:ident $fma:ident) => {
        /// # Safety
        /// As `Strip`, for at most `V` vectors of columns.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name<const R: usize, const V: usize>(
            s: Size,
            a: Mat<*const $t>,
            b: Mat<*const $t>,
            c: Mat<*mut $t>,
        ) {
            use std::arch::x86_64::*;
            let mut masks = [$mask($lanes); V];
            for j in 0..V {
                masks[j] = $mask(s.n.saturating_sub(j * $lanes).min($lanes));
            }
            let mut i = 0;
            while i < s.m {
                let mut sums = [[$zero(); V]; R];
                // Rows that are not there are the last one again.
                let mut rows = [a.ptr; R];
                for r in 0..R {
                    rows[r] = a.from((i + r).min(s.m - 1), 0).ptr;
                }
                let (mut at, mut b_row) = (0, b.ptr);
                // SAFETY: the caller's contract; lanes beyond the columns are neither read nor written.
                unsafe {
                    for _ in 0..s.k {
                        let mut row = [$zero(); V];
                        for j in 0..V {
                            row[j] = $load(b_row.wrapping_add(j * $lanes), masks[j]);
                        }
                        for r in 0..R {
                            let x = $all(*rows[r].offset(at));
                            for j in 0..V {
                                sums[r][j] = $fma(x, row[j], sums[r][j]);
                            }
                        }
                        at += a.cs;
                        b_row = b_row.wrapping_offset(b.rs);
                    }
                    for r in 0..R.min(s.m - i) {
                        for j in 0..V {
                            let to = c.from(i + r, 0).ptr.wrapping_add(j * $lanes);
                            $store(to, masks[j], sums[r][j]);
                        }
                    }
                }
                i += R;
            }
        }
    };
}

macro_rules! direct {
    ($($t:ty, $avx512:ident, $avx2:ident, $lanes:literal;)*) => {$(
        impl Direct for $t {
            #[inline]
            fn strips() -> Option<Strips<$t>> {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::kernels::isa::{Level, level};
                    return match level() {
                        Level::Avx512 => Some(Strips { lanes: $lanes, low: $avx512::<LOW, 1>, run: [$avx512::<8, 1>, $avx512::<8, 2>] }),
                        Level::Avx2 => Some(Strips { lanes: $lanes / 2, low: $avx2::<LOW, 1>, run: [$avx2::<8, 1>, $avx2::<4, 2>] }),
                        Level::Baseline => None,
                    };
                }
                #[cfg(not(target_arch = "x86_64"))]
                None
            }
        }
    )*};
}

strip!(avx512_f64, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", f64, 8,
    |n: usize| ((1u32 << n) - 1) as __mmask8, |from, mask| _mm512_maskz_loadu_pd(mask, from),
    |to, mask, sum| _mm512_mask_storeu_pd(to, mask, sum), _mm512_setzero_pd _mm512_set1_pd _mm512_fmadd_pd);
strip!(avx512_f32, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", f32, 16,
    |n: usize| ((1u32 << n) - 1) as __mmask16, |from, mask| _mm512_maskz_loadu_ps(mask, from),
    |to, mask, sum| _mm512_mask_storeu_ps(to, mask, sum), _mm512_setzero_ps _mm512_set1_ps _mm512_fmadd_ps);
strip!(avx2_f64, "avx2,fma", f64, 4,
    |n: usize| _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), _mm256_setr_epi64x(0, 1, 2, 3)),
    |from, mask| _mm256_maskload_pd(from, mask), |to, mask, sum| _mm256_maskstore_pd(to, mask, sum),
    _mm256_setzero_pd _mm256_set1_pd _mm256_fmadd_pd);
strip!(avx2_f32, "avx2,fma", f32, 8,
    |n: usize| _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
    |from, mask| _mm256_maskload_ps(from, mask), |to, mask, sum| _mm256_maskstore_ps(to, mask, sum),
    _mm256_setzero_ps _mm256_set1_ps _mm256_fmadd_ps);

direct! { f64, avx512_f64, avx2_f64, 8; f32, avx512_f32, avx2_f32, 16; }
