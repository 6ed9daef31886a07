//! Functions of one number: elementary functions, activations, and families indexed by an order.
//!
//! Invariant: derivatives are made of differentiable functions.

pub mod activation;
pub mod gelu;
pub mod powers;
pub mod special;
pub mod thresholds;
pub mod unary;
