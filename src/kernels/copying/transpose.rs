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

    /// Declares a function that transposes whole squares; it returns the rows and columns that they cover.
    macro_rules! transpose_squares {
        ($name:ident, $t:ty, $side:literal, $transpose_square:ident) => {
            /// # Safety
            /// As `transpose_block`.
            #[target_feature(enable = "avx2")]
            pub(super) unsafe fn $name(
                src: *const $t,
                by: isize,
                dst: *mut $t,
                to: isize,
                (rows, columns): (usize, usize),
            ) -> (usize, usize) {
                let done = (rows / $side * $side, columns / $side * $side);
                for i in (0..done.0 as isize).step_by($side) {
                    for j in (0..done.1 as isize).step_by($side) {
                        // SAFETY: the square is inside the block.
                        unsafe {
                            $transpose_square(
                                src.offset(i + j * by),
                                by,
                                dst.offset(i * to + j),
                                to,
                            )
                        };
                    }
                }
                done
            }
        };
    }
    transpose_squares!(transpose_u32, f32, 8, transpose_8x8_f32);
    transpose_squares!(transpose_u64, f64, 4, transpose_4x4_f64);

    /// Loads half a vector from each of two rows.
    macro_rules! load_halves {
        ($from:expr, $low:expr, $high:expr, $cast:ident $load:ident $insert:ident) => {
            $insert::<1>(
                $cast($load($from.wrapping_offset($low))),
                $load($from.wrapping_offset($high)),
            )
        };
    }

    /// Transposes an 8 × 8 square. Halves of vectors are joined by their loads: fewer shuffles.
    ///
    /// # Safety
    /// As `transpose_block`.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn transpose_8x8_f32(src: *const f32, by: isize, dst: *mut f32, to: isize) {
        macro_rules! row {
            ($at:expr, $i:literal) => {
                load_halves!($at, $i * by, ($i + 4) * by, _mm256_castps128_ps256 _mm_loadu_ps _mm256_insertf128_ps)
            };
        }
        let (mut src, mut dst) = (src, dst);
        for _ in 0..2 {
            // SAFETY: the caller's contract. (Macros, not closures: LLVM may leave a closure that
            // passes vectors as a call.)
            unsafe {
                let (a, b, c, d) = (row!(src, 0), row!(src, 1), row!(src, 2), row!(src, 3));
                let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
                _mm256_storeu_ps(dst, _mm256_shuffle_ps::<0x44>(ab, cd));
                _mm256_storeu_ps(dst.offset(to), _mm256_shuffle_ps::<0xee>(ab, cd));
                let (ab, cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
                _mm256_storeu_ps(dst.offset(2 * to), _mm256_shuffle_ps::<0x44>(ab, cd));
                _mm256_storeu_ps(dst.offset(3 * to), _mm256_shuffle_ps::<0xee>(ab, cd));
            }
            (src, dst) = (src.wrapping_add(4), dst.wrapping_offset(4 * to));
        }
    }

    /// Transposes a 4 × 4 square.
    ///
    /// # Safety
    /// As `transpose_block`.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn transpose_4x4_f64(src: *const f64, by: isize, dst: *mut f64, to: isize) {
        macro_rules! row {
            ($at:expr, $i:literal) => {
                load_halves!($at, $i * by, ($i + 2) * by, _mm256_castpd128_pd256 _mm_loadu_pd _mm256_insertf128_pd)
            };
        }
        let (mut src, mut dst) = (src, dst);
        for _ in 0..2 {
            // SAFETY: the caller's contract.
            unsafe {
                let (a, b) = (row!(src, 0), row!(src, 1));
                _mm256_storeu_pd(dst, _mm256_unpacklo_pd(a, b));
                _mm256_storeu_pd(dst.offset(to), _mm256_unpackhi_pd(a, b));
            }
            (src, dst) = (src.wrapping_add(2), dst.wrapping_offset(2 * to));
        }
    }
}
