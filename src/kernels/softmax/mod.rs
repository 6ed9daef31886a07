//! Fused softmax and log-softmax along an axis of contiguous operands, and cross-entropy of rows.
//!
//! Owns: forward passes and first-order backward passes. Never reduces over more than one axis.
//! Invariant: rows are independent, and each is shifted by its maximum.

mod columns;
mod cross_entropy;
mod masked_rows;
mod row_blocks;
mod rows;

pub use cross_entropy::{cross_entropy, cross_entropy_backward, levels};
pub use rows::{log_softmax, log_softmax_backward, softmax, softmax_backward};
