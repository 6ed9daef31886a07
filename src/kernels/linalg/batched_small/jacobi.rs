//! Eigenvalues and singular values of matrices side by side, by rotations of pairs of columns.
//!
//! Owns: Jacobi's iteration for symmetric matrices, and Hestenes' for the columns of any. Never decides what to do about a lane that
//! has not converged: a mask names the ones that have.
//! Invariant: values are sorted, vectors orthonormal to rounding with a positive first large component.
//! Sources: Golub and Van Loan, Matrix Computations, 8.5 and 8.6.

use super::lanes::{Block, Lane, Mask, ONE, SIDE, ZERO};
use super::lu::identity;
use crate::kernels::multiversion::leveled;

/// Rising eigenvalues and the eigenvectors (columns of `v`) of a symmetric matrix of about 1; the lanes that converged.
pub(super) fn symmetric(a: &mut Block, n: usize, v: &mut Block, w: &mut [Lane; SIDE]) -> Mask {
    // SAFETY: the body asks for nothing.
    unsafe { symmetric_by_level(a, n, v, w) }
}

/// `u` of about 1 becomes its left singular vectors, times their values without `vectors`, `v` the right ones (columns), `w` the
/// falling values. The lanes that converged.
pub(super) fn singular(
    u: &mut Block,
    size: (usize, usize),
    v: &mut Block,
    w: &mut [Lane; SIDE],
    vectors: bool,
) -> Mask {
    // SAFETY: the body asks for nothing.
    unsafe { singular_by_level(u, size, v, w, vectors) }
}

leveled! {
    unsafe fn symmetric_by_level(a: &mut Block, n: usize, v: &mut Block, w: &mut [Lane; SIDE])
        -> Mask = symmetric_body, Levels::UpToAvx2
}
leveled! {
    unsafe fn singular_by_level(
        u: &mut Block, size: (usize, usize), v: &mut Block, w: &mut [Lane; SIDE], vectors: bool,
    ) -> Mask = singular_body, Levels::UpToAvx2
}

/// # Safety
/// None is asked for.
#[inline(always)]
unsafe fn symmetric_body(a: &mut Block, n: usize, v: &mut Block, w: &mut [Lane; SIDE]) -> Mask {
    let n = n.min(SIDE);
    let done = diagonalise(a, n, v);
    for (k, w) in w.iter_mut().enumerate().take(n) {
        *w = a[k][k];
    }
    sort(w, n, false, [(v, n), (a, 0)]);
    done
}

/// # Safety
/// None is asked for.
#[inline(always)]
unsafe fn singular_body(
    u: &mut Block,
    (m, n): (usize, usize),
    v: &mut Block,
    w: &mut [Lane; SIDE],
    vectors: bool,
) -> Mask {
    let (m, n) = (m.min(SIDE), n.min(SIDE));
    let rows = if vectors { n } else { 0 };
    let done = orthogonalise(u, (m, n), v, rows);
    for k in 0..n {
        let sum = u.iter().take(m).fold(ZERO, |sum, row| sum + row[k] * row[k]);
        w[k] = sum.sqrt();
        for row in u.iter_mut().take(if vectors { m } else { 0 }) {
            row[k] = row[k] / w[k];
        }
    }
    let high = if vectors { m } else { 0 };
    sort(w, n, true, [(u, high), (v, rows)]);
    done
}

/// Sweeps over all pairs.
const SWEEPS: usize = 16;

/// Cosine and sine of the rotation that a quotient of twice its angle's cotangent asks for, where a mask says so.
#[inline(always)]
fn rotation(half: Lane, product: Lane, wanted: Mask) -> (Lane, Lane) {
    let safe = wanted.pick(product, ONE);
    let cotangent = half / safe;
    let root = (cotangent * cotangent + ONE).sqrt();
    let tangent = wanted.pick(ONE / (cotangent + root.signed(cotangent)), ZERO);
    let cosine = ONE / (tangent * tangent + ONE).sqrt();
    (cosine, tangent * cosine)
}

/// Rotates columns `p` and `q`.
#[inline(always)]
fn turn_columns(x: &mut Block, rows: usize, (p, q): (usize, usize), (c, s): (Lane, Lane)) {
    for row in x.iter_mut().take(rows) {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
}

/// Eigenvalues onto the diagonal of a symmetric matrix, vectors as columns of `v`, neither sorted; the lanes that converged.
#[inline(always)]
fn diagonalise(a: &mut Block, n: usize, v: &mut Block) -> Mask {
    *v = identity(n);
    for _ in 0..SWEEPS {
        let (mut off, mut whole) = (ZERO, ZERO);
        for i in 0..n {
            for j in 0..n {
                let square = a[i][j] * a[i][j];
                whole = whole + square;
                off = if i < j { off + square } else { off };
            }
        }
        let open = off.above(whole * Lane::all(1e-34));
        if !open.any() {
            return Mask::ALL;
        }
        for p in 0..n {
            for q in p + 1..n {
                let product = a[p][q];
                let half = (a[q][q] - a[p][p]) * Lane::all(0.5);
                // Beside a difference that it vanishes in, nothing is turned; else its square might overflow.
                let wanted = product.abs().above(half.abs() * Lane::all(1e-150));
                let (c, s) = rotation(half, product, wanted);
                turn_columns(a, n, (p, q), (c, s));
                for k in 0..n {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                }
                a[p][q] = wanted.pick(ZERO, a[p][q]);
                a[q][p] = a[p][q];
                turn_columns(v, n, (p, q), (c, s));
            }
        }
    }
    Mask::NONE
}

/// The columns of `u` become orthogonal, and `rows` rows of `v` what they were turned by; the lanes that converged.
#[inline(always)]
fn orthogonalise(u: &mut Block, (m, n): (usize, usize), v: &mut Block, rows: usize) -> Mask {
    *v = identity(n);
    for _ in 0..SWEEPS {
        let mut turned = Mask::NONE;
        for p in 0..n {
            for q in p + 1..n {
                let (mut one, mut two, mut product) = (ZERO, ZERO, ZERO);
                for row in u.iter().take(m) {
                    one = one + row[p] * row[p];
                    two = two + row[q] * row[q];
                    product = product + row[p] * row[q];
                }
                // Below this, columns are rounding, which is never orthogonal to anything.
                let floor = Lane::all(1e-30);
                let wanted = product.abs().above((one * two).sqrt() * Lane::all(1e-15))
                    & one.above(floor)
                    & two.above(floor);
                if !wanted.any() {
                    continue;
                }
                turned = turned | wanted;
                let cs = rotation((two - one) * Lane::all(0.5), product, wanted);
                turn_columns(u, m, (p, q), cs);
                turn_columns(v, rows, (p, q), cs);
            }
        }
        if !turned.any() {
            return Mask::ALL;
        }
    }
    Mask::NONE
}

/// Sorts values, and columns with them: rising, or falling.
#[inline(always)]
fn sort(w: &mut [Lane; SIDE], n: usize, falling: bool, with: [(&mut Block, usize); 2]) {
    let [(u, m), (v, k)] = with;
    for i in 0..n {
        for j in i + 1..n {
            let mask = if falling { w[j].above(w[i]) } else { w[i].above(w[j]) };
            if !mask.any() {
                continue;
            }
            (w[i], w[j]) = mask.swap((w[i], w[j]));
            for row in u.iter_mut().take(m) {
                (row[i], row[j]) = mask.swap((row[i], row[j]));
            }
            for row in v.iter_mut().take(k) {
                (row[i], row[j]) = mask.swap((row[i], row[j]));
            }
        }
    }
}

/// Turns the sign of columns whose first large component is negative, and the same columns of `v`.
pub(super) fn signs(u: &mut Block, (m, n): (usize, usize), v: &mut Block, rows: usize) {
    for k in 0..n.min(SIDE) {
        let mut most = ZERO;
        for row in u.iter().take(m) {
            most = most.most(row[k].abs());
        }
        let least = most * Lane::all(0.37);
        let mut sign = ONE;
        for row in u.iter().take(m).rev() {
            sign = row[k].abs().above(least).pick(ONE.signed(row[k]), sign);
        }
        for row in u.iter_mut().take(m) {
            row[k] = row[k] * sign;
        }
        for row in v.iter_mut().take(rows) {
            row[k] = row[k] * sign;
        }
    }
}
