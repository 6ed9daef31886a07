//! Factors of items of stacks, four at once.
//!
//! Owns: the scale of each matrix, and which lanes are left to the way that takes one at a time: NaN and infinity, ranks that are not full.
//! Never writes an item that it does not name as done. Invariant: scales are powers of two.

use super::lanes::{Block, EMPTY, Lane, Mask, SIDE, ZERO};
use super::lu;
use super::{householder, jacobi};
use crate::kernels::linalg::batch::{Group, Stack};

pub(in crate::kernels::linalg) fn cholesky(a: &Stack<'_>, out: &Stack<'_>, at: Group) -> Mask {
    let mut x = a.gather(at);
    let done = lu::cholesky(&mut x, a.rows);
    out.scatter(at, done, |i, k| x[i][k]);
    done
}

/// A power of two by which all elements become about 1 at most, for finite matrices, which the mask names; theirs becomes so.
fn unit(x: &mut Block, (m, n): (usize, usize)) -> (Lane, Mask) {
    let (mut most, mut finite) = (ZERO, Mask::ALL);
    for row in x.iter().take(m) {
        for x in row.iter().take(n) {
            most = most.most(x.abs());
            finite = finite & x.finite();
        }
    }
    let unit = most.map(|m| if m == 0.0 { 1.0 } else { m.clamp(1e-300, 1e300) });
    // The exponent alone.
    let unit = unit.map(|m| f64::from_bits(m.to_bits() & 0x7ff0_0000_0000_0000));
    let inverse = unit.map(f64::recip);
    for row in x.iter_mut().take(m) {
        for x in row.iter_mut().take(n) {
            *x = *x * inverse;
        }
    }
    (unit, finite)
}

pub(in crate::kernels::linalg) fn qr(
    a: &Stack<'_>,
    q: &Stack<'_>,
    r: &Stack<'_>,
    at: Group,
) -> Mask {
    let (mut x, mut turn, size) = (a.gather(at), EMPTY, (a.rows, a.columns));
    let (unit, finite) = unit(&mut x, size);
    let done = finite & householder::qr(&mut x, size, &mut turn, q.columns);
    q.scatter(at, done, |i, k| turn[i][k]);
    r.scatter(at, done, |i, k| x[i][k] * unit);
    done
}

/// Where the least value is none that rounding made.
fn full_rank(w: &[Lane; SIDE], n: usize) -> Mask {
    w[n - 1].above(w[0] * Lane::all(1e-13))
}

/// The matrices, those with more columns than rows transposed, and their rows and columns.
fn tall(a: &Stack<'_>, at: Group) -> (Block, (usize, usize)) {
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
    at: Group,
) -> Mask {
    let ((mut left, (m, n)), mut right) = (tall(a, at), EMPTY);
    let mut w = [ZERO; SIDE];
    let (unit, finite) = unit(&mut left, (m, n));
    let converged = jacobi::singular(&mut left, (m, n), &mut right, &mut w, true);
    let done = finite & converged & full_rank(&w, n);
    if a.rows < a.columns {
        (left, right) = (right, left);
    }
    jacobi::signs(&mut left, (a.rows, n), &mut right, a.columns);
    u.scatter(at, done, |i, k| left[i][k]);
    s.scatter(at, done, |i, _| w[i] * unit);
    vt.scatter(at, done, |i, k| right[k][i]);
    done
}

pub(in crate::kernels::linalg) fn singular_values(a: &Stack<'_>, s: &Stack<'_>, at: Group) -> Mask {
    let ((mut x, (m, n)), mut none) = (tall(a, at), EMPTY);
    let mut w = [ZERO; SIDE];
    let (unit, finite) = unit(&mut x, (m, n));
    let converged = jacobi::singular(&mut x, (m, n), &mut none, &mut w, false);
    let done = finite & converged & full_rank(&w, n);
    s.scatter(at, done, |i, _| w[i] * unit);
    done
}

pub(in crate::kernels::linalg) fn eigh(
    a: &Stack<'_>,
    lower: bool,
    w: &Stack<'_>,
    v: &Stack<'_>,
    at: Group,
) -> Mask {
    let (mut x, n) = (if lower { a.gather(at) } else { a.gather_transposed(at) }, a.rows);
    for i in 0..n {
        for k in 0..i {
            x[k][i] = x[i][k];
        }
    }
    let (unit, finite) = unit(&mut x, (n, n));
    let (mut vectors, mut values) = (EMPTY, [ZERO; SIDE]);
    let done = finite & jacobi::symmetric(&mut x, n, &mut vectors, &mut values);
    jacobi::signs(&mut vectors, (n, n), &mut x, 0);
    w.scatter(at, done, |i, _| values[i] * unit);
    v.scatter(at, done, |i, k| vectors[i][k]);
    done
}
