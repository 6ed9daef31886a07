//! Factorisations of stacks of small real matrices, four items at once.
//!
//! Only items in the returned mask are written. Matrices with NaN or infinity, and rank-deficient
//! ones, are left to the one-at-a-time path. Invariant: scales are powers of two.

use super::lanes::{F64x4, LaneMatrix, MAX_SIDE, Mask, ZERO, ZERO_MATRIX};
use super::lu_cholesky;
use super::{householder, jacobi};
use crate::kernels::linalg::batch::{LaneGroup, Stack};

pub(in crate::kernels::linalg) fn cholesky(a: &Stack<'_>, out: &Stack<'_>, at: LaneGroup) -> Mask {
    let mut x = a.gather(at);
    let done = lu_cholesky::cholesky(&mut x, a.rows);
    out.scatter(at, done, |i, k| x[i][k]);
    done
}

/// Divides by a power of two, so that elements have magnitudes of about 1 at most. Returns the
/// scale and the lanes that are finite.
fn scale_to_unit(x: &mut LaneMatrix, (m, n): (usize, usize)) -> (F64x4, Mask) {
    let (mut largest, mut finite) = (ZERO, Mask::ALL);
    for row in x.iter().take(m) {
        for x in row.iter().take(n) {
            largest = largest.max(x.abs());
            finite = finite & x.is_finite();
        }
    }
    let scale = largest.map(|m| if m == 0.0 { 1.0 } else { m.clamp(1e-300, 1e300) });
    // Keep the exponent only.
    let scale = scale.map(|m| f64::from_bits(m.to_bits() & 0x7ff0_0000_0000_0000));
    let inverse = scale.map(f64::recip);
    for row in x.iter_mut().take(m) {
        for x in row.iter_mut().take(n) {
            *x = *x * inverse;
        }
    }
    (scale, finite)
}

pub(in crate::kernels::linalg) fn qr(
    a: &Stack<'_>,
    q: &Stack<'_>,
    r: &Stack<'_>,
    at: LaneGroup,
) -> Mask {
    let (mut x, mut q_lanes, size) = (a.gather(at), ZERO_MATRIX, (a.rows, a.columns));
    let (scale, finite) = scale_to_unit(&mut x, size);
    let done = finite & householder::qr(&mut x, size, &mut q_lanes, q.columns);
    q.scatter(at, done, |i, k| q_lanes[i][k]);
    r.scatter(at, done, |i, k| x[i][k] * scale);
    done
}

/// The lanes whose smallest singular value is above rounding error.
fn full_rank(w: &[F64x4; MAX_SIDE], n: usize) -> Mask {
    w[n - 1].gt(w[0] * F64x4::splat(1e-13))
}

/// Gathers matrices as tall ones, transposed if they are wide, and their rows and columns.
fn gather_tall(a: &Stack<'_>, at: LaneGroup) -> (LaneMatrix, (usize, usize)) {
    if a.rows < a.columns {
        return (a.gather_transposed(at), (a.columns, a.rows));
    }
    (a.gather(at), (a.rows, a.columns))
}

pub(in crate::kernels::linalg) fn svd(
    a: &Stack<'_>,
    u: &Stack<'_>,
    s: &Stack<'_>,
    vt: &Stack<'_>,
    at: LaneGroup,
) -> Mask {
    let ((mut left, (m, n)), mut right) = (gather_tall(a, at), ZERO_MATRIX);
    let mut w = [ZERO; MAX_SIDE];
    let (scale, finite) = scale_to_unit(&mut left, (m, n));
    let converged = jacobi::svd(&mut left, (m, n), &mut right, &mut w, true);
    let done = finite & converged & full_rank(&w, n);
    if a.rows < a.columns {
        (left, right) = (right, left);
    }
    jacobi::normalize_signs(&mut left, (a.rows, n), &mut right, a.columns);
    u.scatter(at, done, |i, k| left[i][k]);
    s.scatter(at, done, |i, _| w[i] * scale);
    vt.scatter(at, done, |i, k| right[k][i]);
    done
}

pub(in crate::kernels::linalg) fn singular_values(
    a: &Stack<'_>,
    s: &Stack<'_>,
    at: LaneGroup,
) -> Mask {
    let ((mut x, (m, n)), mut none) = (gather_tall(a, at), ZERO_MATRIX);
    let mut w = [ZERO; MAX_SIDE];
    let (scale, finite) = scale_to_unit(&mut x, (m, n));
    let converged = jacobi::svd(&mut x, (m, n), &mut none, &mut w, false);
    let done = finite & converged & full_rank(&w, n);
    s.scatter(at, done, |i, _| w[i] * scale);
    done
}

pub(in crate::kernels::linalg) fn eigh(
    a: &Stack<'_>,
    lower: bool,
    w: &Stack<'_>,
    v: &Stack<'_>,
    at: LaneGroup,
) -> Mask {
    let (mut x, n) = (if lower { a.gather(at) } else { a.gather_transposed(at) }, a.rows);
    for i in 0..n {
        for k in 0..i {
            x[k][i] = x[i][k];
        }
    }
    let (scale, finite) = scale_to_unit(&mut x, (n, n));
    let (mut vectors, mut values) = (ZERO_MATRIX, [ZERO; MAX_SIDE]);
    let done = finite & jacobi::symmetric_eigen(&mut x, n, &mut vectors, &mut values);
    jacobi::normalize_signs(&mut vectors, (n, n), &mut x, 0);
    w.scatter(at, done, |i, _| values[i] * scale);
    v.scatter(at, done, |i, k| vectors[i][k]);
    done
}
