//! Linear algebra of stacks of matrices: factorisations, eigenvalues, SVD, solvers and matrix
//! functions.
//!
//! Failures are returned as the index of the item, and `batch` makes errors of them. Invariant: items
//! are independent, so any split over threads gives the same result.

// Loops index elements by row and column, as the algorithms are written.
mod batch;
#[allow(clippy::needless_range_loop)]
mod batched_small;
mod bidiagonal;
mod bidiagonal_qr;
mod cofactor;
mod divide_conquer;
mod dqds;
mod factor;
mod gemv;
mod hermitian_eigen;
mod householder_qr;
mod lu;
mod lu_packed;
mod matrix;
mod matrix_functions;
mod real_schur;
mod scalar;
mod schur;
mod solve;
mod svd;
#[cfg(test)]
mod test_rng;
#[allow(clippy::needless_range_loop)]
mod triangular_solve;
mod tridiagonal;
mod tridiagonal_ql;

pub use cofactor::cofactor;
pub use factor::{cholesky, complete_basis, eigh, qr, qr_upper, singular_values, svd};
pub use lu_packed::{lu, lu_solve, pivots_to_order, solve_with_factors};
pub use matrix_functions::{MatrixFunction, matrix_function};
pub use schur::{eig, eigvals, schur};
pub use solve::{det, inverse, slogdet, solve, solve_triangular};
