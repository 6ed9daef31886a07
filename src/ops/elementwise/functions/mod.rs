//! Elementary and special functions of one number or two, and activations.
//!
//! Invariant: derivatives are made of differentiable functions.

pub mod activation;
pub mod binary;
pub mod constant_exponents;
pub mod gelu;
pub mod special;
pub mod thresholds;
pub mod unary;
