//! Triangular systems with many right-hand sides, by halves.
//!
//! Owns: the recursion that turns most of the work into matrix products, and the substitution in its leaves. Never factorises.
//! Invariant: a zero on the diagonal is reported, not divided by.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};

use super::factor::over;
use super::lu::{Lu, exchange};
use super::scalar::{Field, subtract};
use crate::kernels::multiversion::leveled;

/// Rows up to which is substituted.
const LEAF: usize = 16;
/// Columns that are substituted side by side.
const SIDE: usize = 8;

/// A triangle of a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Triangle {
    Upper,
    Lower,
    /// With ones on the diagonal, whatever is stored there.
    UnitLower,
}

/// `x = a⁻¹ x` for a triangle of `a`; false when a diagonal element is zero.
pub(super) fn solve<T: Field>(a: &DMatrix<T>, lower: bool, x: &mut DMatrix<T>) -> bool {
    let triangle = if lower { Triangle::Lower } else { Triangle::Upper };
    halves(a.as_view(), triangle, x.as_view_mut())
}

/// `x = a⁻¹ x` for the lower triangle of `a` with ones on its diagonal.
pub(super) fn unit_lower<T: Field>(a: DMatrixView<'_, T>, x: DMatrixViewMut<'_, T>) {
    halves(a, Triangle::UnitLower, x);
}

fn halves<T: Field>(
    a: DMatrixView<'_, T>,
    triangle: Triangle,
    mut x: DMatrixViewMut<'_, T>,
) -> bool {
    let (n, columns) = x.shape();
    if n == 0 || columns == 0 {
        return true;
    }
    if n <= LEAF {
        return leaf(a, triangle, &mut x);
    }
    let half = n / 2;
    let rest = n - half;
    let (first, last) = (a.view((0, 0), (half, half)), a.view((half, half), (rest, rest)));
    let (mut top, mut bottom) = x.rows_range_pair_mut(..half, half..);
    if triangle != Triangle::Upper {
        if !halves(first, triangle, top.as_view_mut()) {
            return false;
        }
        subtract(&mut bottom, a.view((half, 0), (rest, half)), top.as_view());
        return halves(last, triangle, bottom.as_view_mut());
    }
    if !halves(last, triangle, bottom.as_view_mut()) {
        return false;
    }
    subtract(&mut top, a.view((0, half), (half, rest)), bottom.as_view());
    halves(first, triangle, top.as_view_mut())
}

/// A triangle of few rows: its columns without the diagonal, zero elsewhere; and the diagonal.
struct Few<T> {
    columns: [[T; LEAF]; LEAF],
    diagonal: [T; LEAF],
    rows: usize,
    upper: bool,
}

fn leaf<T: Field>(
    a: DMatrixView<'_, T>,
    triangle: Triangle,
    x: &mut DMatrixViewMut<'_, T>,
) -> bool {
    let (rows, upper) = (a.nrows(), triangle == Triangle::Upper);
    let zero = T::zero();
    let mut few = Few { columns: [[zero; LEAF]; LEAF], diagonal: [T::one(); LEAF], rows, upper };
    for j in 0..rows {
        let part = if upper { 0..j } else { j + 1..rows };
        for i in part {
            few.columns[j][i] = a[(i, j)];
        }
        if triangle != Triangle::UnitLower {
            few.diagonal[j] = a[(j, j)];
        }
    }
    if few.diagonal.contains(&zero) {
        return false;
    }
    let (count, stride) = (x.ncols(), x.strides().1);
    let ptr = x.as_mut_ptr();
    // SAFETY: the view holds as many columns, of as many rows as the triangle, at this stride, and is borrowed mutably.
    unsafe { leaf_loop(&few, ptr, count, stride) }
    true
}

/// Substitutes in columns, eight real ones at a time; beyond the last one, in that one again.
#[inline(always)]
unsafe fn leaf_body<T: Field>(few: &Few<T>, x: *mut T, count: usize, stride: usize) {
    let (rows, side) = (few.rows, if size_of::<T>() == size_of::<f64>() { SIDE } else { 1 });
    for first in (0..count).step_by(side) {
        let mut left = [[T::zero(); LEAF]; SIDE];
        for c in 0..side {
            for i in 0..rows {
                // SAFETY: the caller vouches for the columns below `count`.
                left[c][i] = unsafe { *x.add((first + c).min(count - 1) * stride + i) };
            }
        }
        // Apart, since what is infinite makes what is above it, or below, NaN.
        let mut found = [[T::zero(); LEAF]; SIDE];
        for step in 0..rows {
            let j = if few.upper { rows - 1 - step } else { step };
            for c in 0..side {
                let value = left[c][j] / few.diagonal[j];
                found[c][j] = value;
                for i in 0..LEAF {
                    left[c][i] -= few.columns[j][i] * value;
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

leveled! {
    unsafe fn leaf_loop<T: Field>(few: &Few<T>, x: *mut T, count: usize, stride: usize) = leaf_body,
        if size_of::<T>() == size_of::<f64>() { Levels::All } else { Levels::Baseline }
}

/// `a⁻¹ b`; `None` when `a` is singular.
pub(super) fn solve_general<T: Field>(a: DMatrix<T>, b: DMatrix<T>) -> Option<DMatrix<T>> {
    solve_factored(&Lu::new(a), b)
}

/// The same by factors of a square matrix.
pub(super) fn solve_factored<T: Field>(lu: &Lu<T>, mut x: DMatrix<T>) -> Option<DMatrix<T>> {
    let columns = x.as_mut_slice().chunks_exact_mut(lu.pivots.len().max(1));
    columns.for_each(|column| exchange(column, 0, &lu.pivots));
    unit_lower(lu.packed.as_view(), x.as_view_mut());
    solve(&lu.packed, false, &mut x).then(|| over(x, lu.unit))
}

/// Columns of the inverse of the lower triangle that are computed together: what is above them is zero.
const TOGETHER: usize = 32;

/// The inverse by factors of a square matrix; `None` when it is singular.
pub(super) fn inverse<T: Field>(lu: &Lu<T>) -> Option<DMatrix<T>> {
    let n = lu.pivots.len();
    let mut x = DMatrix::identity(n, n);
    for first in (0..n).step_by(TOGETHER) {
        let part = x.view_range_mut(first.., first..n.min(first + TOGETHER));
        unit_lower(lu.packed.view_range(first.., first..), part);
    }
    if !solve(&lu.packed, false, &mut x) {
        return None;
    }
    for (k, &pivot) in lu.pivots.iter().enumerate().rev() {
        x.swap_columns(k, pivot);
    }
    Some(over(x, lu.unit))
}
