//! Fused softmax, log-softmax and cross-entropy along the last axis of contiguous rows.
//!
//! Owns: forward passes and first-order backward passes. Never reduces over another axis.
//! Invariant: rows are independent, and each is shifted by its maximum.

mod entropy;
mod float;
mod rows;

pub use entropy::{cross_entropy, cross_entropy_backward};
pub use rows::{log_softmax, log_softmax_backward, softmax, softmax_backward};
