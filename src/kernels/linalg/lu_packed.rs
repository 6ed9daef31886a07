//! LU factors in LAPACK's packed form, row orders from pivots, and systems solved with them.
//!
//! Invariant: pivots count from 1; a failing item is named by its index, and its output is not
//! read.

use std::borrow::Cow;

use super::batch::{IntRows, Stack, for_each_item};
use super::factor::divide_by;
use super::lu::{Lu, apply_pivots, scale_complex};
use super::matrix::Matrix;
use super::scalar::{Field, Real, with_field};
use super::triangular_solve;
use crate::kernels::launch::launch;
use crate::kernels::view::{View, ViewMut};

/// LU factorisation: both factors packed in one matrix, the pivots (the row swapped with each row,
/// from 1), and the row of `l u` in which each row of the matrix is found.
pub fn lu(a: View, pivoting: bool, packed: ViewMut, pivots: ViewMut, row_positions: ViewMut) {
    launch!(
        "lu", [a] => [packed, pivots, row_positions];;
        with_field!(a, T => lu_of::<T>(a, pivoting, packed, pivots, row_positions))
    );
}

fn lu_of<T: Field>(
    a: View,
    pivoting: bool,
    packed: ViewMut,
    pivots: ViewMut,
    row_positions: ViewMut,
) {
    let (a, packed) = (Stack::matrices(a), Stack::matrices_mut(packed));
    let (pivots, row_positions) = (IntRows::<i32>::new(pivots), IntRows::<i64>::new(row_positions));
    let work = a.rows * a.columns * a.rows.min(a.columns);
    let _ = for_each_item(a.count(), work, |index| {
        let found = Lu::<T>::with_pivoting(a.load(index), pivoting);
        pivots.store(index, found.pivots.iter().enumerate().map(|(k, &p)| (k, p as i32 + 1)));
        row_positions.store(index, (0..).zip(found.row_order()).map(|(i, row)| (row, i)));
        packed.store_matrix(index, &unscaled_factors(found));
        true
    });
}

/// Both factors in one matrix, with the scale undone.
fn unscaled_factors<T: Field>(mut found: Lu<T>) -> Matrix<T> {
    if found.unit != T::Real::ONE {
        for (k, column) in found.packed.column_iter_mut().enumerate() {
            column.iter_mut().take(k + 1).for_each(|x| *x = x.scale(found.unit));
        }
    }
    found.packed
}

/// `a⁻¹ b` as `solve` computes it, and the packed factors and row order of `a` as `lu_solve` takes
/// them. The error is the index of a singular matrix.
pub fn solve_with_factors(
    (a, b): (View, View),
    out: ViewMut,
    packed: ViewMut,
    order: ViewMut,
) -> Result<(), usize> {
    launch!(
        "solve_and_keep", [a, b] => [out, packed, order];;
        with_field!(a, T => solve_with_factors_of::<T>((a, b), out, packed, order))
    )
}

fn solve_with_factors_of<T: Field>(
    (a, b): (View, View),
    out: ViewMut,
    packed: ViewMut,
    order: ViewMut,
) -> Result<(), usize> {
    let (a, b) = (Stack::matrices(a), Stack::matrices(b));
    let (out, packed) = (Stack::matrices_mut(out), Stack::matrices_mut(packed));
    let order = IntRows::<i64>::new(order);
    let work = a.rows.pow(2) * (a.rows + b.columns);
    for_each_item(a.count(), work, |index| {
        let found = Lu::<T>::new(a.load(index));
        let Some(x) = triangular_solve::solve_factored(&found, b.load(index)) else { return false };
        out.store_matrix(index, &x);
        order.store(index, found.row_order().into_iter().map(|row| row as i64).enumerate());
        packed.store_matrix(index, &unscaled_factors(found));
        true
    })
}

/// The row order that pivots produce; the error is the index of pivots out of range.
pub fn pivots_to_order(pivots: View, out: ViewMut) -> Result<(), usize> {
    launch!("lu_order", [pivots] => [out];; pivots_to_order_of(pivots, out))
}

fn pivots_to_order_of(pivots: View, out: ViewMut) -> Result<(), usize> {
    let n = out.as_view().dims().last().copied().unwrap_or(0);
    let (pivots, out) = (pivots.to_vec::<i64>(), IntRows::<i64>::new(out));
    for (index, pivots) in pivots.chunks_exact(n.max(1)).enumerate() {
        if !pivots.iter().all(|&p| 1 <= p && p <= n as i64) {
            return Err(index);
        }
        let pivots: Vec<usize> = pivots.iter().map(|&p| p as usize - 1).collect();
        let mut order: Vec<i64> = (0..n as i64).collect();
        apply_pivots(&mut order, 0, &pivots);
        out.store(index, order.into_iter().enumerate());
    }
    Ok(())
}

/// Solves `p l u x = b`, or `(p l u)ᴴ x = b`, with packed factors and a row order. The error is the
/// index of a matrix with a zero on its diagonal.
pub fn lu_solve(lu: View, order: View, b: View, out: ViewMut, adjoint: bool) -> Result<(), usize> {
    launch!(
        "lu_solve", [lu, order, b] => [out];;
        with_field!(lu, T => lu_solve_of::<T>(lu, order, b, out, adjoint))
    )
}

/// The `u` triangle divided by its scale, if it is complex: `l` may have any magnitude.
fn scaled_triangle<T: Field>(factors: &Matrix<T>, lower: bool) -> (Cow<'_, Matrix<T>>, T::Real) {
    if !T::COMPLEX {
        return (Cow::Borrowed(factors), T::Real::ONE);
    }
    let part = if lower { factors.lower_triangle() } else { factors.upper_triangle() };
    let (part, unit) = scale_complex(part);
    (Cow::Owned(part), unit)
}

fn lu_solve_of<T: Field>(
    lu: View,
    order: View,
    b: View,
    out: ViewMut,
    adjoint: bool,
) -> Result<(), usize> {
    let (lu, order) = (Stack::matrices(lu), order.to_vec::<i64>());
    // Transposed on load.
    let lu = if adjoint { lu.transposed() } else { lu };
    let (b, out) = (Stack::matrices(b), Stack::matrices_mut(out));
    let n = lu.rows;
    for_each_item(out.count(), n * n * b.columns, |index| {
        let order = &order[index * n..(index + 1) * n];
        let (mut factors, rhs) = (lu.load::<T>(index), b.load::<T>(index));
        let mut x = rhs.clone();
        if adjoint {
            if lu.is_complex() {
                factors.as_mut_slice().iter_mut().for_each(|x| *x = x.conjugate());
            }
            let (upper, unit) = scaled_triangle(&factors, true);
            let regular = triangular_solve::solve(&upper, true, &mut x);
            drop(upper);
            factors.fill_diagonal(T::one());
            let regular = regular && triangular_solve::solve(&factors, false, &mut x);
            let solved = divide_by(x.clone(), unit);
            for (x, solved) in x.column_iter_mut().zip(solved.column_iter()) {
                solved.iter().zip(order).for_each(|(value, &row)| x[row as usize] = *value);
            }
            out.store_matrix(index, &x);
            return regular;
        }
        for (k, column) in x.column_iter_mut().enumerate() {
            column.iter_mut().zip(order).for_each(|(x, &row)| *x = rhs[(row as usize, k)]);
        }
        triangular_solve::unit_lower(factors.as_view(), x.as_view_mut());
        let (upper, unit) = scaled_triangle(&factors, false);
        let solved = triangular_solve::solve(&upper, false, &mut x);
        let x = divide_by(x, unit);
        out.store_matrix(index, &x);
        solved
    })
}
