//! Convolution of images: the product, and both of its adjoints.
mod direct;
mod geometry;
mod lanes;
mod product;
mod tiles;

pub use geometry::Geometry;
pub use product::{convolve, correlate, spread};
