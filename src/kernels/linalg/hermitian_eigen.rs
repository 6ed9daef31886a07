//! Eigenvalues and eigenvectors of one Hermitian matrix.
//!
//! Owns: the choice between the library's iteration, for few rows, and the division of a tridiagonal matrix.
//! Never decides signs. Invariant: values rise, and vectors are orthonormal to rounding.

use nalgebra::{DMatrix, SymmetricEigen};

use super::divide_conquer::{merge, tridiagonal};
use super::factor::limit;
use super::scalar::Field;
use crate::kernels::sort::argsort_by;

/// Rows from which a matrix is reduced and divided.
const LARGE: usize = 64;

/// What is above the diagonal becomes zero; the diagonal is read as real.
pub(super) fn without_upper<T: Field>(a: &mut DMatrix<T>) {
    a.fill_upper_triangle(T::zero(), 1);
    for k in 0..a.ncols() {
        a[(k, k)] = T::from_real(a[(k, k)].real());
    }
}

/// The upper triangle becomes that of the lower one's Hermitian matrix.
fn mirror<T: Field>(a: &mut DMatrix<T>) {
    for k in 0..a.ncols() {
        for i in k + 1..a.nrows() {
            a[(k, i)] = a[(i, k)].conjugate();
        }
    }
}

/// Rising eigenvalues and the eigenvectors (columns) of the lower triangle of a finite matrix with elements of about 1; `None` without
/// convergence.
pub(super) fn eigen<T: Field>(mut a: DMatrix<T>) -> Option<(Vec<f64>, DMatrix<T>)> {
    let n = a.nrows();
    if n >= LARGE {
        let mut form = tridiagonal::reduce(a);
        let found = merge::eigen(&mut form.diagonal, &form.beside)?;
        let mut vectors = found.vectors.map(T::from_real);
        form.q().apply(&mut vectors);
        return Some((found.values, vectors));
    }
    mirror(&mut a);
    let found = SymmetricEigen::try_new(a, f64::EPSILON, limit(n))?;
    let order = argsort_by(n, &|i, k| found.eigenvalues[i].total_cmp(&found.eigenvalues[k]));
    let values = order.iter().map(|&i| found.eigenvalues[i]).collect();
    Some((values, found.eigenvectors.select_columns(&order)))
}
