//! LU factors that leave as they are, and systems solved with them.
//!
//! Owns: `lu` in LAPACK's form, the order of rows that pivots make, and solutions from both. Never eliminates.
//! Invariant: pivots count from 1; an item that fails is named by its index, and its output is not read.

use std::borrow::Cow;

use nalgebra::DMatrix;

use super::batch::{Lists, Stack, each};
use super::factor::over;
use super::lu::{Lu, divisible, exchange};
use super::scalar::{Field, with_field};
use super::triangular_solve;
use crate::kernels::launch::launch;
use crate::kernels::view::{View, ViewMut};

/// Both triangles of matrices in one, the row (from 1) that each step exchanges its own with, and the row of `l u` in
/// which each row of the matrix is found.
pub fn lu(a: View, choose: bool, packed: ViewMut, pivots: ViewMut, places: ViewMut) {
    launch!(
        "lu", [a] => [packed, pivots, places];;
        with_field!(a.dtype, T => lu_of::<T>(a, choose, packed, pivots, places))
    );
}

fn lu_of<T: Field>(a: View, choose: bool, packed: ViewMut, pivots: ViewMut, places: ViewMut) {
    let (a, packed) = (Stack::matrices(a), Stack::matrices_mut(packed));
    let (pivots, places) = (Lists::<i32>::new(pivots), Lists::<i64>::new(places));
    let work = a.rows * a.columns * a.rows.min(a.columns);
    let _ = each(a.count(), work, |index| {
        let found = Lu::<T>::choosing(a.load(index), choose);
        pivots.store(index, found.pivots.iter().enumerate().map(|(k, &p)| (k, p as i32 + 1)));
        places.store(index, (0..).zip(found.order()).map(|(i, row)| (row, i)));
        packed.put(index, &whole(found));
        true
    });
}

/// Both triangles in one matrix, in the numbers of what was factorised.
fn whole<T: Field>(mut found: Lu<T>) -> DMatrix<T> {
    if found.unit != 1.0 {
        for (k, mut column) in found.packed.column_iter_mut().enumerate() {
            column.iter_mut().take(k + 1).for_each(|x| *x = x.scale(found.unit));
        }
    }
    found.packed
}

/// `a⁻¹ b` as `solve` gives it, and the factors of `a` with the order of their rows, as `lu_solve` takes both; the error is the
/// index of a singular matrix.
pub fn solve_and_keep(
    (a, b): (View, View),
    out: ViewMut,
    packed: ViewMut,
    order: ViewMut,
) -> Result<(), usize> {
    launch!(
        "solve_and_keep", [a, b] => [out, packed, order];;
        with_field!(a.dtype, T => solve_and_keep_of::<T>((a, b), out, packed, order))
    )
}

fn solve_and_keep_of<T: Field>(
    (a, b): (View, View),
    out: ViewMut,
    packed: ViewMut,
    order: ViewMut,
) -> Result<(), usize> {
    let (a, b) = (Stack::matrices(a), Stack::matrices(b));
    let (out, packed) = (Stack::matrices_mut(out), Stack::matrices_mut(packed));
    let order = Lists::<i64>::new(order);
    let work = a.rows.pow(2) * (a.rows + b.columns);
    each(a.count(), work, |index| {
        let found = Lu::<T>::new(a.load(index));
        let Some(x) = triangular_solve::solve_factored(&found, b.load(index)) else { return false };
        out.put(index, &x);
        order.store(index, found.order().into_iter().map(|row| row as i64).enumerate());
        packed.put(index, &whole(found));
        true
    })
}

/// The order of rows that exchanges make, one after another; the error is the index of pivots that are no rows.
pub fn order(pivots: View, out: ViewMut) -> Result<(), usize> {
    launch!("lu_order", [pivots] => [out];; order_of(pivots, out))
}

fn order_of(pivots: View, out: ViewMut) -> Result<(), usize> {
    let n = out.as_view().dims().last().copied().unwrap_or(0);
    let (pivots, out) = (pivots.to_vec::<i64>(), Lists::<i64>::new(out));
    for (index, pivots) in pivots.chunks_exact(n.max(1)).enumerate() {
        if !pivots.iter().all(|&p| 1 <= p && p <= n as i64) {
            return Err(index);
        }
        let pivots: Vec<usize> = pivots.iter().map(|&p| p as usize - 1).collect();
        let mut order: Vec<i64> = (0..n as i64).collect();
        exchange(&mut order, 0, &pivots);
        out.store(index, order.into_iter().enumerate());
    }
    Ok(())
}

/// Solutions of `p l u x = b`, or of `(p l u)ᴴ x = b`, by the factors in one matrix and their order; the error is the
/// index of a matrix with a zero on its diagonal.
pub fn lu_solve(lu: View, order: View, b: View, out: ViewMut, adjoint: bool) -> Result<(), usize> {
    launch!(
        "lu_solve", [lu, order, b] => [out];;
        with_field!(lu.dtype, T => lu_solve_of::<T>(lu, order, b, out, adjoint))
    )
}

/// The triangle of `u` over its own scale, if it is complex; the other one may be of any size beside it.
fn scaled<T: Field>(factors: &DMatrix<T>, lower: bool) -> (Cow<'_, DMatrix<T>>, f64) {
    if size_of::<T>() == size_of::<f64>() {
        return (Cow::Borrowed(factors), 1.0);
    }
    let part = if lower { factors.lower_triangle() } else { factors.upper_triangle() };
    let (part, unit) = divisible(part);
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
    // Rows become columns as they are read.
    let lu = if adjoint { lu.transposed() } else { lu };
    let (b, out) = (Stack::matrices(b), Stack::matrices_mut(out));
    let n = lu.rows;
    each(out.count(), n * n * b.columns, |index| {
        let order = &order[index * n..(index + 1) * n];
        let (mut factors, given) = (lu.load::<T>(index), b.load::<T>(index));
        let mut x = given.clone();
        if adjoint {
            if lu.is_complex() {
                factors.conjugate_mut();
            }
            let (upper, unit) = scaled(&factors, true);
            let regular = triangular_solve::solve(&upper, true, &mut x);
            drop(upper);
            factors.fill_diagonal(T::one());
            let regular = regular && triangular_solve::solve(&factors, false, &mut x);
            let solved = over(x.clone(), unit);
            for (i, &row) in order.iter().enumerate() {
                x.set_row(row as usize, &solved.row(i));
            }
            out.put(index, &x);
            return regular;
        }
        for (k, mut column) in x.column_iter_mut().enumerate() {
            column.iter_mut().zip(order).for_each(|(x, &row)| *x = given[(row as usize, k)]);
        }
        triangular_solve::unit_lower(factors.as_view(), x.as_view_mut());
        let (upper, unit) = scaled(&factors, false);
        let solved = triangular_solve::solve(&upper, false, &mut x);
        let x = over(x, unit);
        out.put(index, &x);
        solved
    })
}
