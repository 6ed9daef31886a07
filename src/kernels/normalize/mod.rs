//! Normalisation of rows: layer norm and RMS norm, both passes.
mod recorded;
mod rows;

pub use rows::{Gradients, backward, forward};
