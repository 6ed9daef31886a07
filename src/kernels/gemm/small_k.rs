//! Float products with a short inner axis and a narrow side, or with a tiny result, without
//! packing.
//!
//! For CPU levels with masked vectors. Invariant: an element is a fixed sequence of running sums of
//! fused products in the order of the inner axis, so neither the tile nor the block decides a bit.

use super::product::{Mat, Size};
use crate::kernels::number::ring::Ring;

/// Longest inner axis, and most rows or columns of the narrow side: above these, packing pays.
const MAX_K: usize = 64;
const MAX_NARROW_SIDE: usize = 32;
/// Most rows and columns of a result so small that packing never pays, and the length of one
/// running sum of it.
const MAX_TINY_SIDE: usize = 12;
const TERMS_PER_SUM: usize = 512;

/// Multiplies all rows of `a` by the columns of one strip.
///
/// # Safety
/// The operands are valid for the sizes, rows of `b` and `c` are contiguous, `c` overlaps neither
/// operand, there is a row, and the CPU has the level.
type Strip<T> = unsafe fn(s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>);

/// The strips of a CPU level: lanes of a vector, strips of one and of two vectors, and one for at
/// most `LOW_STRIP_ROWS` rows.
pub(super) struct Strips<T> {
    lanes: usize,
    low: Strip<T>,
    run: [Strip<T>; 2],
}

/// Rows of a low strip.
const LOW_STRIP_ROWS: usize = 4;

/// A float type with strips on some CPUs.
pub(super) trait SmallK: Ring {
    /// The strips of this CPU, if it has any.
    fn strips() -> Option<Strips<Self>>;
}

/// Computes `c = a b` if it is such a product. The answer is the same for every block of rows or
/// columns of a product.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn multiply<T: SmallK>(
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) -> bool {
    let narrow = s.n > 1 && s.m.min(s.n) <= MAX_NARROW_SIDE && (1..=MAX_K).contains(&s.k);
    let tiny = s.n > 1 && s.m.max(s.n) <= MAX_TINY_SIDE && s.k > MAX_K;
    if !(narrow || tiny) || b.cs != 1 || c.cs != 1 {
        return false;
    }
    let Some(of_level) = T::strips() else {
        return false;
    };
    // SAFETY: the caller's contract; the first run writes the result, the others add to it.
    unsafe {
        run_strips(&of_level, Size { k: s.k.min(TERMS_PER_SUM), ..s }, a, b, c);
        for from in (TERMS_PER_SUM..s.k).step_by(TERMS_PER_SUM) {
            let mut part = [[T::ZERO; MAX_TINY_SIDE]; MAX_TINY_SIDE];
            let to = Mat::new(part.as_mut_ptr().cast::<T>(), [MAX_TINY_SIDE as isize, 1]);
            run_strips(
                &of_level,
                Size { k: TERMS_PER_SUM.min(s.k - from), ..s },
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

/// Computes all columns, in strips as wide as the level has.
///
/// # Safety
/// As `Strip`, for any number of columns.
unsafe fn run_strips<T>(
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
            false if s.m <= LOW_STRIP_ROWS => (of_level.low, left),
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
                // Missing rows repeat the last one.
                let mut rows = [a.ptr; R];
                for r in 0..R {
                    rows[r] = a.from((i + r).min(s.m - 1), 0).ptr;
                }
                let (mut at, mut b_row) = (0, b.ptr);
                // SAFETY: the caller's contract; lanes beyond the columns are masked off.
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

macro_rules! small_k {
    ($($t:ty, $avx512:ident, $avx2:ident, $lanes:literal;)*) => {$(
        impl SmallK for $t {
            #[inline]
            fn strips() -> Option<Strips<$t>> {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::kernels::isa::{Level, level};
                    return match level() {
                        Level::Avx512 => Some(Strips { lanes: $lanes, low: $avx512::<LOW_STRIP_ROWS, 1>, run: [$avx512::<8, 1>, $avx512::<8, 2>] }),
                        Level::Avx2 => Some(Strips { lanes: $lanes / 2, low: $avx2::<LOW_STRIP_ROWS, 1>, run: [$avx2::<8, 1>, $avx2::<4, 2>] }),
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

small_k! { f64, avx512_f64, avx2_f64, 8; f32, avx512_f32, avx2_f32, 16; }
