//! Linear algebra on stacks of matrices: what users find under `linalg`.
pub mod chain;
pub mod cholesky;
mod common;
pub mod determinant;
pub mod eig;
pub mod eigh;
pub mod functions;
mod gauge;
pub mod lstsq;
pub mod qr;
mod schur;
pub mod solve;
pub mod svd;
