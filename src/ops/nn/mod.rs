//! Functions of neural networks: what users find under `nn.functional`.
//!
//! Owns: layers and losses with kernels of their own. Never holds a parameter.
//! Invariant: beside every fused kernel stands the recorded text that gives higher derivatives.

pub mod attention;
mod channel_norm;
pub mod convolution;
pub mod cross_entropy;
pub mod distances;
pub mod grid_sample;
pub mod likelihood;
pub mod linear;
pub mod loss;
pub mod normalize;
pub mod pooling;
pub mod recurrent;
mod recurrent_composed;
mod weighted_gather;
mod window_geometry;
