//! Determinants, inverses, solutions and exponentials of items of stacks, four at once.
//!
//! Owns: which factor is read for which answer. Never writes an item that it does not name as done.
//! Invariant: what has no answer, or one that rounding may have spoilt, is left to the way that takes one at a time.

use super::householder::times;
use super::lanes::{Block, EMPTY, Lane, Mask, ONE, SIDE, ZERO};
use super::lu::{eliminate, identity, product, solve as solved, triangle};
use crate::kernels::linalg::batch::{Group, Stack};

pub(in crate::kernels::linalg) fn det(a: &Stack<'_>, out: &Stack<'_>, at: Group) -> Mask {
    let (mut x, n) = (a.gather(at), a.rows);
    let (_, sign) = eliminate(&mut x, n, &mut [[ZERO; SIDE]; SIDE], 0);
    let found = product(&x, n, sign);
    out.scatter(at, Mask::ALL, |_, _| found);
    Mask::ALL
}

/// The logarithm of the product of the pivots where no part of it leaves the middle of the numbers.
pub(in crate::kernels::linalg) fn slogdet(
    a: &Stack<'_>,
    sign: &Stack<'_>,
    log: &Stack<'_>,
    at: Group,
) -> Mask {
    let (mut x, n) = (a.gather(at), a.rows);
    let (_, mut part) = eliminate(&mut x, n, &mut [[ZERO; SIDE]; SIDE], 0);
    let mut done = Mask::ALL;
    for (c, row) in x.iter().enumerate().take(n) {
        part = part * row[c];
        done = done & part.abs().above(Lane::all(1e-200)) & Lane::all(1e200).above(part.abs());
    }
    sign.scatter(at, done, |_, _| ONE.signed(part));
    let logarithm = part.map(|x| x.abs().ln());
    log.scatter(at, done, |_, _| logarithm);
    done
}

pub(in crate::kernels::linalg) fn inverse(a: &Stack<'_>, out: &Stack<'_>, at: Group) -> Mask {
    let (mut x, n) = (a.gather(at), a.rows);
    let mut b = identity(n);
    let (done, _) = solved(&mut x, n, &mut b, n);
    out.scatter(at, done, |i, k| b[i][k]);
    done
}

pub(in crate::kernels::linalg) fn solve(
    a: &Stack<'_>,
    b: &Stack<'_>,
    out: &Stack<'_>,
    at: Group,
) -> Mask {
    let (mut x, mut b) = (a.gather(at), b.gather(at));
    let (done, _) = solved(&mut x, a.rows, &mut b, out.columns);
    out.scatter(at, done, |i, k| b[i][k]);
    done
}

pub(in crate::kernels::linalg) fn solve_triangular(
    a: &Stack<'_>,
    b: &Stack<'_>,
    out: &Stack<'_>,
    (lower, transposed, unit): (bool, bool, bool),
    at: Group,
) -> Mask {
    let mut x = if transposed { a.gather_transposed(at) } else { a.gather(at) };
    if unit {
        x.iter_mut().enumerate().for_each(|(i, row)| row[i] = ONE);
    }
    let mut b = b.gather(at);
    let done = triangle(&x, a.rows, lower != transposed, &mut b, out.columns);
    out.scatter(at, done, |i, k| b[i][k]);
    done
}

/// The largest sum of magnitudes in a column.
fn norm1(a: &Block, n: usize) -> Lane {
    let column = |k: usize| a.iter().take(n).fold(ZERO, |sum, row| sum + row[k].abs());
    (0..n).fold(ZERO, |most, k| most.most(column(k)))
}

/// `det(a) a⁻ᵀ` of regular matrices, and not of those whose condition is beyond `worst`.
pub(in crate::kernels::linalg) fn cofactor(
    a: &Stack<'_>,
    out: &Stack<'_>,
    worst: f64,
    at: Group,
) -> Mask {
    let (given, n) = (a.gather(at), a.rows);
    let (mut x, mut b) = (given, identity(n));
    let (regular, sign) = solved(&mut x, n, &mut b, n);
    let found = product(&x, n, sign);
    let condition = norm1(&given, n) * norm1(&b, n);
    let normal = found.abs().above(Lane::all(f64::MIN_POSITIVE)) & found.finite();
    let done = regular & normal & Lane::all(worst).above(condition);
    out.scatter(at, done, |i, k| b[k][i] * found);
    done
}

/// `of(i, j)` at every place.
fn each(n: usize, of: impl Fn(usize, usize) -> Lane) -> Block {
    let mut out = EMPTY;
    for (i, row) in out.iter_mut().enumerate().take(n) {
        for (j, x) in row.iter_mut().enumerate().take(n) {
            *x = of(i, j);
        }
    }
    out
}

/// The numerator's two halves, odd and even powers, of an approximant.
fn halves(a: &Block, n: usize, pade: &[f64; 14]) -> [Block; 2] {
    let two = times(a, a, n);
    let four = times(&two, &two, n);
    let powers = [two, four, times(&two, &four, n)];
    let sum = |first: usize, one: f64| {
        each(n, |i, j| {
            let term = |k: usize| powers[k][i][j] * Lane::all(pade[first + 2 * k + 2]);
            let rest = term(2) + term(1) + term(0);
            if i == j { rest + Lane::all(one) } else { rest }
        })
    };
    let whole = |parity: usize| {
        let high = times(&powers[2], &sum(parity + 6, 0.0), n);
        let low = sum(parity, pade[parity]);
        each(n, |i, j| high[i][j] + low[i][j])
    };
    [times(a, &whole(1), n), whole(0)]
}

/// Squarings beyond which matrices are done one at a time.
const OFTEN: f64 = 64.0;

/// Exponentials by an approximant that is accurate up to a norm of `reach`, with scaling and squaring.
pub(in crate::kernels::linalg) fn exponential(
    a: &Stack<'_>,
    out: &Stack<'_>,
    pade: &[f64; 14],
    reach: f64,
    at: Group,
) -> Mask {
    let (mut x, n) = (a.gather(at), a.rows);
    let norm = norm1(&x, n);
    let times_halved = norm.map(|norm| (norm / reach).log2().ceil().clamp(0.0, OFTEN));
    let done = norm.finite() & Lane::all(OFTEN).above(times_halved);
    let down = times_halved.map(|often| 0.5f64.powi(often as i32));
    x = each(n, |i, j| x[i][j] * down);
    let [odd, even] = halves(&x, n, pade);
    let mut below = each(n, |i, j| even[i][j] - odd[i][j]);
    let mut found = each(n, |i, j| even[i][j] + odd[i][j]);
    let (regular, _) = solved(&mut below, n, &mut found, n);
    let mut squared = ZERO;
    loop {
        let more = done & times_halved.above(squared);
        if !more.any() {
            break;
        }
        let twice = times(&found, &found, n);
        found = each(n, |i, j| more.pick(twice[i][j], found[i][j]));
        squared = squared + ONE;
    }
    let done = done & regular;
    out.scatter(at, done, |i, k| found[i][k]);
    done
}
