//! Triangular systems with many right-hand sides, by halves.
//!
//! Owns: the recursion that turns most of the work into matrix products. Never factorises.
//! Invariant: a zero on the diagonal is reported, not divided by.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};

use super::factor::over;
use super::field::{Field, subtract};
use super::lu::{Lu, exchange};

/// Rows up to which the library's own substitution runs.
const LEAF: usize = 16;

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
        return match triangle {
            Triangle::Lower => a.solve_lower_triangular_mut(&mut x),
            Triangle::Upper => a.solve_upper_triangular_mut(&mut x),
            Triangle::UnitLower => a.solve_lower_triangular_with_diag_mut(&mut x, T::one()),
        };
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
