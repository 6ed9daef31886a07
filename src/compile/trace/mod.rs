//! Tracing: the kernel launches of a thread become the steps of an executable, or of a forward and a backward one.
//!
//! Invariant: when a tracer is dropped or finished, its thread traces no more.
mod buffer_index;
pub(crate) mod buffers;
mod escapes;
mod foreign_memory;
mod forward_backward;
pub(in crate::compile) mod host_span;
mod symbolic_zeros;
pub(in crate::compile) mod tracer;

pub use forward_backward::{ForwardBackward, InputCounts};
pub use symbolic_zeros::PartialBackward;
pub use tracer::{TracedResult, Tracer};
