//! Eigenvalues and eigenvectors of one Hermitian matrix.
//!
//! Tridiagonalisation, then divide and conquer. Invariant: values ascend, and vectors are orthonormal to rounding.

use super::divide_conquer::merge;
use super::matrix::Matrix;
use super::scalar::Double;
use super::tridiagonal;

/// Clears the upper triangle and the imaginary part of the diagonal.
pub(super) fn clear_upper<T: Double>(a: &mut Matrix<T>) {
    a.clear_upper();
    for k in 0..a.ncols() {
        a[(k, k)] = T::from_real(a[(k, k)].real());
    }
}

/// Ascending eigenvalues and the eigenvectors (columns) of a finite Hermitian matrix with elements
/// of about 1, given by its lower triangle; `None` without convergence.
pub(super) fn eigen<T: Double>(a: Matrix<T>) -> Option<(Vec<f64>, Matrix<T>)> {
    let mut form = tridiagonal::reduce(a);
    let found = merge::tridiagonal_eigen(&mut form.diagonal, &form.subdiagonal)?;
    let mut vectors = found.vectors.map(T::from_real);
    form.q().apply(&mut vectors);
    Some((found.values, vectors))
}
