//! LU and Cholesky factorisation, and triangular solves, of four small matrices at once.
//!
//! Singular matrices are reported by masks. Invariant: the pivot of a column is its first largest
//! element, as in LAPACK; the lane of a matrix decides no bit.

use super::lanes::{F64x4, LaneMatrix, MAX_SIDE, Mask, ONE, ZERO, ZERO_MATRIX};
use crate::kernels::multiversion::multiversion;

/// Swaps rows `top` and `other`, columns `from..end`, in the lanes of the mask.
#[inline(always)]
fn swap_rows(
    a: &mut LaneMatrix,
    mask: Mask,
    (top, other): (usize, usize),
    (from, end): (usize, usize),
) {
    for j in from..end.min(MAX_SIDE) {
        (a[top][j], a[other][j]) = mask.swap((a[top][j], a[other][j]));
    }
}

/// Subtracts a multiple of row `c` from row `i`, columns `from..end`.
#[inline(always)]
fn subtract_row(
    a: &mut LaneMatrix,
    factor: F64x4,
    (c, i): (usize, usize),
    (from, end): (usize, usize),
) {
    for j in from..end.min(MAX_SIDE) {
        a[i][j] = a[i][j] - factor * a[c][j];
    }
}

/// LU factorisation with partial pivoting: `a` becomes both factors, `b` becomes `l⁻¹ p b`. Returns
/// the pivot row of each step and the sign of the permutation.
pub(super) fn lu_factor(
    a: &mut LaneMatrix,
    n: usize,
    b: &mut LaneMatrix,
    columns: usize,
) -> ([F64x4; MAX_SIDE], F64x4) {
    // SAFETY: the bodies have no contract.
    unsafe { lu_factor_by_level(a, n, b, columns) }
}

/// Overwrites `b` with `a⁻¹ b` for a triangle of `a`. Returns the lanes without a zero on its
/// diagonal.
pub(super) fn solve_triangle(
    a: &LaneMatrix,
    n: usize,
    lower: bool,
    b: &mut LaneMatrix,
    columns: usize,
) -> Mask {
    // SAFETY: as above.
    unsafe { solve_triangle_by_level(a, n, lower, b, columns) }
}

/// Overwrites the lower triangle with the Cholesky factor and the rest with zeros. Returns the
/// positive definite lanes.
pub(super) fn cholesky(a: &mut LaneMatrix, n: usize) -> Mask {
    // SAFETY: as above.
    unsafe { cholesky_by_level(a, n) }
}

multiversion! {
    unsafe fn lu_factor_by_level(a: &mut LaneMatrix, n: usize, b: &mut LaneMatrix, columns: usize)
        -> ([F64x4; MAX_SIDE], F64x4) = lu_factor_body, Levels::UpToAvx2
}
multiversion! {
    unsafe fn solve_triangle_by_level(a: &LaneMatrix, n: usize, lower: bool, b: &mut LaneMatrix, columns: usize)
        -> Mask = solve_triangle_body, Levels::UpToAvx2
}
multiversion! {
    unsafe fn cholesky_by_level(a: &mut LaneMatrix, n: usize) -> Mask = cholesky_body, Levels::UpToAvx2
}

/// # Safety
/// No contract.
#[inline(always)]
unsafe fn lu_factor_body(
    a: &mut LaneMatrix,
    n: usize,
    b: &mut LaneMatrix,
    columns: usize,
) -> ([F64x4; MAX_SIDE], F64x4) {
    let (mut pivot_rows, mut sign) = ([ZERO; MAX_SIDE], ONE);
    for c in 0..n.min(MAX_SIDE) {
        let (mut best, mut at) = (a[c][c].abs(), F64x4::splat(c as f64));
        for i in c + 1..n.min(MAX_SIDE) {
            let size = a[i][c].abs();
            let more = size.gt(best);
            best = more.select(size, best);
            at = more.select(F64x4::splat(i as f64), at);
        }
        for i in c + 1..n.min(MAX_SIDE) {
            let mask = at.equals(F64x4::splat(i as f64));
            swap_rows(a, mask, (c, i), (0, n));
            swap_rows(b, mask, (c, i), (0, columns));
            sign = mask.select(ZERO - sign, sign);
        }
        pivot_rows[c] = at;
        let pivot = a[c][c];
        let none = pivot.equals(ZERO);
        for i in c + 1..n.min(MAX_SIDE) {
            let factor = none.select(a[i][c], a[i][c] / pivot);
            a[i][c] = factor;
            subtract_row(a, factor, (c, i), (c + 1, n));
            subtract_row(b, factor, (c, i), (0, columns));
        }
    }
    (pivot_rows, sign)
}

/// # Safety
/// No contract.
#[inline(always)]
unsafe fn solve_triangle_body(
    a: &LaneMatrix,
    n: usize,
    lower: bool,
    b: &mut LaneMatrix,
    columns: usize,
) -> Mask {
    let (mut regular, n) = (Mask::ALL, n.min(MAX_SIDE));
    for step in 0..n {
        let c = if lower { step } else { n - 1 - step };
        let pivot = a[c][c];
        regular = regular & !pivot.equals(ZERO);
        for j in 0..columns.min(MAX_SIDE) {
            b[c][j] = b[c][j] / pivot;
        }
        for i in if lower { c + 1..n } else { 0..c } {
            subtract_row(b, a[i][c], (c, i), (0, columns));
        }
    }
    regular
}

/// Overwrites `b` with `a⁻¹ b` and `a` with its factors. Returns the regular lanes, and the sign of
/// the permutation.
pub(super) fn solve(
    a: &mut LaneMatrix,
    n: usize,
    b: &mut LaneMatrix,
    columns: usize,
) -> (Mask, F64x4) {
    let (_, sign) = lu_factor(a, n, b, columns);
    (solve_triangle(a, n, false, b, columns), sign)
}

/// The determinant from the pivots.
pub(super) fn determinant(a: &LaneMatrix, n: usize, sign: F64x4) -> F64x4 {
    (0..n.min(MAX_SIDE)).fold(sign, |det, c| det * a[c][c])
}

/// The identity matrix.
pub(super) fn identity(n: usize) -> LaneMatrix {
    let mut one = ZERO_MATRIX;
    for c in 0..n.min(MAX_SIDE) {
        one[c][c] = ONE;
    }
    one
}

/// # Safety
/// No contract.
#[inline(always)]
unsafe fn cholesky_body(a: &mut LaneMatrix, n: usize) -> Mask {
    let mut definite = Mask::ALL;
    for k in 0..n.min(MAX_SIDE) {
        let pivot = a[k][k];
        definite = definite & pivot.gt(ZERO);
        let root = pivot.sqrt();
        a[k][k] = root;
        for i in k + 1..n.min(MAX_SIDE) {
            a[i][k] = a[i][k] / root;
            a[k][i] = ZERO;
        }
        for j in k + 1..n.min(MAX_SIDE) {
            let factor = a[j][k];
            for i in j..n.min(MAX_SIDE) {
                a[i][j] = a[i][j] - a[i][k] * factor;
            }
        }
    }
    definite
}
