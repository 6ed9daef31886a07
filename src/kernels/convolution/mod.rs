//! Convolution of images: the product, and both of its adjoints; and the full convolution of two vectors.
mod direct;
mod full;
mod geometry;
mod lanes;
mod product;
mod tiles;

pub use full::convolve as convolve_full;
pub use geometry::Geometry;
pub use product::{convolve, correlate, spread};
