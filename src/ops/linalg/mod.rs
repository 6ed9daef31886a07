//! Linear algebra on stacks of matrices: what users find under `linalg`.
//!
//! Owns: factorisations with their derivatives, and what is built on them. Never factorises: kernels do.
//! Invariant: axes before the last two are a stack, whose items do not depend on each other.

pub mod chain;
pub mod cholesky;
mod common;
pub mod determinant;
pub mod eig;
pub mod eigh;
pub mod functions;
mod gauge;
pub mod lstsq;
pub mod lu;
pub mod qr;
mod schur;
pub mod solve;
pub mod svd;
