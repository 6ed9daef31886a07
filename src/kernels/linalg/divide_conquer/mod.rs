//! Reductions to tridiagonal and bidiagonal form, and divide and conquer for their values and
//! vectors.
//!
//! Invariant: vectors are orthonormal to rounding.

pub(super) mod bidiagonal;
pub(super) mod bidiagonal_qr;
pub(super) mod dqds;
pub(super) mod merge;
mod secular;
pub(super) mod tridiagonal;
