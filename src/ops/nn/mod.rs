//! Functions of the `nn.functional` namespace: layers and losses, most with fused kernels.
//!
//! Invariant: every fused backward has a composed counterpart in tensor operations for higher
//! derivatives.

pub mod attention;
pub mod bce_kl;
mod channel_norm;
pub mod convolution;
pub mod cross_entropy;
pub mod distances;
pub mod grid_sample;
pub mod linear;
pub mod loss;
pub mod normalize;
pub mod pooling;
pub mod recurrent;
mod recurrent_composed;
mod weighted_gather;
mod window_geometry;
