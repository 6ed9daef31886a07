//! Writing to memory that has a history.
//!
//! Owns: operations in place, assignment, and what a gradient does at memory that was overwritten. Never reads index expressions: `index` does.
//! Invariant: a write is admitted first, noted in the log of the memory, and only then done.

pub mod assign;
mod complex_units;
pub(crate) mod copy_on_write;
mod loop_choice;
pub mod methods;
pub mod optimizer_update;
#[cfg(feature = "python")]
pub(crate) mod out;
pub(crate) mod rebased_history;
pub(crate) mod write_access;
