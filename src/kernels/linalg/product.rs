//! The product inside the factorisations.
//!
//! Owns: one call of the gemm crate on parts of matrices. Never splits: a stack is split by its items.
//! Invariant: the result depends on the operands alone.

use nalgebra::{DMatrixView, DMatrixViewMut};

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
    let strides = |(rows, columns): (usize, usize)| (columns as isize, rows as isize);
    let ((a_cs, a_rs), (b_cs, b_rs)) = (strides(a.strides()), strides(b.strides()));
    let (c_cs, c_rs) = strides(c.strides());
    // SAFETY: the views hold these sizes at these strides, and `c` is borrowed mutably, so it overlaps neither.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            c_cs,
            c_rs,
            true,
            a.as_ptr(),
            a_cs,
            a_rs,
            b.as_ptr(),
            b_cs,
            b_rs,
            1.0,
            -1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
