//! Convolution of images with its input and weight gradients, and full convolution of vectors.
//!
//! Direct (by shifted taps), depthwise, or im2col with a matrix product. Invariant: results do not
//! depend on the number of threads.

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
pub use product::{convolve, convolve_transposed, correlate};
