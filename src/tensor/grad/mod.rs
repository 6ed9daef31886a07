//! Where gradients end: accumulators of leaves, and retained gradients.
//!
//! Also which threads may hold a gradient, and what a traced function does to gradients.
//! Invariant: a leaf's gradient belongs to its `Meta`; no node owns one.

pub(super) mod accumulator;
pub(super) mod grad_holders;
pub(super) mod retain_grad;
pub(crate) mod traced_grad_effects;
