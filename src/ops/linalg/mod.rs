//! Linear algebra on stacks of matrices: what users find under `linalg`.
//!
//! Owns: factorisations with their derivatives, and what is built on them. Never factorises: kernels do.
//! Invariant: axes before the last two are a stack, whose items do not depend on each other.

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
mod vector_phase;
