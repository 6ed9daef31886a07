//! The executor: executables, the frames of their runs, and the C entry.
//!
//! Invariant: runs may be concurrent; each has a frame of its own.
mod bound_memory;
mod c_closure;
pub(in crate::compile) mod executable;
mod explain;
mod frame;
mod held_frame;
mod io_lists;
mod lazy_plan;

pub use bound_memory::BoundMemory;
pub use c_closure::{CClosure, CFunction};
pub use executable::{Executable, HostStates, ResultMemory, elements_mut};
pub use explain::StepExplanation;
pub(in crate::compile) use held_frame::HeldFrame;
