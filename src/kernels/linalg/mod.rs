//! Matrix factorisations and what follows from them, for stacks of matrices of real and complex numbers.
//!
//! Owns: the algorithms, and stacks of matrices. Never decides what a failure means to a user.
//! Invariant: an item of a stack that fails is named by its index; items are independent, so any split gives one result.

// Elements are named by row and column.
mod batch;
#[allow(clippy::needless_range_loop)]
mod batched_small;
mod cofactor;
mod divide_conquer;
mod factor;
mod golub_kahan;
mod hermitian_eigen;
mod householder_qr;
mod lu;
mod lu_packed;
mod matrix_functions;
mod real_schur;
mod scalar;
mod schur;
mod solve;
#[cfg(test)]
mod test_matrices;
// As above.
mod gemv;
#[allow(clippy::needless_range_loop)]
mod triangular_solve;

pub use cofactor::cofactor;
pub use factor::{cholesky, complete, eigh, qr, qr_upper, singular_values, svd};
pub use lu_packed::{lu, lu_solve, order, solve_and_keep};
pub use matrix_functions::{Function, function};
pub use schur::{eig, eigvals, schur};
pub use solve::{det, inverse, slogdet, solve, solve_triangular};
