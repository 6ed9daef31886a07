//! Normalisation: of rows, as layer norm and RMS norm have it, and of channels, as group and batch norm do; variance.
mod channels;
mod columns;
mod recorded;
mod rows;
mod variance;

pub use channels::{channels_backward, channels_forward, channels_scaled};
pub use rows::{Gradients, backward, forward};
pub use variance::variance;
