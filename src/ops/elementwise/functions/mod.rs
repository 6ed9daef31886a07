//! Functions of one number: elementary functions, activations, and families indexed by an order.
//!
//! Invariant: derivatives are made of differentiable functions.

pub mod activation;
pub mod constant_exponents;
pub mod gelu;
pub mod special;
pub mod thresholds;
pub mod unary;
