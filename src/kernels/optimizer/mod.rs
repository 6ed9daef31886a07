//! Fused optimiser updates: one loop reads parameters, gradients and states, and writes parameters and
//! states.
//!
//! Invariant: an element depends on its own operands only.

mod launch_update;
mod rules;
mod update_loops;

pub use launch_update::{UpdateOptions, update};
pub use rules::{MAX_NUMBERS, UpdateRule};
