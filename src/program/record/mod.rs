//! Recordings: the launches of a thread become the steps of a program, or of a forward and a backward program.
//!
//! Owns: the life of a recording, its cut into two programs, and what is given back when it fails. Never plans or runs.
//! Invariant: when a recording is dropped or finished, its thread captures no more.
mod foreign_memory;
mod joint;
mod kept;
mod partial;
mod recording;
mod stretch;
mod undo;

pub use joint::{Joint, Taken};
pub use partial::Narrowed;
pub use recording::{Recorded, Recording};
