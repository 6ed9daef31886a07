//! The steps of a program, and how one of them runs.
//!
//! Owns: steps, chains of steps, the execution of a step, and the short code that replaces it where operands are small.
//! Never knows which steps a program has. Invariant: what a step touches lies inside its buffers.
pub(in crate::program) mod arithmetic;
pub(in crate::program) mod chain;
pub(in crate::program) mod code;
pub(in crate::program) mod execute;
mod gathered;
pub(in crate::program) mod link;
pub(in crate::program) mod repeat;
mod room;
pub(in crate::program) mod step;
mod tiles;

pub use chain::Chain;
pub use step::{Action, Argument, Buffer, Id, Map, Output, Slice, Source, Step};
pub(crate) use tiles::{Tile, Tiles};
