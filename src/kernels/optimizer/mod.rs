//! Update rules of optimisers: one loop that reads parameters, gradients and states, and writes the first and the last.
//!
//! Owns: the rules, their loops, and the split over threads. Never decides when a step is taken.
//! Invariant: an element depends on its own operands only.

mod launch_update;
mod rules;
mod update_loops;

pub use launch_update::{Options, update};
pub use rules::{MOST_NUMBERS, Rule};
