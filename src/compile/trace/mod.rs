//! Recordings: the launches of a thread become the steps of a program, or of a forward and a backward program.
//!
//! Owns: the life of a recording, its cut into two programs, and what is given back when it fails. Never plans or runs.
//! Invariant: when a recording is dropped or finished, its thread captures no more.
mod escapes;
mod foreign_memory;
mod host_span;
mod joint;
mod partial_backward;
mod recorder;
mod rollback;

pub use joint::{Joint, Taken};
pub use partial_backward::Narrowed;
pub use recorder::{Recorded, Recording};
