//! The product inside the factorisations.
//!
//! Owns: one call of the gemm crates on parts of matrices. Never splits: a stack is split by its items.
//! Invariant: the result depends on the operands alone.

use nalgebra::{DMatrixView, DMatrixViewMut};

use super::super::gemm::{Mat, Size, multiply};

/// `c -= a b`.
pub(super) fn subtract(
    c: &mut DMatrixViewMut<'_, f64>,
    a: DMatrixView<'_, f64>,
    b: DMatrixView<'_, f64>,
) {
    let ((m, n), k) = (c.shape(), a.ncols());
    assert!(a.nrows() == m && b.shape() == (k, n), "subtract: the dims do not agree");
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    let strides = |(rows, columns): (usize, usize)| [rows as isize, columns as isize];
    let (a, b) =
        (Mat::new(a.as_ptr(), strides(a.strides())), Mat::new(b.as_ptr(), strides(b.strides())));
    let at = strides(c.strides());
    // SAFETY: the views hold these sizes at these strides, and `c` is borrowed mutably, so it overlaps neither.
    unsafe { multiply(Size { m, n, k }, Mat::new(c.as_mut_ptr(), at), true, a, b, -1.0) }
}
