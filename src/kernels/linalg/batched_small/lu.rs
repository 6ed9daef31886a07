//! Elimination and triangles of matrices side by side.
//!
//! Owns: the LU factorisation with row exchanges, solutions by its factors, by triangles, and the Cholesky factor. Never
//! refuses a matrix: masks say which lanes have an answer.
//! Invariant: the pivot of a column is its first largest element, as in LAPACK; which lane a matrix lies in decides no bit.

use super::lanes::{Block, EMPTY, Lane, Mask, ONE, SIDE, ZERO};
use crate::kernels::multiversion::leveled;

/// Exchanges row `top` with row `other` from a column on, in some lanes.
#[inline(always)]
fn exchange(a: &mut Block, mask: Mask, (top, other): (usize, usize), (from, end): (usize, usize)) {
    for j in from..end.min(SIDE) {
        (a[top][j], a[other][j]) = mask.swap((a[top][j], a[other][j]));
    }
}

/// Takes a multiple of row `c` off row `i` from a column on.
#[inline(always)]
fn take_off(a: &mut Block, factor: Lane, (c, i): (usize, usize), (from, end): (usize, usize)) {
    for j in from..end.min(SIDE) {
        a[i][j] = a[i][j] - factor * a[c][j];
    }
}

/// `a` becomes both triangles of its factors and `b` what the lower one, of ones on the diagonal, leaves of it; returned are the
/// row that each step took, and the sign of the exchanges.
pub(super) fn eliminate(
    a: &mut Block,
    n: usize,
    b: &mut Block,
    columns: usize,
) -> ([Lane; SIDE], Lane) {
    // SAFETY: the body asks for nothing; so below.
    unsafe { eliminate_by_level(a, n, b, columns) }
}

/// `b` becomes `a⁻¹ b` for a triangle of `a`; the lanes without a zero on its diagonal.
pub(super) fn triangle(a: &Block, n: usize, lower: bool, b: &mut Block, columns: usize) -> Mask {
    // SAFETY: as above.
    unsafe { triangle_by_level(a, n, lower, b, columns) }
}

/// The lower triangle becomes the Cholesky factor, and what is above it zero; the lanes with one.
pub(super) fn cholesky(a: &mut Block, n: usize) -> Mask {
    // SAFETY: as above.
    unsafe { cholesky_by_level(a, n) }
}

leveled! {
    unsafe fn eliminate_by_level(a: &mut Block, n: usize, b: &mut Block, columns: usize)
        -> ([Lane; SIDE], Lane) = eliminate_body, Levels::UpToAvx2
}
leveled! {
    unsafe fn triangle_by_level(a: &Block, n: usize, lower: bool, b: &mut Block, columns: usize)
        -> Mask = triangle_body, Levels::UpToAvx2
}
leveled! {
    unsafe fn cholesky_by_level(a: &mut Block, n: usize) -> Mask = cholesky_body, Levels::UpToAvx2
}

/// # Safety
/// None is asked for.
#[inline(always)]
unsafe fn eliminate_body(
    a: &mut Block,
    n: usize,
    b: &mut Block,
    columns: usize,
) -> ([Lane; SIDE], Lane) {
    let (mut taken, mut sign) = ([ZERO; SIDE], ONE);
    for c in 0..n.min(SIDE) {
        let (mut best, mut at) = (a[c][c].abs(), Lane::all(c as f64));
        for i in c + 1..n.min(SIDE) {
            let size = a[i][c].abs();
            let more = size.above(best);
            best = more.pick(size, best);
            at = more.pick(Lane::all(i as f64), at);
        }
        for i in c + 1..n.min(SIDE) {
            let mask = at.equals(Lane::all(i as f64));
            exchange(a, mask, (c, i), (0, n));
            exchange(b, mask, (c, i), (0, columns));
            sign = mask.pick(ZERO - sign, sign);
        }
        taken[c] = at;
        let pivot = a[c][c];
        let none = pivot.equals(ZERO);
        for i in c + 1..n.min(SIDE) {
            let factor = none.pick(a[i][c], a[i][c] / pivot);
            a[i][c] = factor;
            take_off(a, factor, (c, i), (c + 1, n));
            take_off(b, factor, (c, i), (0, columns));
        }
    }
    (taken, sign)
}

/// # Safety
/// None is asked for.
#[inline(always)]
unsafe fn triangle_body(a: &Block, n: usize, lower: bool, b: &mut Block, columns: usize) -> Mask {
    let (mut regular, n) = (Mask::ALL, n.min(SIDE));
    for step in 0..n {
        let c = if lower { step } else { n - 1 - step };
        let pivot = a[c][c];
        regular = regular & !pivot.equals(ZERO);
        for j in 0..columns.min(SIDE) {
            b[c][j] = b[c][j] / pivot;
        }
        for i in if lower { c + 1..n } else { 0..c } {
            take_off(b, a[i][c], (c, i), (0, columns));
        }
    }
    regular
}

/// `b` becomes `a⁻¹ b`, and `a` its factors; the regular lanes, and the sign of the exchanges.
pub(super) fn solve(a: &mut Block, n: usize, b: &mut Block, columns: usize) -> (Mask, Lane) {
    let (_, sign) = eliminate(a, n, b, columns);
    (triangle(a, n, false, b, columns), sign)
}

/// The product of the pivots.
pub(super) fn product(a: &Block, n: usize, sign: Lane) -> Lane {
    (0..n.min(SIDE)).fold(sign, |product, c| product * a[c][c])
}

/// Ones on the diagonal.
pub(super) fn identity(n: usize) -> Block {
    let mut one = EMPTY;
    for c in 0..n.min(SIDE) {
        one[c][c] = ONE;
    }
    one
}

/// # Safety
/// None is asked for.
#[inline(always)]
unsafe fn cholesky_body(a: &mut Block, n: usize) -> Mask {
    let mut definite = Mask::ALL;
    for k in 0..n.min(SIDE) {
        let pivot = a[k][k];
        definite = definite & pivot.above(ZERO);
        let root = pivot.sqrt();
        a[k][k] = root;
        for i in k + 1..n.min(SIDE) {
            a[i][k] = a[i][k] / root;
            a[k][i] = ZERO;
        }
        for j in k + 1..n.min(SIDE) {
            let factor = a[j][k];
            for i in j..n.min(SIDE) {
                a[i][j] = a[i][j] - a[i][k] * factor;
            }
        }
    }
    definite
}
