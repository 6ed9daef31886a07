//! Products of many short rows: with a small square matrix, and with each other.
//!
//! Owns: loops for rows of two to four elements that lie in memory one after the other, and which products they take. A layer
//! of such a square is the first kind, its derivative by the square the second. Never splits. Invariant: the order of a sum
//! depends on the sizes alone.

use super::product::{Mat, Size};
use crate::kernels::multiversion::leveled;
use crate::kernels::number::ring::Ring;

/// A product of rows with a square matrix of a few elements, if it is one that lies in memory row by row.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn by_square<T: Ring>(
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) -> bool {
    let rows = [a.cs, c.cs] == [1, 1] && [a.rs, c.rs] == [s.k as isize; 2];
    if s.n != s.k || !(2..=4).contains(&s.n) || !rows {
        return false;
    }
    // SAFETY: the caller's contract.
    unsafe { each_row(s, a.ptr, b, c.ptr) };
    true
}

leveled! {
    /// Rows of two to four elements, as many as the matrix has.
    unsafe fn each_row<T: Ring>(
        s: Size, a: *const T, b: Mat<*const T>, c: *mut T,
    ) = each_row_body, crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// As `by_square`.
#[inline(always)]
unsafe fn each_row_body<T: Ring>(s: Size, a: *const T, b: Mat<*const T>, c: *mut T) {
    // SAFETY: the caller's contract.
    unsafe {
        match s.n {
            2 => rows_of::<T, 2>(s.m, a, b, c),
            3 => rows_of::<T, 3>(s.m, a, b, c),
            _ => rows_of::<T, 4>(s.m, a, b, c),
        }
    }
}

/// # Safety
/// As `by_square`, for rows of `N`.
#[inline(always)]
unsafe fn rows_of<T: Ring, const N: usize>(m: usize, a: *const T, b: Mat<*const T>, c: *mut T) {
    let mut factor = [[T::ZERO; N]; N];
    for (p, row) in factor.iter_mut().enumerate() {
        for (j, element) in row.iter_mut().enumerate() {
            // SAFETY: the caller's contract.
            *element = unsafe { *b.ptr.offset(p as isize * b.rs + j as isize * b.cs) };
        }
    }
    for i in 0..m {
        for j in 0..N {
            let mut sum = T::ZERO;
            for (p, row) in factor.iter().enumerate() {
                // SAFETY: as above.
                sum = sum.muladd(unsafe { *a.add(i * N + p) }, row[j]);
            }
            // SAFETY: as above.
            unsafe { *c.add(i * N + j) = sum };
        }
    }
}

/// Rows whose products are summed side by side.
const ABREAST: usize = 4;

/// The products of the columns of two lists of rows, if both lie in memory row by row and rows fill vectors evenly.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn of_columns<T: Ring>(
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) -> bool {
    let rows = [a.rs, b.cs] == [1, 1] && [a.cs, b.rs] == [s.n as isize; 2];
    if s.n != s.m || !matches!(s.n, 2 | 4) || !rows {
        return false;
    }
    // SAFETY: the caller's contract.
    unsafe { all_rows(s, a.ptr, b.ptr, c) };
    true
}

leveled! {
    /// Rows of two elements or four, as many as the square has.
    unsafe fn all_rows<T: Ring>(
        s: Size, a: *const T, b: *const T, c: Mat<*mut T>,
    ) = all_rows_body
}

/// # Safety
/// As `of_columns`.
#[inline(always)]
unsafe fn all_rows_body<T: Ring>(s: Size, a: *const T, b: *const T, c: Mat<*mut T>) {
    // SAFETY: the caller's contract.
    unsafe {
        match s.n {
            2 => columns_of::<T, 2, { 2 * ABREAST }>(s.k, a, b, c),
            _ => columns_of::<T, 4, { 4 * ABREAST }>(s.k, a, b, c),
        }
    }
}

/// Rows are read as they lie, `ABREAST` at a time: a turn of the elements of each row of `b` meets all pairs of columns
/// whose numbers are so far apart.
///
/// # Safety
/// As `of_columns`, for `k` rows of `N` elements; `W` is `N * ABREAST`.
#[inline(always)]
unsafe fn columns_of<T: Ring, const N: usize, const W: usize>(
    k: usize,
    a: *const T,
    b: *const T,
    c: Mat<*mut T>,
) {
    let mut sums = [[T::ZERO; W]; N];
    let whole = k / ABREAST;
    for block in 0..whole {
        for (turn, sums) in sums.iter_mut().enumerate() {
            for (l, sum) in sums.iter_mut().enumerate() {
                let other = l / N * N + (l + turn) % N;
                // SAFETY: the block lies inside the rows.
                let (x, y) = unsafe { (*a.add(block * W + l), *b.add(block * W + other)) };
                *sum = sum.muladd(x, y);
            }
        }
    }
    for i in 0..N {
        for j in 0..N {
            let part = |row: usize| sums[(j + N - i) % N][row * N + i];
            let mut sum = part(0).plus(part(1)).plus(part(2).plus(part(3)));
            for row in whole * ABREAST..k {
                // SAFETY: the row is one of `k`.
                sum = sum.muladd(unsafe { *a.add(row * N + i) }, unsafe { *b.add(row * N + j) });
            }
            // SAFETY: the caller's contract.
            unsafe { *c.from(i, j).ptr = sum };
        }
    }
}
