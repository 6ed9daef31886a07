//! Programs: the launches of one run of a function, to be run again without it.
//!
//! Owns: the recording of launches, the plan of their memory, and the executor. Never knows a tensor, a graph, an
//! operation's name or Python. Invariant: a run computes the bits that the launches computed, from the contents that the
//! inputs and the memory outside have when it begins.
mod bound;
mod chain;
mod choice;
mod code;
mod constants;
mod copies;
mod cse;
mod describe;
mod entry;
mod execute;
mod frame;
mod gathered;
mod join;
mod joint;
mod kept;
mod loop_backward;
mod looped;
mod passes;
mod placed;
mod plan;
mod recording;
mod run;
mod slots;
mod small;
mod step;
mod stretch;
mod undo;

pub use bound::Bound;
pub use chain::Chain;
pub use choice::{Branch, BranchParts, Choice};
pub use describe::Told;
pub use entry::{Callable, Entry};
pub use joint::Joint;
pub use looped::{Condition, Loop, LoopParts, Trace};
pub use recording::{Recorded, Recording};
pub use run::{Program, Results, States, places};
pub use step::{Action, Argument, Buffer, Id, Map, Output, Slice, Source, Step};
