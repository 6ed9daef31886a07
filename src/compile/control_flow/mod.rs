//! Structured control flow in compiled functions: `scan`, `while_loop` and `switch`, with derivatives.
//!
//! A body or a branch is a subprogram with a forward and a backward executable. A loop runs the forward one once per
//! iteration, its backward node the other one in reverse order. Invariant: external memory that a body reads is an
//! input of its executables.

mod backward_plan;
mod body_backward;
mod branch;
mod branch_vjp;
mod kernel_pair;
mod loop_backward;
mod loop_forward;
mod loops;
mod run_body;
mod run_iterations;
mod subprogram;
mod switch;

pub use backward_plan::BackwardPlan;
pub use branch::{Branch, BranchBackwards, BranchParts, BranchSet};
pub use loop_forward::{Condition, LoopParts, LoopProgram, LoopResiduals};
pub use loops::{Scanned, scan, while_loop};
pub use subprogram::Traced;
pub use switch::switch;
