//! Float products with a short inner axis and a narrow side, or with a tiny result, without
//! packing.
//!
//! For CPU levels with masked vectors. Invariant: an element is a fixed sequence of running sums of
//! fused products in the order of the inner axis, so neither the tile nor the block decides a bit.

use super::matrix::{Mat, Size};
use crate::kernels::number::ring::Ring;
use crate::kernels::simd::{Lanes, SimdFloat, leveled_simd};

/// Longest inner axis, and most rows or columns of the narrow side: above these, packing pays.
const MAX_K: usize = 64;
const MAX_NARROW_SIDE: usize = 32;
/// Most rows and columns of a result so small that packing never pays, and the length of one
/// running sum of it.
const MAX_TINY_SIDE: usize = 12;
const TERMS_PER_SUM: usize = 512;

/// Rows of a strip with few rows.
const LOW_STRIP_ROWS: usize = 4;

/// Computes `c = a b` if it is such a product. The answer is the same for every block of rows or
/// columns of a product.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn multiply<T: Ring + SimdFloat>(
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
    // SAFETY: the caller's contract; the first run writes the result, the others add to it.
    unsafe {
        if run_strips(Size { k: s.k.min(TERMS_PER_SUM), ..s }, a, b, c).is_none() {
            return false;
        }
        for from in (TERMS_PER_SUM..s.k).step_by(TERMS_PER_SUM) {
            let mut part = [[T::ZERO; MAX_TINY_SIDE]; MAX_TINY_SIDE];
            let to = Mat::new(part.as_mut_ptr().cast::<T>(), [MAX_TINY_SIDE as isize, 1]);
            run_strips(
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

leveled_simd! {
    /// Computes all columns, in strips as wide as the level has.
    unsafe fn run_strips<T: SimdFloat>(
        s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>,
    ) -> Option<()> = run_strips_body
}

/// # Safety
/// The operands are valid for the sizes, rows of `b` and `c` are contiguous, `c` overlaps neither
/// operand, there is a row, and the CPU has these vectors.
#[inline(always)]
unsafe fn run_strips_body<V: Lanes>(
    s: Size,
    a: Mat<*const V::Scalar>,
    b: Mat<*const V::Scalar>,
    c: Mat<*mut V::Scalar>,
) {
    let mut j = 0;
    while j < s.n {
        let left = s.n - j;
        let strip = Size { n: left.min(2 * V::LANES), ..s };
        let (b, c) = (b.from(0, j), c.from(0, j));
        // SAFETY: the caller's contract; the strip lies inside the product.
        unsafe {
            match left > V::LANES {
                // AVX-512 has twice as many registers.
                true if V::AVX512 => multiply_strip::<V, 8, 2>(strip, a, b, c),
                true => multiply_strip::<V, 4, 2>(strip, a, b, c),
                false if s.m <= LOW_STRIP_ROWS => {
                    multiply_strip::<V, LOW_STRIP_ROWS, 1>(strip, a, b, c);
                }
                false => multiply_strip::<V, 8, 1>(strip, a, b, c),
            }
        }
        j += strip.n;
    }
}

/// Multiplies all rows of `a`, `R` at a time, by at most `W` vectors of columns.
///
/// # Safety
/// As `run_strips_body`.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn multiply_strip<V: Lanes, const R: usize, const W: usize>(
    s: Size,
    a: Mat<*const V::Scalar>,
    b: Mat<*const V::Scalar>,
    c: Mat<*mut V::Scalar>,
) {
    let mut masks = [V::first_n(0); W];
    for j in 0..W {
        masks[j] = V::first_n(s.n.saturating_sub(j * V::LANES).min(V::LANES));
    }
    let mut i = 0;
    while i < s.m {
        let mut sums = [[V::zero(); W]; R];
        // Missing rows repeat the last one.
        let mut rows = [a.ptr; R];
        for r in 0..R {
            rows[r] = a.from((i + r).min(s.m - 1), 0).ptr;
        }
        let (mut at, mut b_row) = (0, b.ptr);
        // SAFETY: the caller's contract; lanes beyond the columns are masked off.
        unsafe {
            for _ in 0..s.k {
                let mut row = [V::zero(); W];
                for j in 0..W {
                    row[j] = V::masked_load(b_row.wrapping_add(j * V::LANES), masks[j]);
                }
                for r in 0..R {
                    let x = V::splat(*rows[r].offset(at));
                    for j in 0..W {
                        sums[r][j] = x.mul_add(row[j], sums[r][j]);
                    }
                }
                at += a.cs;
                b_row = b_row.wrapping_offset(b.rs);
            }
            for r in 0..R.min(s.m - i) {
                for j in 0..W {
                    let to = c.from(i + r, 0).ptr.wrapping_add(j * V::LANES);
                    sums[r][j].masked_store(to, masks[j]);
                }
            }
        }
        i += R;
    }
}
