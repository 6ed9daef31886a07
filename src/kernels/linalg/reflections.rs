//! The QR factorisation by Householder's reflections, with LAPACK's signs.
//!
//! Owns: one reflection per column, and the columns of Q that they make. Never pivots.
//! Invariant: the diagonal of R is real, and a column that has no tail and a real head is not reflected.
//! Source: LAPACK's `geqr2`, `larfg` and `ung2r` (Anderson et al., LAPACK Users' Guide, 1999).

use nalgebra::{DMatrix, DVector};

use super::field::Field;

/// Columns `from..` of `a` from row `at` on become `(1 - factor v vᴴ)` times themselves.
fn reflect<T: Field>(a: &mut DMatrix<T>, v: &DVector<T>, at: usize, from: usize, factor: T) {
    if factor == T::zero() {
        return;
    }
    for k in from..a.ncols() {
        let mut column = a.column_mut(k);
        let mut part = column.rows_range_mut(at..);
        let step = factor * v.dotc(&part);
        part.axpy(-step, v, T::one());
    }
}

/// `q`, m by k, and `r`, k by n and upper triangular, with `q r = a`, k being the smaller of m and n.
pub(super) fn factors<T: Field>(mut a: DMatrix<T>) -> (DMatrix<T>, DMatrix<T>) {
    let (m, n) = a.shape();
    let size = m.min(n);
    let mut axes: Vec<(DVector<T>, T)> = Vec::with_capacity(size);
    for i in 0..size {
        let head = a[(i, i)];
        let mut axis = a.column(i).rows_range(i..).into_owned();
        let tail = axis.rows_range(1..).norm();
        if tail == 0.0 && head.imaginary() == 0.0 {
            axes.push((axis, T::zero()));
            continue;
        }
        let turned = T::from_real(-head.modulus().hypot(tail).copysign(head.real()));
        let (factor, unit) = ((turned - head) / turned, T::one() / (head - turned));
        axis *= unit;
        axis[0] = T::one();
        a[(i, i)] = turned;
        reflect(&mut a, &axis, i, i + 1, factor.conjugate());
        axes.push((axis, factor));
    }
    let mut q = DMatrix::identity(m, size);
    for (i, (axis, factor)) in axes.iter().enumerate().rev() {
        reflect(&mut q, axis, i, i, *factor);
    }
    (q, a.resize_vertically(size, T::zero()))
}
