//! Matrices of one and two diagonals: the reductions to them, and their values and vectors.
pub(super) mod bidiagonal;
pub(super) mod divide;
pub(super) mod quotients;
mod secular;
pub(super) mod tridiagonal;
