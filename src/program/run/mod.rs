//! The executor: programs, the memory of their runs, and the ways to call them.
//!
//! Owns: `Program`, frames, bound programs, the entry from C, and what a program tells people of itself. Never records.
//! Invariant: runs may go on side by side; each has a frame of its own.
mod bound;
mod describe;
mod entry;
mod frame;
mod planned;
pub(in crate::program) mod program;
mod session;
mod uses;

pub use bound::Bound;
pub use describe::Told;
pub use entry::{Callable, Entry};
pub use program::{Program, Results, States, places};
pub(in crate::program) use session::Session;
