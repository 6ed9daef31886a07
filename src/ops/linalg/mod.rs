//! Linear algebra on stacks of matrices: what users find under `linalg`.
pub mod chain;
pub mod cholesky;
mod common;
pub mod determinant;
pub mod eigh;
pub mod lstsq;
pub mod qr;
pub mod solve;
pub mod svd;
