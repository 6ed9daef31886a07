//! Functions of one number: elementary ones, activations, those that come with an order.
//!
//! Owns: their declarations, formula and derivative side by side. Never computes: loops are those of the formulas.
//! Invariant: a derivative is made of functions that have derivatives themselves.

pub mod activation;
pub mod gelu;
pub mod powers;
pub mod special;
pub mod thresholds;
pub mod unary;
