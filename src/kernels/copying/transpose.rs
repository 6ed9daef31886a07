//! Block transpose: 4- and 8-byte elements in registers, others one by one.
//!
//! Invariant: every element of the block is written once.

/// Writes element `(i, j)` of a block to `dst + i * to + j` from `src + i + j * by`.
///
/// # Safety
/// The elements of the block are readable and writable, and source and destination do not overlap.
pub(in crate::kernels) unsafe fn transpose_block<W: Copy>(
    src: *const W,
    by: isize,
    dst: *mut W,
    to: isize,
    (rows, columns): (usize, usize),
) {
    #[allow(unused_mut)]
    let mut done = (0, 0);
    #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
    if crate::kernels::isa::level() != crate::kernels::isa::Level::Baseline {
        // SAFETY: the caller's contract, the CPU has the instructions, and the size is that of the elements.
        unsafe {
            done = match size_of::<W>() {
                4 => avx2::transpose_u32(src.cast(), by, dst.cast(), to, (rows, columns)),
                8 => avx2::transpose_u64(src.cast(), by, dst.cast(), to, (rows, columns)),
                _ => done,
            };
        }
    }
    for i in 0..rows {
        let first = if i < done.0 { done.1 } else { 0 };
        for j in first..columns {
            let (i, j) = (i as isize, j as isize);
            // SAFETY: the caller's contract.
            unsafe { *dst.offset(i * to + j) = *src.offset(i + j * by) };
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
mod avx2 {
    use std::arch::x86_64::*;

    /// Transposes whole 8 × 8 squares; returns the rows and columns that they cover.
    ///
    /// # Safety
    /// As `transpose_block`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn transpose_u32(
        src: *const f32,
        by: isize,
        dst: *mut f32,
        to: isize,
        (rows, columns): (usize, usize),
    ) -> (usize, usize) {
        let done = (rows / 8 * 8, columns / 8 * 8);
        for i in (0..done.0 as isize).step_by(8) {
            for j in (0..done.1 as isize).step_by(8) {
                // SAFETY: the square is inside the block.
                unsafe {
                    let column = |k: isize| _mm256_loadu_ps(src.offset(i + (j + k) * by));
                    let row =
                        |k: isize, v: __m256| _mm256_storeu_ps(dst.offset((i + k) * to + j), v);
                    let half = |k: isize| {
                        let (a, b, c, d) = (column(k), column(k + 1), column(k + 2), column(k + 3));
                        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
                        let (ab_high, cd_high) =
                            (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
                        [
                            _mm256_shuffle_ps::<0x44>(ab, cd),
                            _mm256_shuffle_ps::<0xEE>(ab, cd),
                            _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
                            _mm256_shuffle_ps::<0xEE>(ab_high, cd_high),
                        ]
                    };
                    let (left, right) = (half(0), half(4));
                    for k in 0..4 {
                        let (l, r) = (left[k], right[k]);
                        row(k as isize, _mm256_permute2f128_ps::<0x20>(l, r));
                        row(k as isize + 4, _mm256_permute2f128_ps::<0x31>(l, r));
                    }
                }
            }
        }
        done
    }

    /// Transposes whole 4 × 4 squares; returns the rows and columns that they cover.
    ///
    /// # Safety
    /// As `transpose_block`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn transpose_u64(
        src: *const f64,
        by: isize,
        dst: *mut f64,
        to: isize,
        (rows, columns): (usize, usize),
    ) -> (usize, usize) {
        let done = (rows / 4 * 4, columns / 4 * 4);
        for j in (0..done.1 as isize).step_by(4) {
            for i in (0..done.0 as isize).step_by(4) {
                // SAFETY: the square is inside the block.
                unsafe {
                    let column = |k: isize| _mm256_loadu_pd(src.offset(i + (j + k) * by));
                    let row =
                        |k: isize, v: __m256d| _mm256_storeu_pd(dst.offset((i + k) * to + j), v);
                    let (a, b, c, d) = (column(0), column(1), column(2), column(3));
                    let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
                    let (even2, odd2) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
                    row(0, _mm256_permute2f128_pd::<0x20>(even, even2));
                    row(1, _mm256_permute2f128_pd::<0x20>(odd, odd2));
                    row(2, _mm256_permute2f128_pd::<0x31>(even, even2));
                    row(3, _mm256_permute2f128_pd::<0x31>(odd, odd2));
                }
            }
        }
        done
    }
}
