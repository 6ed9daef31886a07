//! The planner: passes over the steps of a recording, each in a file of its own, and the plan of the memory.
//!
//! Owns: the passes and their order. Never runs a program. Invariant: no pass changes a bit of a result.
pub(in crate::program) mod constants;
pub(in crate::program) mod copies;
mod cse;
mod join;
pub(in crate::program) mod order;
pub(in crate::program) mod plan;
mod rows;
mod slots;
mod small;
