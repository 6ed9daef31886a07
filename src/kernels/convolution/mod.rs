//! Convolution of images: the product, and both of its adjoints; and the full convolution of two vectors.
//!
//! Owns: both ways to a product, directly and by tiles of columns, and sizes. Never pads memory of the caller.
//! Invariant: results are the same at any number of threads.

mod channels_last;
mod depthwise;
mod direct;
mod full;
mod geometry;
mod lanes;
mod product;
mod steps;
mod tiles;

pub use full::convolve as convolve_full;
pub use geometry::Geometry;
pub use product::{convolve, correlate, spread};
