//! Writes to memory that has a history: in-place operations, assignment, and their gradients.
//!
//! Invariant: a write is admitted first, then noted in the log of the memory, and only then done.

pub mod assign;
pub(crate) mod copy_on_write;
mod elementwise_call;
pub mod methods;
mod mixed_complex_regions;
pub mod optimizer_update;
#[cfg(feature = "python")]
pub(crate) mod out;
pub(crate) mod rebased_history;
pub(crate) mod write_access;
