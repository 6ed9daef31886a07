//! Packing of matrices into the row order that tiles read.
//!
//! Invariant: elements keep their bits; missing columns become zeros.

use super::matrix::Mat;
use super::tile::Tile;
use crate::kernels::copying::transpose::transpose_block;
use crate::kernels::multiversion::multiversion;
use crate::kernels::nontemporal::prefetch_line;

/// Packs columns that are contiguous along the inner axis, `step` apart, into rows of `wide`
/// elements padded with zeros.
///
/// # Safety
/// The columns have `k` readable elements, the rows are writable, and `wide` is at least `columns`.
pub(in crate::kernels) unsafe fn pack_transposed<T: Copy + Default>(
    (k, columns): (usize, usize),
    (from, step): (*const T, isize),
    (to, wide): (*mut T, usize),
) {
    // SAFETY: the caller's contract.
    unsafe {
        transpose_block(from, step, to, wide as isize, (k, columns));
        if columns < wide {
            for p in 0..k {
                (columns..wide).for_each(|j| *to.add(p * wide + j) = T::default());
            }
        }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;
/// Rows prefetched ahead of the one being packed.
const PREFETCH_ROWS: usize = 8;

multiversion! {
    /// Packs `k` rows of `columns` contiguous numbers into rows of `wide`, by whole cache lines; with
    /// several neighbouring `strips`, each has that many columns and its own `k` rows.
    pub(super) unsafe fn pack_rows<T: Tile>(
        k: usize, columns: usize, wide: usize, strips: usize, from: Mat<*const T>, to: *mut T,
    ) = pack_rows_body
}

/// # Safety
/// The rows are readable and writable, and rows of `from` are contiguous.
#[inline(always)]
unsafe fn pack_rows_body<T: Tile>(
    k: usize,
    columns: usize,
    wide: usize,
    strips: usize,
    from: Mat<*const T>,
    to: *mut T,
) {
    for p in 0..k {
        let (row, next) = (from.from(p, 0).ptr, from.from(p + PREFETCH_ROWS, 0).ptr);
        let to = to.wrapping_add(p * wide);
        // SAFETY: the caller's contract.
        unsafe { pack_row(columns, wide, row, next, to) };
        for strip in 1..strips {
            let (first, to) = (strip * columns, to.wrapping_add(strip * k * wide));
            let (row, next) = (row.wrapping_add(first), next.wrapping_add(first));
            // SAFETY: as above.
            unsafe { pack_row(columns, wide, row, next, to) };
        }
    }
}

/// Packs one row, and prefetches another.
///
/// # Safety
/// As `pack_rows_body`, for one row.
#[inline(always)]
unsafe fn pack_row<T: Tile>(
    columns: usize,
    wide: usize,
    row: *const T,
    next: *const T,
    to: *mut T,
) {
    let each = LINE / size_of::<T>();
    let whole = columns / each;
    for l in 0..whole {
        let (to, row) = (to.wrapping_add(l * each), row.wrapping_add(l * each));
        prefetch_line(next.wrapping_add(l * each).cast());
        // SAFETY: the caller's contract; bytes have no alignment.
        unsafe { *to.cast::<[u8; LINE]>() = *row.cast::<[u8; LINE]>() };
    }
    for j in whole * each..wide {
        // SAFETY: as above.
        unsafe { *to.add(j) = if j < columns { *row.add(j) } else { T::default() } };
    }
}

/// Packs `k` rows of `columns` numbers with any strides into rows of `wide`.
///
/// # Safety
/// The rows are readable and writable.
pub(super) unsafe fn pack_any<T: Tile>(
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
pub(super) unsafe fn pack_fixed<T: Tile, const N: usize>(
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
