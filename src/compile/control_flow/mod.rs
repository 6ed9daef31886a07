//! Structured control flow in compiled functions: `scan`, `while_loop` and `switch`, with derivatives.
//!
//! A body or a branch is a subprogram with a forward and a backward executable. A loop runs the forward one once per
//! iteration, its backward node the other one in reverse order. Invariant: external memory that a body reads is an
//! input of its executables.

mod backward_plan;
mod body_backward;
mod branch_vjp;
mod kernel_pair;
mod run_body;
mod run_branch;
mod run_iterations;
mod run_loop;
mod run_loop_backward;
mod subprogram;
mod trace_loop;
mod trace_switch;

pub use backward_plan::BackwardPlan;
pub use run_branch::{Branch, BranchBackwards, BranchParts, BranchSet};
pub use run_loop::{Condition, LoopParts, LoopProgram, LoopResiduals};
pub use subprogram::Traced;
pub use trace_loop::{Scanned, scan, while_loop};
pub use trace_switch::switch;
