//! Linear algebra on stacks of matrices, with derivatives: the functions of the `linalg` namespace.
//!
//! Invariant: axes before the last two are batch axes, whose items are independent.

mod check_phase_invariance;
pub mod cholesky;
pub mod determinant;
pub mod eig;
pub mod eigh;
mod helpers;
pub mod lstsq;
pub mod lu;
pub mod matrix_functions;
pub mod multi_dot;
pub mod qr;
mod schur;
pub mod solve;
pub mod svd;
