//! Steps that run programs: loops and branches, forward and backward.
//!
//! Owns: where values of an iteration or a branch lie in the program around it. Never knows how a body was recorded.
//! Invariant: the backward pass takes the iterations and the branch that the forward pass took.
mod backward_plan;
mod choice;
mod iterations;
mod loop_backward;
mod looped;
mod placed;
mod way;

pub use backward_plan::BackwardPlan;
pub use choice::{Branch, BranchParts, Choice, Ways};
pub use looped::{Condition, Loop, LoopParts, Trace};
