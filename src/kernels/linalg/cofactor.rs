//! Matrices of cofactors: the derivative of determinants.
//!
//! Owns: the choice between the inverse, for regular matrices, and the singular values.
//! Never divides by a determinant. Invariant: the cofactors of every finite matrix are finite where they fit.

use nalgebra::DMatrix;

use super::super::launch::launch;
use super::super::view::{View, ViewMut};
use super::batch::{Stack, each_of};
use super::batched_small;
use super::factor::decompose;
use super::golub_kahan::Singular;
use super::lu::Lu;
use super::scalar::{Field, with_field};
use super::triangular_solve;

/// The condition beyond which the inverse is not trusted: what it is off by and what the determinant is off by cancel for the most
/// part, and are `1e-8` each.
const WORST: f64 = 1e8;
/// Beyond this power of two every product is zero or infinite.
const FAR: i32 = 5000;

/// The matrix of cofactors, `det(a) a⁻ᵀ` continued to singular matrices; the error is the index of a matrix with NaN or
/// infinity, or whose iteration did not converge.
pub fn cofactor(a: View, out: ViewMut) -> Result<(), usize> {
    launch!("cofactor", [a] => [out];; with_field!(a.dtype, T => cofactor_of::<T>(a, out)))
}

fn cofactor_of<T: Field>(a: View, out: ViewMut) -> Result<(), usize> {
    let (a, out) = (Stack::matrices(a), Stack::matrices_mut(out));
    if a.rows == 0 {
        return Ok(());
    }
    let four = |at| batched_small::cofactor(&a, &out, WORST, at);
    each_of::<T>(&[&a], 8 * a.rows.pow(3), four, |index| {
        let matrix = a.load::<T>(index);
        let found = by_inverse(&matrix).or_else(|| by_values(matrix));
        let Some(found) = found else { return false };
        out.put(index, &found);
        true
    })
}

/// The largest sum of magnitudes in a column.
fn norm1<T: Field>(a: &DMatrix<T>) -> f64 {
    a.column_iter().map(|c| c.iter().map(|x| x.modulus()).sum()).fold(0.0, f64::max)
}

/// `det(a) a⁻ᵀ` of a matrix far from singular, by one factorisation.
fn by_inverse<T: Field>(a: &DMatrix<T>) -> Option<DMatrix<T>> {
    let lu = Lu::new(a.clone());
    let x = triangular_solve::inverse(&lu)?;
    let (det, mut power) = lu.parted_determinant();
    let fits = det != T::zero() && det.is_finite() && norm1(a) * norm1(&x) < WORST;
    if !fits {
        return None;
    }
    let mut out = x.transpose() * det;
    // By steps, since the power itself may be infinite where the cofactors are not, and zeros stay zero.
    power = power.clamp(-FAR, FAR);
    while power != 0 {
        let step = power.clamp(-1000, 1000);
        out *= T::from_real(f64::from(step).exp2());
        power -= step;
    }
    Some(out)
}

/// The same from the singular values, of any finite matrix.
fn by_values<T: Field>(a: DMatrix<T>) -> Option<DMatrix<T>> {
    let n = a.nrows();
    let Singular { u, s, vt } = decompose::<T>(a)?;
    let side = |basis: &DMatrix<T>| Lu::new(basis.clone()).determinant().signum();
    let sign = side(&u) * side(&vt);
    let others = |i: usize| (0..n).filter(|&k| k != i).map(|k| s[k]).product::<f64>();
    let weights: Vec<T> = (0..n).map(|i| sign * T::from_real(others(i))).collect();
    let term = |i, k, p| u[(i, p)].conjugate() * weights[p] * vt[(p, k)].conjugate();
    Some(DMatrix::from_fn(n, n, |i, k| (0..n).fold(T::zero(), |sum, p| sum + term(i, k, p))))
}
