//! Small real matrices side by side: each lane of a vector computes one of them.
//!
//! Owns: factorisations of matrices of few rows, and their answers for four items of a stack at once. Never decides what a failure means, nor
//! refuses a matrix: items that are not done are for the way that takes one at a time.
//! Invariant: an item has the same bits in whichever lane and beside whichever others it lies.

mod factors;
mod householder;
mod jacobi;
mod lanes;
mod lu;
mod solve;

pub(super) use factors::{cholesky, eigh, qr, singular_values, svd};
pub(super) use lanes::{Block, EMPTY, LANES, Lane, Mask, SIDE};
pub(super) use solve::{cofactor, det, exponential, inverse, slogdet, solve, solve_triangular};
