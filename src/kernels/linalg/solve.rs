//! Determinants, inverses and solutions, from the LU factorisation and from triangles.
//!
//! Owns: which factor is read for which answer. Never decides what a failure means to a user.
//! Invariant: an item that fails is named by its index, and its output is not read.

use nalgebra::DMatrix;

use super::super::launch::launch;
use super::super::view::{View, ViewMut};
use super::batch::{Stack, each_of};
use super::batched_small;
use super::factor::over;
use super::lu::{Lu, divisible};
use super::scalar::{Field, with_field};
use super::triangular_solve;
use super::triangular_solve::solve_general;

/// Sign and logarithm of the magnitude of a determinant.
fn log_det<T: Field>(a: DMatrix<T>) -> (T, f64) {
    let lu = Lu::new(a);
    let (mut sign, mut log) = (lu.sign(), 0.0);
    for &pivot in lu.packed.diagonal().iter() {
        if pivot == T::zero() {
            return (T::zero(), f64::NEG_INFINITY);
        }
        sign *= pivot.signum();
        log += (pivot.modulus() * lu.unit).ln();
    }
    (sign, log)
}

/// Determinants of square matrices; 1 for one without elements.
pub fn det(a: View, out: ViewMut) {
    launch!("det", [a] => [out];; with_field!(a.dtype, T => det_of::<T>(a, out)));
}

fn det_of<T: Field>(a: View, out: ViewMut) {
    let (a, out) = (Stack::matrices(a), Stack::numbers_mut(out));
    let four = |at| batched_small::det(&a, &out, at);
    let _ = each_of::<T>(&[&a], a.rows.pow(3), four, |index| {
        let product = Lu::<T>::new(a.load(index)).determinant();
        out.store(index, |_, _| product);
        true
    });
}

/// Signs and logarithms of the magnitudes of determinants; 0 and -inf for a singular matrix.
pub fn slogdet(a: View, sign: ViewMut, log: ViewMut) {
    launch!(
        "slogdet", [a] => [sign, log];;
        with_field!(a.dtype, T => slogdet_of::<T>(a, sign, log))
    );
}

fn slogdet_of<T: Field>(a: View, sign: ViewMut, log: ViewMut) {
    let a = Stack::matrices(a);
    let (sign, log) = (Stack::numbers_mut(sign), Stack::numbers_mut(log));
    let four = |at| batched_small::slogdet(&a, &sign, &log, at);
    let _ = each_of::<T>(&[&a], a.rows.pow(3), four, |index| {
        let (s, l) = log_det::<T>(a.load(index));
        sign.store(index, |_, _| s);
        log.store(index, |_, _| l);
        true
    });
}

/// Writes a solution, if there is one.
fn keep<T: Field>(out: &Stack<'_>, index: usize, solution: Option<DMatrix<T>>) -> bool {
    let Some(x) = solution else { return false };
    out.put(index, &x);
    true
}

/// `a⁻¹`; the error is the index of a singular matrix.
pub fn inverse(a: View, out: ViewMut) -> Result<(), usize> {
    launch!("inverse", [a] => [out];; with_field!(a.dtype, T => inverse_of::<T>(a, out)))
}

fn inverse_of<T: Field>(a: View, out: ViewMut) -> Result<(), usize> {
    let (a, out) = (Stack::matrices(a), Stack::matrices_mut(out));
    let four = |at| batched_small::inverse(&a, &out, at);
    each_of::<T>(&[&a], 2 * a.rows.pow(3), four, |index| {
        let lu = Lu::<T>::new(a.load(index));
        let Some(x) = triangular_solve::inverse(&lu) else { return false };
        out.put(index, &x);
        true
    })
}

/// `a⁻¹ b` for matrices `b`; the error is the index of a singular matrix.
pub fn solve(a: View, b: View, out: ViewMut) -> Result<(), usize> {
    launch!("solve", [a, b] => [out];; with_field!(a.dtype, T => solve_of::<T>(a, b, out)))
}

fn solve_of<T: Field>(a: View, b: View, out: ViewMut) -> Result<(), usize> {
    let (a, b) = (Stack::matrices(a), Stack::matrices(b));
    let out = Stack::matrices_mut(out);
    let work = a.rows.pow(2) * (a.rows + b.columns);
    let four = |at| batched_small::solve(&a, &b, &out, at);
    each_of::<T>(&[&a, &b], work, four, |index| {
        keep(&out, index, solve_general::<T>(a.load(index), b.load(index)))
    })
}

/// `a⁻¹ b` for triangular `a`, of which one triangle is read, or `a⁻ᵀ b`; the error is the index of a
/// matrix with a zero on its diagonal.
pub fn solve_triangular(
    a: View,
    b: View,
    out: ViewMut,
    triangle: (bool, bool, bool),
) -> Result<(), usize> {
    launch!(
        "solve_triangular", [a, b] => [out];;
        with_field!(a.dtype, T => solve_triangular_of::<T>(a, b, out, triangle))
    )
}

fn solve_triangular_of<T: Field>(
    a: View,
    b: View,
    out: ViewMut,
    reading: (bool, bool, bool),
) -> Result<(), usize> {
    let (a, b) = (Stack::matrices(a), Stack::matrices(b));
    let out = Stack::matrices_mut(out);
    let (lower, transposed, unit) = reading;
    let four = |at| batched_small::solve_triangular(&a, &b, &out, reading, at);
    each_of::<T>(&[&a, &b], a.rows.pow(2) * b.columns, four, |index| {
        let (mut a, mut x) = (a.load::<T>(index), b.load(index));
        if transposed {
            a.transpose_mut();
        }
        if unit {
            a.fill_diagonal(T::one());
        }
        let (a, unit) = divisible(a);
        let solved = triangular_solve::solve(&a, lower != transposed, &mut x);
        keep(&out, index, solved.then(|| over(x, unit)))
    })
}
