//! Cofactor matrices, the derivative of determinants.
//!
//! By the inverse for well-conditioned matrices, by the SVD for others. Invariant: cofactors of a
//! finite matrix are finite wherever they are representable.

use super::super::launch::launch;
use super::super::view::{View, ViewMut};
use super::batch::{Stack, for_each_grouped};
use super::batched_small;
use super::factor::decompose;
use super::lu::Lu;
use super::matrix::Matrix;
use super::scalar::{Double, with_double};
use super::svd::Svd;
use super::triangular_solve;

/// Condition number above which the inverse is not used. At this bound the relative error is
/// `1e-8`; most of it cancels between the inverse and the determinant.
const MAX_CONDITION: f64 = 1e8;
/// Exponents beyond this overflow or underflow every product.
const MAX_EXPONENT: i32 = 5000;

/// The cofactor matrix, `det(a) a⁻ᵀ` continued to singular matrices. The error is the index of a
/// matrix with NaN or infinity, or without convergence.
pub fn cofactor(a: View, out: ViewMut) -> Result<(), usize> {
    launch!("cofactor", [a] => [out];; with_double!(a.dtype, T => cofactor_of::<T>(a, out)))
}

fn cofactor_of<T: Double>(a: View, out: ViewMut) -> Result<(), usize> {
    let (a, out) = (Stack::matrices(a), Stack::matrices_mut(out));
    if a.rows == 0 {
        return Ok(());
    }
    let small = |at| batched_small::cofactor(&a, &out, MAX_CONDITION, at);
    for_each_grouped::<T>(&[&a], 8 * a.rows.pow(3), small, |index| {
        let matrix = a.load::<T>(index);
        let found = by_inverse(&matrix).or_else(|| by_svd(matrix));
        let Some(found) = found else { return false };
        out.store_matrix(index, &found);
        true
    })
}

/// The 1-norm.
fn norm1<T: Double>(a: &Matrix<T>) -> f64 {
    a.column_iter().map(|c| c.iter().map(|x| x.modulus()).sum()).fold(0.0, f64::max)
}

/// `det(a) a⁻ᵀ` of a well-conditioned matrix, by one LU factorisation.
fn by_inverse<T: Double>(a: &Matrix<T>) -> Option<Matrix<T>> {
    let lu = Lu::new(a.clone());
    let x = triangular_solve::inverse(&lu)?;
    let (det, mut power) = lu.scaled_determinant();
    let fits = det != T::zero() && det.is_finite() && norm1(a) * norm1(&x) < MAX_CONDITION;
    if !fits {
        return None;
    }
    let mut out = x.transpose();
    out *= det;
    // In steps: the power itself may overflow where the cofactors do not, and zeros must stay zero.
    power = power.clamp(-MAX_EXPONENT, MAX_EXPONENT);
    while power != 0 {
        let step = power.clamp(-1000, 1000);
        out.scale(f64::from(step).exp2());
        power -= step;
    }
    Some(out)
}

/// The cofactors by the SVD, for any finite matrix.
fn by_svd<T: Double>(a: Matrix<T>) -> Option<Matrix<T>> {
    let n = a.nrows();
    let Svd { u, s, vt } = decompose::<T>(a)?;
    let determinant_sign = |basis: &Matrix<T>| Lu::new(basis.clone()).determinant().signum();
    let sign = determinant_sign(&u) * determinant_sign(&vt);
    let others = |i: usize| (0..n).filter(|&k| k != i).map(|k| s[k]).product::<f64>();
    let weights: Vec<T> = (0..n).map(|i| sign * T::from_real(others(i))).collect();
    let term = |i, k, p| u[(i, p)].conjugate() * weights[p] * vt[(p, k)].conjugate();
    Some(Matrix::from_fn(n, n, |i, k| (0..n).fold(T::zero(), |sum, p| sum + term(i, k, p))))
}
