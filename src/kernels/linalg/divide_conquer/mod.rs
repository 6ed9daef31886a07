//! Divide and conquer for eigenvalues and vectors of tridiagonal matrices, and for singular values
//! and vectors of bidiagonal ones.
//!
//! Invariant: vectors are orthonormal to rounding.

pub(super) mod merge;
mod secular;
