//! Steps that run programs: loops and branches, forward and backward.
//!
//! Owns: where values of an iteration or a branch lie in the program around it. Never knows how a body was recorded.
//! Invariant: the backward pass takes the iterations and the branch that the forward pass took.
mod choice;
mod iterations;
mod loop_backward;
mod looped;
mod placed;

pub use choice::{Branch, BranchParts, Choice};
pub use looped::{Condition, Loop, LoopParts, Trace};
