//! Convolution of images: the product, and both of its adjoints.
mod geometry;
mod product;
mod tiles;

pub use geometry::Geometry;
pub use product::{convolve, correlate, spread};
