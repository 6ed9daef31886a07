//! The planner: passes over the steps of a recording, each in a file of its own, and the plan of the memory.
//!
//! Owns: the passes and their order. Never runs a program. Invariant: no pass changes a bit of a result.
mod chain_slots;
pub(in crate::compile) mod constant_folding;
pub(in crate::compile) mod copy_elision;
mod cse;
mod fuse;
mod fuse_rows;
pub(in crate::compile) mod memory_plan;
pub(in crate::compile) mod pipeline;
mod scalars_to_constants;
