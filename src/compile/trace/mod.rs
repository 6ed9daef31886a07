//! Tracing: the kernel launches of a thread become the steps of an executable, or of a forward and a backward one.
//!
//! Invariant: when a tracer is dropped or finished, its thread traces no more.
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
