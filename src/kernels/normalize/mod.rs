//! Normalisation: of rows, as layer norm and RMS norm have it, and of channels, as group and batch norm do; variance.
//!
//! Owns: forward passes, first-order backward passes and statistics. Never keeps what follows from input and statistics.
//! Invariant: sums run over blocks that follow from the shape, so results are the same at any number of threads.

mod batch_norm;
mod channels;
mod launch_norm;
mod rows;
mod simd;
mod variance;

pub use channels::{channels_backward, channels_forward, channels_scaled};
pub use rows::{Gradients, backward, forward};
pub use variance::variance;
