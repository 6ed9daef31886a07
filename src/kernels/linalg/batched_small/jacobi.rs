//! Jacobi eigenvalue iteration and one-sided Jacobi (Hestenes) SVD of four small matrices at once.
//!
//! A mask returns the lanes that converged. Invariant: values are sorted; vectors are orthonormal
//! to rounding and have a positive first large component.
//!
//! Source: Golub and Van Loan, Matrix Computations, 8.5 and 8.6.

use super::lanes::{F64x4, LaneMatrix, MAX_SIDE, Mask, ONE, ZERO};
use super::lu_cholesky::identity;
use crate::kernels::multiversion::multiversion;

/// Ascending eigenvalues, and eigenvectors (columns of `v`), of a symmetric matrix with elements of
/// about 1. Returns the lanes that converged.
pub(super) fn symmetric_eigen(
    a: &mut LaneMatrix,
    n: usize,
    v: &mut LaneMatrix,
    w: &mut [F64x4; MAX_SIDE],
) -> Mask {
    // SAFETY: the body has no contract.
    unsafe { symmetric_eigen_by_level(a, n, v, w) }
}

/// Singular value decomposition of `u`, whose elements are of about 1. `u` becomes the left
/// singular vectors (scaled by their values without `vectors`), `v` the right ones (columns), `w`
/// the descending values. Returns the lanes that converged.
pub(super) fn svd(
    u: &mut LaneMatrix,
    size: (usize, usize),
    v: &mut LaneMatrix,
    w: &mut [F64x4; MAX_SIDE],
    vectors: bool,
) -> Mask {
    // SAFETY: the body has no contract.
    unsafe { svd_by_level(u, size, v, w, vectors) }
}

multiversion! {
    unsafe fn symmetric_eigen_by_level(a: &mut LaneMatrix, n: usize, v: &mut LaneMatrix, w: &mut [F64x4; MAX_SIDE])
        -> Mask = symmetric_eigen_body, Levels::UpToAvx2
}
multiversion! {
    unsafe fn svd_by_level(
        u: &mut LaneMatrix, size: (usize, usize), v: &mut LaneMatrix, w: &mut [F64x4; MAX_SIDE], vectors: bool,
    ) -> Mask = svd_body, Levels::UpToAvx2
}

/// # Safety
/// No contract.
#[inline(always)]
unsafe fn symmetric_eigen_body(
    a: &mut LaneMatrix,
    n: usize,
    v: &mut LaneMatrix,
    w: &mut [F64x4; MAX_SIDE],
) -> Mask {
    let n = n.min(MAX_SIDE);
    let done = diagonalise(a, n, v);
    for (k, w) in w.iter_mut().enumerate().take(n) {
        *w = a[k][k];
    }
    sort(w, n, false, [(v, n), (a, 0)]);
    done
}

/// # Safety
/// No contract.
#[inline(always)]
unsafe fn svd_body(
    u: &mut LaneMatrix,
    (m, n): (usize, usize),
    v: &mut LaneMatrix,
    w: &mut [F64x4; MAX_SIDE],
    vectors: bool,
) -> Mask {
    let (m, n) = (m.min(MAX_SIDE), n.min(MAX_SIDE));
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

/// Most sweeps over all pairs of columns.
const MAX_SWEEPS: usize = 16;

/// Cosine and sine of the Jacobi rotation whose cotangent of twice the angle is `half / product`,
/// in the lanes of `wanted`; the identity in others.
#[inline(always)]
fn rotation(half: F64x4, product: F64x4, wanted: Mask) -> (F64x4, F64x4) {
    let safe = wanted.select(product, ONE);
    let cotangent = half / safe;
    let root = (cotangent * cotangent + ONE).sqrt();
    let tangent = wanted.select(ONE / (cotangent + root.copysign(cotangent)), ZERO);
    let cosine = ONE / (tangent * tangent + ONE).sqrt();
    (cosine, tangent * cosine)
}

/// Rotates columns `p` and `q`.
#[inline(always)]
fn rotate_columns(x: &mut LaneMatrix, rows: usize, (p, q): (usize, usize), (c, s): (F64x4, F64x4)) {
    for row in x.iter_mut().take(rows) {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
}

/// Diagonalises a symmetric matrix; the eigenvectors are the columns of `v`, unsorted. Returns the
/// lanes that converged.
#[inline(always)]
fn diagonalise(a: &mut LaneMatrix, n: usize, v: &mut LaneMatrix) -> Mask {
    *v = identity(n);
    for _ in 0..MAX_SWEEPS {
        let (mut off, mut whole) = (ZERO, ZERO);
        for i in 0..n {
            for j in 0..n {
                let square = a[i][j] * a[i][j];
                whole = whole + square;
                off = if i < j { off + square } else { off };
            }
        }
        let unfinished = off.gt(whole * F64x4::splat(1e-34));
        if !unfinished.any() {
            return Mask::ALL;
        }
        for p in 0..n {
            for q in p + 1..n {
                let product = a[p][q];
                let half = (a[q][q] - a[p][p]) * F64x4::splat(0.5);
                // No rotation where the product is negligible: the square of the cotangent could
                // overflow.
                let wanted = product.abs().gt(half.abs() * F64x4::splat(1e-150));
                let (c, s) = rotation(half, product, wanted);
                rotate_columns(a, n, (p, q), (c, s));
                for k in 0..n {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                }
                a[p][q] = wanted.select(ZERO, a[p][q]);
                a[q][p] = a[p][q];
                rotate_columns(v, n, (p, q), (c, s));
            }
        }
    }
    Mask::NONE
}

/// Makes the columns of `u` orthogonal, and accumulates the rotations in `rows` rows of `v`.
/// Returns the lanes that converged.
#[inline(always)]
fn orthogonalise(
    u: &mut LaneMatrix,
    (m, n): (usize, usize),
    v: &mut LaneMatrix,
    rows: usize,
) -> Mask {
    *v = identity(n);
    for _ in 0..MAX_SWEEPS {
        let mut rotated = Mask::NONE;
        for p in 0..n {
            for q in p + 1..n {
                let (mut one, mut two, mut product) = (ZERO, ZERO, ZERO);
                for row in u.iter().take(m) {
                    one = one + row[p] * row[p];
                    two = two + row[q] * row[q];
                    product = product + row[p] * row[q];
                }
                // Below this, a column is rounding error and never becomes orthogonal to another.
                let floor = F64x4::splat(1e-30);
                let wanted = product.abs().gt((one * two).sqrt() * F64x4::splat(1e-15))
                    & one.gt(floor)
                    & two.gt(floor);
                if !wanted.any() {
                    continue;
                }
                rotated = rotated | wanted;
                let cs = rotation((two - one) * F64x4::splat(0.5), product, wanted);
                rotate_columns(u, m, (p, q), cs);
                rotate_columns(v, rows, (p, q), cs);
            }
        }
        if !rotated.any() {
            return Mask::ALL;
        }
    }
    Mask::NONE
}

/// Sorts values, ascending or `descending`, and columns with them.
#[inline(always)]
fn sort(
    w: &mut [F64x4; MAX_SIDE],
    n: usize,
    descending: bool,
    with: [(&mut LaneMatrix, usize); 2],
) {
    let [(u, m), (v, k)] = with;
    for i in 0..n {
        for j in i + 1..n {
            let mask = if descending { w[j].gt(w[i]) } else { w[i].gt(w[j]) };
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

/// Flips columns whose first large component is negative, and the same columns of `v`.
pub(super) fn normalize_signs(
    u: &mut LaneMatrix,
    (m, n): (usize, usize),
    v: &mut LaneMatrix,
    rows: usize,
) {
    for k in 0..n.min(MAX_SIDE) {
        let mut largest = ZERO;
        for row in u.iter().take(m) {
            largest = largest.max(row[k].abs());
        }
        let threshold = largest * F64x4::splat(0.37);
        let mut sign = ONE;
        for row in u.iter().take(m).rev() {
            sign = row[k].abs().gt(threshold).select(ONE.copysign(row[k]), sign);
        }
        for row in u.iter_mut().take(m) {
            row[k] = row[k] * sign;
        }
        for row in v.iter_mut().take(rows) {
            row[k] = row[k] * sign;
        }
    }
}
