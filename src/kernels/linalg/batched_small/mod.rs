//! Factorisations of stacks of small real matrices: each SIMD lane holds one matrix, four at a
//! time.
//!
//! Items that are not done (singular, rank-deficient, not finite) are left to the one-at-a-time
//! path. Invariant: an item has the same bits in any lane and beside any other items.

mod factors;
mod householder;
mod inverse_solve;
mod jacobi;
mod lanes;
mod lu_cholesky;

pub(super) use factors::{cholesky, eigh, qr, singular_values, svd};
pub(super) use inverse_solve::{
    cofactor, det, exponential, inverse, slogdet, solve, solve_triangular,
};
pub(super) use lanes::{F64x4, LANES, LaneMatrix, MAX_SIDE, Mask, ZERO_MATRIX};
