//! Triangular systems with many right-hand sides, by halves.
//!
//! Owns: the recursion that turns most of the work into matrix products. Never factorises.
//! Invariant: a zero on the diagonal is reported, not divided by.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut, LU};

/// Rows up to which the library's own substitution runs.
const LEAF: usize = 32;

/// `x = a⁻¹ x` for a triangle of `a`; false when a diagonal element is zero.
pub(super) fn solve(a: &DMatrix<f64>, lower: bool, x: &mut DMatrix<f64>) -> bool {
    halves(a.as_view(), lower, x.as_view_mut())
}

fn halves(a: DMatrixView<'_, f64>, lower: bool, mut x: DMatrixViewMut<'_, f64>) -> bool {
    let (n, columns) = x.shape();
    if n == 0 || columns == 0 {
        return true;
    }
    if n <= LEAF {
        return match lower {
            true => a.solve_lower_triangular_mut(&mut x),
            false => a.solve_upper_triangular_mut(&mut x),
        };
    }
    let half = n / 2;
    let rest = n - half;
    let (first, last) = (a.view((0, 0), (half, half)), a.view((half, half), (rest, rest)));
    let (mut top, mut bottom) = x.rows_range_pair_mut(..half, half..);
    if lower {
        if !halves(first, true, top.as_view_mut()) {
            return false;
        }
        bottom.gemm(-1.0, &a.view((half, 0), (rest, half)), &top, 1.0);
        return halves(last, true, bottom.as_view_mut());
    }
    if !halves(last, false, bottom.as_view_mut()) {
        return false;
    }
    top.gemm(-1.0, &a.view((0, half), (half, rest)), &bottom, 1.0);
    halves(first, false, top.as_view_mut())
}

/// `a⁻¹ b`; `None` when `a` is singular.
pub(super) fn solve_general(a: DMatrix<f64>, mut b: DMatrix<f64>) -> Option<DMatrix<f64>> {
    let lu = LU::new(a);
    lu.p().permute_rows(&mut b);
    let solved = solve(&lu.l(), true, &mut b) && solve(&lu.u(), false, &mut b);
    solved.then_some(b)
}
