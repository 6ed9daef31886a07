//! Structured control flow in programs: `scan`, `while_loop` and `switch`, forward and backward.
//!
//! A body or a branch is a program of its own. The forward step of a loop runs it once per iteration, the backward step
//! runs its derivative in the reverse order. Invariant: what a body reads from outside is an input of its program.

mod backward_plan;
mod binding;
mod branch;
mod branch_vjp;
mod iterations;
mod launch_loop;
mod loop_backward;
mod loop_forward;
mod loops;
mod partial_backward;
mod subprogram;
mod switch;

pub use backward_plan::BackwardPlan;
pub use branch::{Branch, BranchParts, Choice, Ways};
pub use loop_forward::{Condition, Loop, LoopParts, Trace};
pub use loops::{Scanned, scan, while_loop};
pub use subprogram::Traced;
pub use switch::switch;
