//! Structured control flow: loops and branches whose bodies are programs.
mod branches;
mod derived;
mod kernel;
mod loops;
mod part;

pub use branches::switch;
pub use loops::{Scanned, scan, while_loop};
pub use part::Traced;
