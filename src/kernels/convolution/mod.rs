//! Convolution of images: the product, and both of its adjoints; and the full convolution of two vectors.
//!
//! Owns: both ways to a product, directly and by tiles of columns, and sizes. Never pads memory of the caller.
//! Invariant: results are the same at any number of threads.

mod channels_last;
mod depthwise;
mod direct;
mod full_1d;
mod geometry;
mod im2col;
mod product;
mod shifted_taps;
mod simd_loops;

pub use full_1d::convolve as convolve_full;
pub use geometry::Geometry;
pub use product::{convolve, correlate, spread};
