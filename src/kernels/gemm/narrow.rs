//! Products of tall matrices with two to four contiguous columns.
//!
//! `a b` with a small square `b` (the forward of a small linear layer), and `aᵀ b` of two such
//! matrices (its weight gradient). Invariant: the order of a sum depends on the sizes alone.

use super::matrix::{Mat, Size};
use crate::kernels::multiversion::multiversion;
use crate::kernels::number::ring::Ring;

/// Multiplies contiguous rows by a square matrix of side 2 to 4. Returns false for any other
/// product.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn times_small_square<T: Ring>(
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
    unsafe { square_side(s, a.ptr, b, c.ptr) };
    true
}

multiversion! {
    /// Dispatches on the side of the square matrix.
    unsafe fn square_side<T: Ring>(
        s: Size, a: *const T, b: Mat<*const T>, c: *mut T,
    ) = square_side_body, crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// As `times_small_square`.
#[inline(always)]
unsafe fn square_side_body<T: Ring>(s: Size, a: *const T, b: Mat<*const T>, c: *mut T) {
    // SAFETY: the caller's contract.
    unsafe {
        match s.n {
            2 => times_square::<T, 2>(s.m, a, b, c),
            3 => times_square::<T, 3>(s.m, a, b, c),
            _ => times_square::<T, 4>(s.m, a, b, c),
        }
    }
}

/// # Safety
/// As `times_small_square`, for rows of `N`.
#[inline(always)]
unsafe fn times_square<T: Ring, const N: usize>(
    m: usize,
    a: *const T,
    b: Mat<*const T>,
    c: *mut T,
) {
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

/// Rows accumulated in parallel.
const ROWS_PER_STEP: usize = 4;

/// `aᵀ b` for two matrices of 2 or 4 contiguous columns. Returns false for any other product.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn transposed_times_narrow<T: Ring>(
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
    unsafe { narrow_width(s, a.ptr, b.ptr, c) };
    true
}

multiversion! {
    /// Dispatches on the number of columns.
    unsafe fn narrow_width<T: Ring>(
        s: Size, a: *const T, b: *const T, c: Mat<*mut T>,
    ) = narrow_width_body
}

/// # Safety
/// As `transposed_times_narrow`.
#[inline(always)]
unsafe fn narrow_width_body<T: Ring>(s: Size, a: *const T, b: *const T, c: Mat<*mut T>) {
    // SAFETY: the caller's contract.
    unsafe {
        match s.n {
            2 => transposed_times::<T, 2, { 2 * ROWS_PER_STEP }>(s.k, a, b, c),
            _ => transposed_times::<T, 4, { 4 * ROWS_PER_STEP }>(s.k, a, b, c),
        }
    }
}

/// Reads `ROWS_PER_STEP` rows at a time. Each rotation of the elements within the rows of `b` pairs
/// every column of `a` with another column of `b`.
///
/// # Safety
/// As `transposed_times_narrow`, for `k` rows of `N` elements; `W` is `N * ROWS_PER_STEP`.
#[inline(always)]
unsafe fn transposed_times<T: Ring, const N: usize, const W: usize>(
    k: usize,
    a: *const T,
    b: *const T,
    c: Mat<*mut T>,
) {
    let mut sums = [[T::ZERO; W]; N];
    let whole = k / ROWS_PER_STEP;
    for block in 0..whole {
        for (rotation, sums) in sums.iter_mut().enumerate() {
            for (l, sum) in sums.iter_mut().enumerate() {
                let other = l / N * N + (l + rotation) % N;
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
            for row in whole * ROWS_PER_STEP..k {
                // SAFETY: the row is one of `k`.
                sum = sum.muladd(unsafe { *a.add(row * N + i) }, unsafe { *b.add(row * N + j) });
            }
            // SAFETY: the caller's contract.
            unsafe { *c.from(i, j).ptr = sum };
        }
    }
}
