//! Matrix exponential, square root and logarithm.
//!
//! The exponential by a Padé approximant with scaling and squaring, the root by the Schur form, the
//! logarithm by inverse scaling and squaring with a Padé approximant. Always the principal branch:
//! on its cut, negative numbers count as approached from above, whatever rounding says. Invariant:
//! the function of a real matrix is real, or refused.
//!
//! Sources: Higham, SIAM J. Matrix Anal. Appl. 26 (2005), for the exponential; Björck and
//! Hammarling, Linear Algebra Appl. 52 (1983), for the root; Higham, Functions of Matrices (2008),
//! 11.5, for the logarithm.

use std::f64::consts::PI;

use super::batch::{Stack, for_each_grouped};
use super::batched_small;
use super::batched_small::Mask;
use super::factor::{divide_by, power_of_two_scale};
use super::matrix::Matrix;
use super::scalar::{Double, product, with_double};
use super::schur::ComplexSchur;
use super::triangular_solve;
use super::triangular_solve::solve_general;
use crate::dtype::Complex128;
use crate::kernels::launch::launch;
use crate::kernels::view::{View, ViewMut};

/// A matrix function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatrixFunction {
    /// The exponential.
    Exp,
    /// The principal square root.
    Sqrt,
    /// The principal logarithm.
    Log,
}

/// Applies a function to square matrices; the error is the index of a matrix without a result.
/// Every matrix is block upper triangular with `copies` equal diagonal blocks (for derivatives):
/// the first block determines the eigenvalues.
pub fn matrix_function(
    which: MatrixFunction,
    copies: usize,
    a: View,
    out: ViewMut,
) -> Result<(), usize> {
    launch!("matrix_function", [a] => [out];; matrix_function_of(which, copies, a, out))
}

fn matrix_function_of(
    which: MatrixFunction,
    copies: usize,
    a: View,
    out: ViewMut,
) -> Result<(), usize> {
    let principal = |which, a| principal(which, copies, a);
    match which {
        MatrixFunction::Exp => {
            with_double!(a.dtype, T => map_items::<T>(which, a, out, exponential))
        }
        _ if a.dtype.is_complex() => map_items(which, a, out, |x| principal(which, x)),
        _ => map_items(which, a, out, |x: Matrix<f64>| {
            let found = principal(which, x.map(|v| Complex128::new(v, 0.0)))?;
            let all = found.as_slice();
            let size = all.iter().fold(0.0f64, |m, z| m.max(z.norm()));
            let real = all.iter().all(|z| z.im.abs() <= 1.5e-8 * size);
            real.then(|| found.map(|z| z.re))
        }),
    }
}

fn map_items<T: Double>(
    which: MatrixFunction,
    a: View,
    out: ViewMut,
    of: impl Fn(Matrix<T>) -> Option<Matrix<T>> + Sync,
) -> Result<(), usize> {
    let (a, out) = (Stack::matrices(a), Stack::matrices_mut(out));
    let small = |at| match which {
        MatrixFunction::Exp => batched_small::exponential(&a, &out, &PADE, PADE_MAX_NORM, at),
        _ => Mask::NONE,
    };
    for_each_grouped::<T>(&[&a], 30 * a.rows.pow(3), small, |index| {
        let matrix = a.load::<T>(index);
        if !matrix.as_slice().iter().all(|x| x.is_finite()) {
            return false;
        }
        let Some(found) = of(matrix) else { return false };
        out.store_matrix(index, &found);
        true
    })
}

/// Eigenvalue angles up to this one are far from the branch cut.
const MAX_ANGLE_WITHOUT_ROTATION: f64 = 3.0;

/// The 1-norm.
fn norm1<T: Double>(a: &Matrix<T>) -> f64 {
    a.column_iter().map(|c| c.iter().map(|x| x.modulus()).sum()).fold(0.0, f64::max)
}

/// Coefficients of the Padé approximant of degree 13.
const PADE: [f64; 14] = [
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
];
/// 1-norm up to which the approximant is accurate to rounding.
const PADE_MAX_NORM: f64 = 5.371920351148152;

/// A power of the matrix times a coefficient.
fn weighted<T: Double>(power: &Matrix<T>, i: usize) -> Matrix<T> {
    power.map(|x| x * T::from_real(PADE[i]))
}

fn exponential<T: Double>(a: Matrix<T>) -> Option<Matrix<T>> {
    let n = a.nrows();
    let halvings = (norm1(&a) / PADE_MAX_NORM).log2().ceil().clamp(0.0, 1100.0) as i32;
    let mut a = a;
    a *= T::from_real(0.5f64.powi(halvings));
    let squared = product(&a, &a);
    let fourth = product(&squared, &squared);
    let sixth = product(&squared, &fourth);
    let sum = |[i, j, k, l]: [usize; 4]| {
        weighted(&Matrix::identity(n, n), l)
            + &weighted(&squared, k)
            + &weighted(&fourth, j)
            + &weighted(&sixth, i)
    };
    let high = |[i, j, k]: [usize; 3]| {
        product(&sixth, &(weighted(&sixth, i) + &weighted(&fourth, j) + &weighted(&squared, k)))
    };
    let odd = product(&a, &(high([13, 11, 9]) + &sum([7, 5, 3, 1])));
    let even = high([12, 10, 8]) + &sum([6, 4, 2, 0]);
    let mut out = solve_general(even.clone() - &odd, even + &odd)?;
    for _ in 0..halvings {
        out = product(&out, &out);
    }
    Some(out)
}

/// Principal root or logarithm through the Schur form, after a rotation away from the branch cut.
fn principal(
    which: MatrixFunction,
    copies: usize,
    a: Matrix<Complex128>,
) -> Option<Matrix<Complex128>> {
    let first = a.nrows() / copies;
    let first = (copies > 1).then(|| a.view(..first, ..first).to_matrix());
    let unit = extreme_scale(first.as_ref().unwrap_or(&a))?;
    let ComplexSchur { t, z } = ComplexSchur::of(divide_by(a, unit))?;
    let mut t = t.upper_triangle();
    let angle = match first {
        Some(first) => cut_rotation(&ComplexSchur::of(divide_by(first, unit))?.t),
        None => cut_rotation(&t),
    };
    if angle != 0.0 {
        t *= Complex128::from_polar(1.0, -angle);
    }
    let mut found = if which == MatrixFunction::Sqrt { root(&t)? } else { logarithm(t)? };
    match which {
        _ if angle == 0.0 && unit == 1.0 => {}
        MatrixFunction::Sqrt => found *= Complex128::from_polar(unit.sqrt(), angle / 2.0),
        _ => {
            for i in 0..found.nrows() {
                found[(i, i)] += Complex128::new(unit.ln(), angle);
            }
        }
    }
    Some(product(&product(&z, &found), &z.adjoint()))
}

/// The scale of a matrix with extreme elements, whose squares may overflow; 1 for others, so that
/// logarithms keep their digits near 1.
fn extreme_scale(a: &Matrix<Complex128>) -> Option<f64> {
    let unit = power_of_two_scale(a)?;
    Some(if unit.log2().abs() > 300.0 { unit } else { 1.0 })
}

/// The angle to rotate the eigenvalues of a triangular matrix by, so that the cut lies in the
/// middle of the gap between them and rounding moves none across; 0 if the cut is far from all.
fn cut_rotation(t: &Matrix<Complex128>) -> f64 {
    let noise = 4.0 * f64::EPSILON * t.nrows() as f64 * norm1(t);
    let (mut low, mut high) = (0.0f64, 0.0f64);
    for x in t.diagonal() {
        let angle = if x.re < 0.0 && x.im.abs() <= noise { PI } else { x.arg() };
        (low, high) = (low.min(angle), high.max(angle));
    }
    if low > -MAX_ANGLE_WITHOUT_ROTATION && high < MAX_ANGLE_WITHOUT_ROTATION {
        0.0
    } else {
        (low + high) / 2.0
    }
}

/// The principal square root of an upper triangular matrix.
fn root(t: &Matrix<Complex128>) -> Option<Matrix<Complex128>> {
    let n = t.nrows();
    let mut r = Matrix::zeros(n, n);
    for k in 0..n {
        r[(k, k)] = t[(k, k)].sqrt();
        for i in (0..k).rev() {
            let sum = (i + 1..k).fold(t[(i, k)], |sum, j| sum - r[(i, j)] * r[(j, k)]);
            let both = r[(i, i)] + r[(k, k)];
            if sum != Complex128::default() {
                if both == Complex128::default() {
                    return None;
                }
                r[(i, k)] = sum / both;
            }
        }
    }
    Some(r)
}

/// Nodes and weights of the 7-point Gauss-Legendre rule on [-1, 1], which gives the Padé
/// approximant of degree 7.
const GAUSS: [(f64, f64); 7] = [
    (-0.949_107_912_342_758_5, 0.129_484_966_168_869_7),
    (-0.741_531_185_599_394_4, 0.279_705_391_489_276_64),
    (-0.405_845_151_377_397_2, 0.381_830_050_505_118_9),
    (0.0, 0.417_959_183_673_469_4),
    (0.405_845_151_377_397_2, 0.381_830_050_505_118_9),
    (0.741_531_185_599_394_4, 0.279_705_391_489_276_64),
    (0.949_107_912_342_758_5, 0.129_484_966_168_869_7),
];

/// The principal logarithm of an upper triangular matrix.
fn logarithm(t: Matrix<Complex128>) -> Option<Matrix<Complex128>> {
    let n = t.nrows();
    if t.diagonal().any(|x| x == Complex128::default()) {
        return None;
    }
    let one = Matrix::<Complex128>::identity(n, n);
    let (mut near, mut roots) = (t.clone(), 0);
    while norm1(&(near.clone() - &one)) > 0.25 {
        near = root(&near)?;
        roots += 1;
        if roots > 100 {
            return None;
        }
    }
    let x = near - &one;
    let mut out = Matrix::zeros(n, n);
    for (node, weight) in GAUSS {
        let mut term = x.clone();
        let at = Complex128::new((1.0 + node) / 2.0, 0.0);
        if !triangular_solve::solve(&(one.clone() + &x.map(|x| x * at)), false, &mut term) {
            return None;
        }
        term *= Complex128::new(weight / 2.0, 0.0);
        out += &term;
    }
    out *= Complex128::new(2f64.powi(roots), 0.0);
    for k in 0..n {
        out[(k, k)] = t[(k, k)].ln();
    }
    Some(out)
}
