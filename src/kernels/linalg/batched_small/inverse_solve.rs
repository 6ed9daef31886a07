//! Determinants, inverses, solutions and exponentials of stacks of small real matrices, four items
//! at once.
//!
//! Only items in the returned mask are written. Singular matrices, and results that rounding may
//! have spoilt, are left to the one-at-a-time path.

use super::householder::matmul;
use super::lanes::{F64x4, LaneMatrix, MAX_SIDE, Mask, ONE, ZERO, ZERO_MATRIX};
use super::lu_cholesky::{determinant, identity, lu_factor, solve as lu_solve, solve_triangle};
use crate::kernels::linalg::batch::{LaneGroup, Stack};

pub(in crate::kernels::linalg) fn det(a: &Stack<'_>, out: &Stack<'_>, at: LaneGroup) -> Mask {
    let (mut x, n) = (a.gather(at), a.rows);
    let (_, sign) = lu_factor(&mut x, n, &mut [[ZERO; MAX_SIDE]; MAX_SIDE], 0);
    let found = determinant(&x, n, sign);
    out.scatter(at, Mask::ALL, |_, _| found);
    Mask::ALL
}

/// Sign and logarithm of the determinant, in the lanes where the partial products stay far from
/// overflow and underflow.
pub(in crate::kernels::linalg) fn slogdet(
    a: &Stack<'_>,
    sign: &Stack<'_>,
    log: &Stack<'_>,
    at: LaneGroup,
) -> Mask {
    let (mut x, n) = (a.gather(at), a.rows);
    let (_, mut part) = lu_factor(&mut x, n, &mut [[ZERO; MAX_SIDE]; MAX_SIDE], 0);
    let mut done = Mask::ALL;
    for (c, row) in x.iter().enumerate().take(n) {
        part = part * row[c];
        done = done & part.abs().gt(F64x4::splat(1e-200)) & F64x4::splat(1e200).gt(part.abs());
    }
    sign.scatter(at, done, |_, _| ONE.copysign(part));
    let logarithm = part.map(|x| x.abs().ln());
    log.scatter(at, done, |_, _| logarithm);
    done
}

pub(in crate::kernels::linalg) fn inverse(a: &Stack<'_>, out: &Stack<'_>, at: LaneGroup) -> Mask {
    let (mut x, n) = (a.gather(at), a.rows);
    let mut b = identity(n);
    let (done, _) = lu_solve(&mut x, n, &mut b, n);
    out.scatter(at, done, |i, k| b[i][k]);
    done
}

pub(in crate::kernels::linalg) fn solve(
    a: &Stack<'_>,
    b: &Stack<'_>,
    out: &Stack<'_>,
    at: LaneGroup,
) -> Mask {
    let (mut x, mut b) = (a.gather(at), b.gather(at));
    let (done, _) = lu_solve(&mut x, a.rows, &mut b, out.columns);
    out.scatter(at, done, |i, k| b[i][k]);
    done
}

pub(in crate::kernels::linalg) fn solve_triangular(
    a: &Stack<'_>,
    b: &Stack<'_>,
    out: &Stack<'_>,
    (lower, transposed, unit): (bool, bool, bool),
    at: LaneGroup,
) -> Mask {
    let mut x = if transposed { a.gather_transposed(at) } else { a.gather(at) };
    if unit {
        x.iter_mut().enumerate().for_each(|(i, row)| row[i] = ONE);
    }
    let mut b = b.gather(at);
    let done = solve_triangle(&x, a.rows, lower != transposed, &mut b, out.columns);
    out.scatter(at, done, |i, k| b[i][k]);
    done
}

/// The 1-norm.
fn norm1(a: &LaneMatrix, n: usize) -> F64x4 {
    let column = |k: usize| a.iter().take(n).fold(ZERO, |sum, row| sum + row[k].abs());
    (0..n).fold(ZERO, |largest, k| largest.max(column(k)))
}

/// `det(a) a⁻ᵀ`, in the lanes whose condition number is at most `max_condition`.
pub(in crate::kernels::linalg) fn cofactor(
    a: &Stack<'_>,
    out: &Stack<'_>,
    max_condition: f64,
    at: LaneGroup,
) -> Mask {
    let (given, n) = (a.gather(at), a.rows);
    let (mut x, mut b) = (given, identity(n));
    let (regular, sign) = lu_solve(&mut x, n, &mut b, n);
    let found = determinant(&x, n, sign);
    let condition = norm1(&given, n) * norm1(&b, n);
    let normal = found.abs().gt(F64x4::splat(f64::MIN_POSITIVE)) & found.is_finite();
    let done = regular & normal & F64x4::splat(max_condition).gt(condition);
    out.scatter(at, done, |i, k| b[k][i] * found);
    done
}

/// The matrix with elements `of(i, j)`.
fn matrix_from_fn(n: usize, of: impl Fn(usize, usize) -> F64x4) -> LaneMatrix {
    let mut out = ZERO_MATRIX;
    for (i, row) in out.iter_mut().enumerate().take(n) {
        for (j, x) in row.iter_mut().enumerate().take(n) {
            *x = of(i, j);
        }
    }
    out
}

/// The odd and the even powers of the numerator of the Padé approximant.
fn pade_odd_even(a: &LaneMatrix, n: usize, pade: &[f64; 14]) -> [LaneMatrix; 2] {
    let two = matmul(a, a, n);
    let four = matmul(&two, &two, n);
    let powers = [two, four, matmul(&two, &four, n)];
    let sum = |first: usize, one: f64| {
        matrix_from_fn(n, |i, j| {
            let term = |k: usize| powers[k][i][j] * F64x4::splat(pade[first + 2 * k + 2]);
            let rest = term(2) + term(1) + term(0);
            if i == j { rest + F64x4::splat(one) } else { rest }
        })
    };
    let whole = |parity: usize| {
        let high = matmul(&powers[2], &sum(parity + 6, 0.0), n);
        let low = sum(parity, pade[parity]);
        matrix_from_fn(n, |i, j| high[i][j] + low[i][j])
    };
    [matmul(a, &whole(1), n), whole(0)]
}

/// Most squarings in the batched path.
const MAX_SQUARINGS: f64 = 64.0;

/// Matrix exponential by scaling and squaring, with a Padé approximant that is accurate up to a
/// 1-norm of `max_norm`.
pub(in crate::kernels::linalg) fn exponential(
    a: &Stack<'_>,
    out: &Stack<'_>,
    pade: &[f64; 14],
    max_norm: f64,
    at: LaneGroup,
) -> Mask {
    let (mut x, n) = (a.gather(at), a.rows);
    let norm = norm1(&x, n);
    let halvings = norm.map(|norm| (norm / max_norm).log2().ceil().clamp(0.0, MAX_SQUARINGS));
    let done = norm.is_finite() & F64x4::splat(MAX_SQUARINGS).gt(halvings);
    let factor = halvings.map(|count| 0.5f64.powi(count as i32));
    x = matrix_from_fn(n, |i, j| x[i][j] * factor);
    let [odd, even] = pade_odd_even(&x, n, pade);
    let mut denominator = matrix_from_fn(n, |i, j| even[i][j] - odd[i][j]);
    let mut found = matrix_from_fn(n, |i, j| even[i][j] + odd[i][j]);
    let (regular, _) = lu_solve(&mut denominator, n, &mut found, n);
    let mut squared = ZERO;
    loop {
        let more = done & halvings.gt(squared);
        if !more.any() {
            break;
        }
        let twice = matmul(&found, &found, n);
        found = matrix_from_fn(n, |i, j| more.select(twice[i][j], found[i][j]));
        squared = squared + ONE;
    }
    let done = done & regular;
    out.scatter(at, done, |i, k| found[i][k]);
    done
}
