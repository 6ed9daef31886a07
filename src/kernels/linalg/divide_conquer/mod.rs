//! Matrices of one and two diagonals: the reductions to them, and their values and vectors.
//!
//! Owns: that. Never pivots and never knows a stack. Invariant: vectors are orthonormal to rounding.

pub(super) mod bidiagonal;
pub(super) mod dqds;
pub(super) mod merge;
mod secular;
pub(super) mod tridiagonal;
