//! Functions of neural networks: what users find under `nn.functional`.
//!
//! Owns: layers and losses with kernels of their own. Never holds a parameter.
//! Invariant: beside every fused kernel stands the recorded text that gives higher derivatives.

pub mod attention;
mod channels;
pub mod convolution;
pub mod cross_entropy;
pub mod dense;
pub mod distances;
mod geometry;
pub mod likelihood;
pub mod loss;
pub mod normalize;
pub mod pooling;
pub mod recurrent;
mod recurrent_recorded;
pub mod sampling;
mod taps;
