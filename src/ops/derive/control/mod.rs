//! Structured control flow: loops and branches whose bodies are programs.
//!
//! Owns: the operations, their parts, and the derivative of a body. Never runs a body itself: programs do.
//! Invariant: what a body reads outside is an input of its program.

mod branches;
mod derived;
mod kernel;
mod loops;
mod part;

pub use branches::switch;
pub use loops::{Scanned, scan, while_loop};
pub use part::Traced;
