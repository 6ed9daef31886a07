//! The packing of float matrices for the tiles of a product.
//!
//! Owns: copies to rows that follow each other as a tile reads them. Never adds or multiplies.
//! Invariant: numbers keep their bits; columns that do not exist become zeros.

use super::float_tile::FloatTile;
use super::product::Mat;
use crate::kernels::multiversion::leveled;

/// Copies columns that are contiguous along the inner axis, `step` apart, to rows of `wide` numbers.
///
/// # Safety
/// The columns are readable `k` times, the rows writable, there are no more columns than `wide`, and the CPU is of the level.
pub(super) type Turn<T> =
    unsafe fn(k: usize, columns: usize, from: *const T, step: isize, to: *mut T, wide: usize);

#[cfg(target_arch = "x86_64")]
macro_rules! turn {
    ($name:ident, $t:ty, $side:literal, $square:ident) => {
        /// # Safety
        /// As `Turn`.
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
                        $square(at(p, j), step, to.add(p * wide + j), wide);
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
turn!(turn_f32, f32, 8, square_f32);
#[cfg(target_arch = "x86_64")]
turn!(turn_f64, f64, 4, square_f64);

/// A vector of part of a row, and of the same part of another one.
#[cfg(target_arch = "x86_64")]
macro_rules! halves {
    ($from:expr, $low:expr, $high:expr, $cast:ident $load:ident $insert:ident) => {
        $insert::<1>($cast($load($from.wrapping_offset($low))), $load($from.wrapping_offset($high)))
    };
}

/// The transpose of eight rows of eight.
///
/// # Safety
/// The rows are readable, `step` apart, and as many writable, `wide` apart.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn square_f32(from: *const f32, step: isize, to: *mut f32, wide: usize) {
    use std::arch::x86_64::*;
    macro_rules! row {
        ($at:expr, $i:literal) => {
            halves!($at, $i * step, ($i + 4) * step, _mm256_castps128_ps256 _mm_loadu_ps _mm256_insertf128_ps)
        };
    }
    let (mut from, mut to) = (from, to);
    for _ in 0..2 {
        // SAFETY: the caller's contract. No vector passes through a closure, which the compiler may leave a call.
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

/// The transpose of four rows of four.
///
/// # Safety
/// As `square_f32`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn square_f64(from: *const f64, step: isize, to: *mut f64, wide: usize) {
    use std::arch::x86_64::*;
    macro_rules! row {
        ($at:expr, $i:literal) => {
            halves!($at, $i * step, ($i + 2) * step, _mm256_castpd128_pd256 _mm_loadu_pd _mm256_insertf128_pd)
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
/// Rows that are called for ahead of the one that is packed.
const AHEAD: usize = 8;

/// Calls for the line of this place, if this target can.
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
    /// Packs `k` rows of `columns` numbers to rows of `wide`, whole lines of which are copied as such.
    pub(super) unsafe fn pack_rows<T: FloatTile>(
        k: usize, columns: usize, wide: usize, from: Mat<*const T>, to: *mut T,
    ) = pack_rows_body
}

/// # Safety
/// The rows are readable and writable, and numbers of a row of `from` are neighbours.
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
            (to.wrapping_add(p * wide), from.from(p, 0).ptr, from.from(p + AHEAD, 0).ptr);
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

/// Packs `k` rows of `columns` numbers to rows of `wide`, wherever the numbers lie.
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

/// Packs `k` rows of a few neighbours.
///
/// # Safety
/// The rows are readable and writable.
pub(super) unsafe fn pack_few<T: FloatTile, const N: usize>(
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
