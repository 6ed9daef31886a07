//! Compiled functions: a function is traced once, and the optimised program runs in its place.
//!
//! A trace is the list of kernels that one call launched. `trace` makes it, `ir` represents it, `passes` optimise it,
//! `exec` runs it; these know kernels and memory only. `control_flow` and `autograd` add loops, branches and
//! derivatives on top of the operations. *External memory* is memory that a program uses and that is neither an
//! argument nor its own: parameters, closures, NumPy arrays.
//!
//! Invariant: a run computes the bits of the eager function, from what its inputs and the external memory hold when
//! it starts.

pub mod autograd;
pub mod bound_program;
pub mod control_flow;
mod exec;
pub mod host_call;
mod ir;
mod leaf_state;
mod passes;
pub mod program;
pub(crate) mod trace;

pub use control_flow::{
    BackwardPlan, Branch, BranchBackwards, BranchParts, BranchSet, Condition, LoopParts,
    LoopProgram, LoopResiduals,
};
pub use exec::{
    BoundMemory, CClosure, CFunction, Executable, HostStates, ResultMemory, StepExplanation,
    elements_mut,
};
pub use ir::{Action, Buffer, BufferId, BufferView, Chain, Map, MapOperand, Output, Source, Step};
pub use trace::{ForwardBackward, InputCounts, PartialBackward, TracedResult, Tracer};
