//! Update rules of optimisers: one loop that reads parameters, gradients and states, and writes the first and the last.
mod rules;
mod run;
mod span;

pub use rules::{MOST_NUMBERS, Rule};
pub use run::{Options, update};
