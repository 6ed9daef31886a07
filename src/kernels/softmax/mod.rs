//! Fused softmax and log-softmax along an axis of contiguous operands, and cross-entropy of rows: forward and
//! first-order backward.
//!
//! Invariant: rows are independent, and each is shifted by its maximum.

mod columns;
mod cross_entropy;
mod masked_rows;
mod row_blocks;
mod rows;

pub use cross_entropy::{cross_entropy, cross_entropy_backward, logsumexp_parts};
pub use rows::{log_softmax, log_softmax_backward, softmax, softmax_backward};
