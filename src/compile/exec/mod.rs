//! The executor: executables, the frames of their runs, and the C entry.
//!
//! Invariant: runs may be concurrent; each has a frame of its own.
mod bound_program;
mod c_entry;
mod explain;
mod frame;
mod io_lists;
mod lazy_plan;
pub(in crate::compile) mod program;
mod session;

pub use bound_program::Bound;
pub use c_entry::{Callable, Entry};
pub use explain::Told;
pub use program::{Program, Results, States, places};
pub(in crate::compile) use session::Session;
