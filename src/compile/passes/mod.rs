//! The optimisation passes over the steps of a trace, and the memory plan.
//!
//! Invariant: no pass changes a bit of a result.
mod chain_slots;
pub(in crate::compile) mod constant_folding;
pub(in crate::compile) mod copy_elision;
mod cse;
mod dead_steps;
mod fuse;
mod fuse_rows;
pub(in crate::compile) mod memory_plan;
pub(in crate::compile) mod pipeline;
mod splat_scalars;
