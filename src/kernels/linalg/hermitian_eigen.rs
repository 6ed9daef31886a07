//! Eigenvalues and eigenvectors of one Hermitian matrix.
//!
//! Small matrices use nalgebra's iteration, large ones tridiagonalisation and divide and conquer.
//! Invariant: values ascend, and vectors are orthonormal to rounding.

use nalgebra::{DMatrix, SymmetricEigen};

use super::divide_conquer::{merge, tridiagonal};
use super::factor::max_sweeps;
use super::scalar::Field;
use crate::kernels::sort::argsort_by;

/// Rows from which divide and conquer is used.
const MIN_DIVIDE_ROWS: usize = 64;

/// Clears the upper triangle and the imaginary part of the diagonal.
pub(super) fn clear_upper<T: Field>(a: &mut DMatrix<T>) {
    a.fill_upper_triangle(T::zero(), 1);
    for k in 0..a.ncols() {
        a[(k, k)] = T::from_real(a[(k, k)].real());
    }
}

/// Completes a Hermitian matrix from its lower triangle.
fn complete_hermitian<T: Field>(a: &mut DMatrix<T>) {
    for k in 0..a.ncols() {
        for i in k + 1..a.nrows() {
            a[(k, i)] = a[(i, k)].conjugate();
        }
    }
}

/// Ascending eigenvalues and the eigenvectors (columns) of a finite Hermitian matrix with elements
/// of about 1, given by its lower triangle; `None` without convergence.
pub(super) fn eigen<T: Field>(mut a: DMatrix<T>) -> Option<(Vec<f64>, DMatrix<T>)> {
    let n = a.nrows();
    if n >= MIN_DIVIDE_ROWS {
        let mut form = tridiagonal::reduce(a);
        let found = merge::eigen(&mut form.diagonal, &form.subdiagonal)?;
        let mut vectors = found.vectors.map(T::from_real);
        form.q().apply(&mut vectors);
        return Some((found.values, vectors));
    }
    complete_hermitian(&mut a);
    let found = SymmetricEigen::try_new(a, f64::EPSILON, max_sweeps(n))?;
    let order = argsort_by(n, &|i, k| found.eigenvalues[i].total_cmp(&found.eigenvalues[k]));
    let values = order.iter().map(|&i| found.eigenvalues[i]).collect();
    Some((values, found.eigenvectors.select_columns(&order)))
}
