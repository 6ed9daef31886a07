//! Packing of float matrices into the row order that tiles read.
//!
//! Invariant: numbers keep their bits; missing columns become zeros.

use super::float_tile::FloatTile;
use super::product::Mat;
use crate::kernels::multiversion::leveled;

/// Packs columns that are contiguous along the inner axis, `step` apart, into rows of `wide`
/// numbers.
///
/// # Safety
/// The columns have `k` readable elements, the rows are writable, `wide` is at least `columns`, and
/// the CPU has the level.
pub(super) type PackTransposed<T> =
    unsafe fn(k: usize, columns: usize, from: *const T, step: isize, to: *mut T, wide: usize);

#[cfg(target_arch = "x86_64")]
macro_rules! pack_transposed {
    ($name:ident, $t:ty, $side:literal, $transpose_block:ident) => {
        /// # Safety
        /// As `PackTransposed`.
        #[target_feature(enable = "avx2,fma")]
        pub(super) unsafe fn $name(
            k: usize,
            columns: usize,
            from: *const $t,
            step: isize,
            to: *mut $t,
            wide: usize,
        ) {
            const N: usize = $side;
            let at = |p: usize, j: usize| from.wrapping_offset(j as isize * step).wrapping_add(p);
            let (deep, full) = (k / N * N, columns / N * N);
            // SAFETY: the caller's contract.
            unsafe {
                for p in (0..deep).step_by(N) {
                    for j in (0..full).step_by(N) {
                        $transpose_block(at(p, j), step, to.add(p * wide + j), wide);
                    }
                }
                for p in 0..k {
                    for j in if p < deep { full } else { 0 }..wide {
                        *to.add(p * wide + j) = if j < columns { *at(p, j) } else { 0.0 };
                    }
                }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
pack_transposed!(pack_transposed_f32, f32, 8, transpose_8x8_f32);
#[cfg(target_arch = "x86_64")]
pack_transposed!(pack_transposed_f64, f64, 4, transpose_4x4_f64);

/// Loads half a vector from each of two rows.
#[cfg(target_arch = "x86_64")]
macro_rules! load_halves {
    ($from:expr, $low:expr, $high:expr, $cast:ident $load:ident $insert:ident) => {
        $insert::<1>($cast($load($from.wrapping_offset($low))), $load($from.wrapping_offset($high)))
    };
}

/// Transposes an 8 × 8 block.
///
/// # Safety
/// The rows are readable, `step` apart, and as many writable, `wide` apart.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn transpose_8x8_f32(from: *const f32, step: isize, to: *mut f32, wide: usize) {
    use std::arch::x86_64::*;
    macro_rules! row {
        ($at:expr, $i:literal) => {
            load_halves!($at, $i * step, ($i + 4) * step, _mm256_castps128_ps256 _mm_loadu_ps _mm256_insertf128_ps)
        };
    }
    let (mut from, mut to) = (from, to);
    for _ in 0..2 {
        // SAFETY: the caller's contract. (Macros, not closures: LLVM may leave a closure that
        // passes vectors as a call.)
        unsafe {
            let (a, b, c, d) = (row!(from, 0), row!(from, 1), row!(from, 2), row!(from, 3));
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            _mm256_storeu_ps(to, _mm256_shuffle_ps::<0x44>(ab, cd));
            _mm256_storeu_ps(to.add(wide), _mm256_shuffle_ps::<0xee>(ab, cd));
            let (ab, cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            _mm256_storeu_ps(to.add(2 * wide), _mm256_shuffle_ps::<0x44>(ab, cd));
            _mm256_storeu_ps(to.add(3 * wide), _mm256_shuffle_ps::<0xee>(ab, cd));
        }
        (from, to) = (from.wrapping_add(4), to.wrapping_add(4 * wide));
    }
}

/// Transposes a 4 × 4 block.
///
/// # Safety
/// As `transpose_8x8_f32`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn transpose_4x4_f64(from: *const f64, step: isize, to: *mut f64, wide: usize) {
    use std::arch::x86_64::*;
    macro_rules! row {
        ($at:expr, $i:literal) => {
            load_halves!($at, $i * step, ($i + 2) * step, _mm256_castpd128_pd256 _mm_loadu_pd _mm256_insertf128_pd)
        };
    }
    let (mut from, mut to) = (from, to);
    for _ in 0..2 {
        // SAFETY: the caller's contract.
        unsafe {
            let (a, b) = (row!(from, 0), row!(from, 1));
            _mm256_storeu_pd(to, _mm256_unpacklo_pd(a, b));
            _mm256_storeu_pd(to.add(wide), _mm256_unpackhi_pd(a, b));
        }
        (from, to) = (from.wrapping_add(2), to.wrapping_add(2 * wide));
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;
/// Rows prefetched ahead of the one being packed.
const PREFETCH_ROWS: usize = 8;

/// Prefetches a cache line, where the target supports it.
#[inline(always)]
fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing, whatever the address is.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

leveled! {
    /// Packs `k` rows of `columns` contiguous numbers into rows of `wide`, by whole cache lines.
    pub(super) unsafe fn pack_rows<T: FloatTile>(
        k: usize, columns: usize, wide: usize, from: Mat<*const T>, to: *mut T,
    ) = pack_rows_body
}

/// # Safety
/// The rows are readable and writable, and rows of `from` are contiguous.
#[inline(always)]
unsafe fn pack_rows_body<T: FloatTile>(
    k: usize,
    columns: usize,
    wide: usize,
    from: Mat<*const T>,
    to: *mut T,
) {
    let each = LINE / size_of::<T>();
    let whole = columns / each;
    for p in 0..k {
        let (to, row, next) =
            (to.wrapping_add(p * wide), from.from(p, 0).ptr, from.from(p + PREFETCH_ROWS, 0).ptr);
        for l in 0..whole {
            let (to, row) = (to.wrapping_add(l * each), row.wrapping_add(l * each));
            prefetch(next.wrapping_add(l * each));
            // SAFETY: the caller's contract; bytes have no alignment.
            unsafe { *to.cast::<[u8; LINE]>() = *row.cast::<[u8; LINE]>() };
        }
        for j in whole * each..wide {
            // SAFETY: as above.
            unsafe { *to.add(j) = if j < columns { *row.add(j) } else { T::default() } };
        }
    }
}

/// Packs `k` rows of `columns` numbers with any strides into rows of `wide`.
///
/// # Safety
/// The rows are readable and writable.
pub(super) unsafe fn pack_any<T: FloatTile>(
    k: usize,
    columns: usize,
    wide: usize,
    from: Mat<*const T>,
    to: *mut T,
) {
    for p in 0..k {
        for j in 0..wide {
            // SAFETY: the caller's contract.
            unsafe {
                *to.add(p * wide + j) =
                    if j < columns { *from.from(p, j).ptr } else { T::default() }
            };
        }
    }
}

/// Packs `k` rows of `N` contiguous numbers.
///
/// # Safety
/// The rows are readable and writable.
pub(super) unsafe fn pack_fixed<T: FloatTile, const N: usize>(
    k: usize,
    from: Mat<*const T>,
    to: *mut T,
) {
    let (mut from, step, mut to) =
        (from.ptr.cast::<[T; N]>(), from.rs * size_of::<T>() as isize, to.cast::<[T; N]>());
    for _ in 0..k {
        // SAFETY: the caller's contract.
        unsafe { *to = *from };
        from = from.wrapping_byte_offset(step);
        to = to.wrapping_add(1);
    }
}
