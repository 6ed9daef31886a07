//! Triangular solves with many right-hand sides, recursive over halves of the rows, which makes
//! most of the work matrix products.
//!
//! Invariant: a zero on the diagonal is reported, not divided by.

use super::factor::divide_by;
use super::lu::{Lu, apply_pivots};
use super::matrix::{Matrix, MatrixMut, MatrixRef};
use super::scalar::{Field, subtract};
use crate::kernels::multiversion::multiversion;

/// Most rows of a leaf of the recursion, solved by substitution.
const LEAF_ROWS: usize = 16;
/// Columns solved together in a leaf.
const LEAF_COLUMNS: usize = 8;

/// Which triangle of a matrix is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Triangle {
    Upper,
    Lower,
    /// With an implicit unit diagonal.
    UnitLower,
}

/// `x = a⁻¹ x` for a triangle of `a`; false if a diagonal element is zero.
pub(super) fn solve<T: Field>(a: &Matrix<T>, lower: bool, x: &mut Matrix<T>) -> bool {
    let triangle = if lower { Triangle::Lower } else { Triangle::Upper };
    solve_recursive(a.as_view(), triangle, x.as_view_mut())
}

/// `x = a⁻¹ x` for the lower triangle of `a` with a unit diagonal.
pub(super) fn unit_lower<T: Field>(a: MatrixRef<'_, T>, x: MatrixMut<'_, T>) {
    solve_recursive(a, Triangle::UnitLower, x);
}

fn solve_recursive<T: Field>(
    a: MatrixRef<'_, T>,
    triangle: Triangle,
    mut x: MatrixMut<'_, T>,
) -> bool {
    let (n, columns) = x.shape();
    if n == 0 || columns == 0 {
        return true;
    }
    if n <= LEAF_ROWS {
        return solve_leaf(a, triangle, &mut x);
    }
    let half = n / 2;
    let (first, last) = (a.view(..half, ..half), a.view(half.., half..));
    let (mut top, mut bottom) = x.split_rows(0..half, half..);
    if triangle != Triangle::Upper {
        if !solve_recursive(first, triangle, top.as_view_mut()) {
            return false;
        }
        subtract(&mut bottom, a.view(half.., ..half), top.as_view());
        return solve_recursive(last, triangle, bottom.as_view_mut());
    }
    if !solve_recursive(last, triangle, bottom.as_view_mut()) {
        return false;
    }
    subtract(&mut top, a.view(..half, half..), bottom.as_view());
    solve_recursive(first, triangle, top.as_view_mut())
}

/// A leaf triangle: its columns without the diagonal and padded with zeros, and the diagonal.
struct LeafTriangle<T> {
    columns: [[T; LEAF_ROWS]; LEAF_ROWS],
    diagonal: [T; LEAF_ROWS],
    rows: usize,
    upper: bool,
}

fn solve_leaf<T: Field>(a: MatrixRef<'_, T>, triangle: Triangle, x: &mut MatrixMut<'_, T>) -> bool {
    let (rows, upper) = (a.nrows(), triangle == Triangle::Upper);
    let zero = T::zero();
    let mut small = LeafTriangle {
        columns: [[zero; LEAF_ROWS]; LEAF_ROWS],
        diagonal: [T::one(); LEAF_ROWS],
        rows,
        upper,
    };
    for j in 0..rows {
        let part = if upper { 0..j } else { j + 1..rows };
        for i in part {
            small.columns[j][i] = a.at(i, j);
        }
        if triangle != Triangle::UnitLower {
            small.diagonal[j] = a.at(j, j);
        }
    }
    if small.diagonal.contains(&zero) {
        return false;
    }
    let (count, stride) = (x.ncols(), x.stride());
    let ptr = x.as_mut_ptr();
    // SAFETY: the view has `count` columns with the rows of the triangle at this stride, and is
    // borrowed mutably.
    unsafe { solve_leaf_loop(&small, ptr, count, stride) }
    true
}

/// Solves columns, eight real ones at a time; missing columns repeat the last one.
#[inline(always)]
unsafe fn solve_leaf_body<T: Field>(
    small: &LeafTriangle<T>,
    x: *mut T,
    count: usize,
    stride: usize,
) {
    let (rows, side) = (small.rows, if T::COMPLEX { 1 } else { LEAF_COLUMNS });
    for first in (0..count).step_by(side) {
        let mut left = [[T::zero(); LEAF_ROWS]; LEAF_COLUMNS];
        for c in 0..side {
            for i in 0..rows {
                // SAFETY: the caller guarantees the columns below `count`.
                left[c][i] = unsafe { *x.add((first + c).min(count - 1) * stride + i) };
            }
        }
        // In a separate array: an infinite value turns the entries of `left` above or below it into
        // NaN.
        let mut found = [[T::zero(); LEAF_ROWS]; LEAF_COLUMNS];
        for step in 0..rows {
            let j = if small.upper { rows - 1 - step } else { step };
            for c in 0..side {
                let value = left[c][j] / small.diagonal[j];
                found[c][j] = value;
                for i in 0..LEAF_ROWS {
                    left[c][i] -= small.columns[j][i] * value;
                }
            }
        }
        for c in 0..side.min(count - first) {
            for i in 0..rows {
                // SAFETY: as above.
                unsafe { *x.add((first + c) * stride + i) = found[c][i] }
            }
        }
    }
}

multiversion! {
    unsafe fn solve_leaf_loop<T: Field>(small: &LeafTriangle<T>, x: *mut T, count: usize, stride: usize) = solve_leaf_body,
        if T::COMPLEX { Levels::Baseline } else { Levels::All }
}

/// `a⁻¹ b`; `None` if `a` is singular.
pub(super) fn solve_general<T: Field>(a: Matrix<T>, b: Matrix<T>) -> Option<Matrix<T>> {
    solve_factored(&Lu::new(a), b)
}

/// `a⁻¹ x` by the LU factors of a square matrix; `None` if it is singular.
pub(super) fn solve_factored<T: Field>(lu: &Lu<T>, mut x: Matrix<T>) -> Option<Matrix<T>> {
    let columns = x.as_mut_slice().chunks_exact_mut(lu.pivots.len().max(1));
    columns.for_each(|column| apply_pivots(column, 0, &lu.pivots));
    unit_lower(lu.packed.as_view(), x.as_view_mut());
    solve(&lu.packed, false, &mut x).then(|| divide_by(x, lu.unit))
}

/// Columns of the inverse computed together: the rows above them are zero in `l⁻¹`.
const INVERSE_COLUMNS: usize = 32;

/// The inverse by the LU factors of a square matrix; `None` if it is singular.
pub(super) fn inverse<T: Field>(lu: &Lu<T>) -> Option<Matrix<T>> {
    let n = lu.pivots.len();
    let mut x = Matrix::identity(n, n);
    for first in (0..n).step_by(INVERSE_COLUMNS) {
        let part = x.view_mut(first.., first..n.min(first + INVERSE_COLUMNS));
        unit_lower(lu.packed.view(first.., first..), part);
    }
    if !solve(&lu.packed, false, &mut x) {
        return None;
    }
    for (k, &pivot) in lu.pivots.iter().enumerate().rev() {
        x.swap_columns(k, pivot);
    }
    Some(divide_by(x, lu.unit))
}
