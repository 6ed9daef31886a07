//! Writing to memory that has a history.
//!
//! Owns: operations in place, assignment, and what a gradient does at memory that was overwritten. Never reads index expressions: `index` does.
//! Invariant: a write is admitted first, noted in the log of the memory, and only then done.

pub mod assign;
pub(crate) mod copy_on_write;
pub mod inplace;
#[cfg(feature = "python")]
pub(crate) mod into;
mod loops;
pub(crate) mod overwritten;
mod units;
pub mod update;
pub(crate) mod writing;
