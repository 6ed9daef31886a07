//! Normalisation of rows (layer norm, RMS norm) and of channels (group norm, batch norm), and
//! variance.
//!
//! Invariant: sums run over blocks that follow from the shape, so results do not depend on the
//! number of threads.

mod batch_norm;
mod channels;
mod launch_norm;
mod rows;
mod simd_norm;
mod variance;

pub use channels::{channels_backward, channels_forward, channels_scaled};
pub use rows::{Gradients, backward, forward};
pub use variance::variance;
