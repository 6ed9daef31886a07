//! Normalisation of rows: layer norm and RMS norm, both passes; and their variance.
mod recorded;
mod rows;
mod variance;

pub use rows::{Gradients, backward, forward};
pub use variance::variance;
