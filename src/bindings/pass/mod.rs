//! A backward pass as Python starts it, and the modes of a thread.
//!
//! Owns: the arguments of passes and programs, the modes as Python switches them, GIL and signals during a pass.
//! Never walks the graph and never decides when a function is recorded.
//! Invariant: after an error or a signal the thread's modes are what they were.

pub(crate) mod arguments;
pub(crate) mod backward;
pub(crate) mod bound;
pub(crate) mod control;
pub(crate) mod ended_transforms;
pub(crate) mod host;
pub(crate) mod joint;
pub(crate) mod modes;
pub(crate) mod replay;
pub(crate) mod replayed;
pub(crate) mod search;
pub(crate) mod short;
pub(crate) mod transform_arguments;
pub(crate) mod usage;
mod watched;
