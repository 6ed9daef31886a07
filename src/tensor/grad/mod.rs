//! Where the gradients of a pass end: at leaves, and where somebody asked to keep one.
//!
//! Owns: the accumulator of a leaf, retained gradients, whom gradients were given to, and what a captured function sees
//! and changes of them.
//! Never computes a gradient. Invariant: a leaf's gradient belongs to its `Meta`; no node owns one.

pub(super) mod accumulator;
pub(crate) mod effects;
pub(super) mod retain_grad;
pub(super) mod shared_grads;
