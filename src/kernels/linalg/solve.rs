//! Determinants, inverses and solutions of linear systems, from LU factors and triangles.
//!
//! Invariant: a failing item is named by its index, and its output is not read.

use super::super::launch::launch;
use super::super::view::{View, ViewMut};
use super::batch::{Stack, for_each_grouped};
use super::batched_small;
use super::factor::divide_by;
use super::lu::{Lu, scale_complex};
use super::matrix::Matrix;
use super::scalar::{Field, Real, with_field};
use super::triangular_solve;
use super::triangular_solve::solve_general;

/// Sign and logarithm of the absolute value of a determinant.
fn log_det<T: Field>(a: Matrix<T>) -> (T, f64) {
    let lu = Lu::new(a);
    let (mut sign, mut log) = (lu.sign(), 0.0);
    for pivot in lu.packed.diagonal() {
        if pivot == T::zero() {
            return (T::zero(), f64::NEG_INFINITY);
        }
        sign *= pivot.signum();
        log += (pivot.modulus().to_f64() * lu.unit.to_f64()).ln();
    }
    (sign, log)
}

/// Determinants of square matrices; 1 for an empty matrix.
pub fn det(a: View, out: ViewMut) {
    launch!("det", [a] => [out];; with_field!(a, T => det_of::<T>(a, out)));
}

fn det_of<T: Field>(a: View, out: ViewMut) {
    let (a, out) = (Stack::matrices(a), Stack::scalars_mut(out));
    let small = |at| batched_small::det(&a, &out, at);
    let _ = for_each_grouped::<T>(&[&a], a.rows.pow(3), small, |index| {
        let product = Lu::<T>::new(a.load(index)).determinant();
        out.store(index, |_, _| product);
        true
    });
}

/// Signs and logarithms of the absolute values of determinants; 0 and -inf for a singular matrix.
pub fn slogdet(a: View, sign: ViewMut, log: ViewMut) {
    launch!(
        "slogdet", [a] => [sign, log];;
        with_field!(a, T => slogdet_of::<T>(a, sign, log))
    );
}

fn slogdet_of<T: Field>(a: View, sign: ViewMut, log: ViewMut) {
    let a = Stack::matrices(a);
    let (sign, log) = (Stack::scalars_mut(sign), Stack::scalars_mut(log));
    let small = |at| batched_small::slogdet(&a, &sign, &log, at);
    let _ = for_each_grouped::<T>(&[&a], a.rows.pow(3), small, |index| {
        let (s, l) = log_det::<T>(a.load(index));
        sign.store(index, |_, _| s);
        log.store(index, |_, _| l);
        true
    });
}

/// Stores a solution if there is one; returns whether there is.
fn store_solution<T: Field>(out: &Stack<'_>, index: usize, solution: Option<Matrix<T>>) -> bool {
    let Some(x) = solution else { return false };
    out.store_matrix(index, &x);
    true
}

/// `a⁻¹`; the error is the index of a singular matrix.
pub fn inverse(a: View, out: ViewMut) -> Result<(), usize> {
    launch!("inverse", [a] => [out];; with_field!(a, T => inverse_of::<T>(a, out)))
}

fn inverse_of<T: Field>(a: View, out: ViewMut) -> Result<(), usize> {
    let (a, out) = (Stack::matrices(a), Stack::matrices_mut(out));
    let small = |at| batched_small::inverse(&a, &out, at);
    for_each_grouped::<T>(&[&a], 2 * a.rows.pow(3), small, |index| {
        let lu = Lu::<T>::new(a.load(index));
        let Some(x) = triangular_solve::inverse(&lu) else { return false };
        out.store_matrix(index, &x);
        true
    })
}

/// `a⁻¹ b` for matrices `b`; the error is the index of a singular matrix.
pub fn solve(a: View, b: View, out: ViewMut) -> Result<(), usize> {
    launch!("solve", [a, b] => [out];; with_field!(a, T => solve_of::<T>(a, b, out)))
}

fn solve_of<T: Field>(a: View, b: View, out: ViewMut) -> Result<(), usize> {
    let (a, b) = (Stack::matrices(a), Stack::matrices(b));
    let out = Stack::matrices_mut(out);
    let work = a.rows.pow(2) * (a.rows + b.columns);
    let small = |at| batched_small::solve(&a, &b, &out, at);
    for_each_grouped::<T>(&[&a, &b], work, small, |index| {
        store_solution(&out, index, solve_general::<T>(a.load(index), b.load(index)))
    })
}

/// `a⁻¹ b`, or `a⁻ᵀ b`, for triangular `a`, of which one triangle is read. `triangle` is (lower,
/// transposed, unit diagonal). The error is the index of a matrix with a zero on its diagonal.
pub fn solve_triangular(
    a: View,
    b: View,
    out: ViewMut,
    triangle: (bool, bool, bool),
) -> Result<(), usize> {
    launch!(
        "solve_triangular", [a, b] => [out];;
        with_field!(a, T => solve_triangular_of::<T>(a, b, out, triangle))
    )
}

fn solve_triangular_of<T: Field>(
    a: View,
    b: View,
    out: ViewMut,
    triangle: (bool, bool, bool),
) -> Result<(), usize> {
    let (a, b) = (Stack::matrices(a), Stack::matrices(b));
    let out = Stack::matrices_mut(out);
    let (lower, transposed, unit) = triangle;
    let small = |at| batched_small::solve_triangular(&a, &b, &out, triangle, at);
    for_each_grouped::<T>(&[&a, &b], a.rows.pow(2) * b.columns, small, |index| {
        let (mut a, mut x) = (a.load::<T>(index), b.load(index));
        if transposed {
            a = a.transpose();
        }
        if unit {
            a.fill_diagonal(T::one());
        }
        let (a, unit) = scale_complex(a);
        let solved = triangular_solve::solve(&a, lower != transposed, &mut x);
        store_solution(&out, index, solved.then(|| divide_by(x, unit)))
    })
}
