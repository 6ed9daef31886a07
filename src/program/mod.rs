//! Programs: the launches of one run of a function, to be run again without it.
//!
//! Owns: the recording of launches, the plan of their memory, and the executor, in rooms of which each names only those
//! before it: `steps`, `passes`, `run`, `record`, `control`. Never knows a tensor, a graph, an operation's name or Python.
//! Invariant: a run computes the bits that the launches computed, from the contents that the inputs and the memory outside
//! have when it begins.
mod control;
mod passes;
mod record;
mod run;
mod steps;

pub use control::{
    BackwardPlan, Branch, BranchParts, Choice, Condition, Loop, LoopParts, Trace, Ways,
};
pub use record::{Joint, Narrowed, Recorded, Recording, Taken};
pub use run::{Bound, Callable, Entry, Program, Results, States, Told, places};
pub use steps::{Action, Argument, Buffer, Chain, Id, Map, Output, Slice, Source, Step};
pub(crate) use steps::{Tile, Tiles};
