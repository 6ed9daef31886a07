//! The steps of a program, and how one of them runs.
//!
//! Owns: steps, chains of steps, the execution of a step, and the short code that replaces it where operands are small.
//! Never knows which steps a program has. Invariant: what a step touches lies inside its buffers.
pub(in crate::compile) mod execute;
pub(in crate::compile) mod lowered;
pub(in crate::compile) mod scalar_arithmetic;
pub(in crate::compile) mod step;
mod strided_small;

pub use crate::kernels::fused::chain::Chain;
pub use step::{Action, Argument, Buffer, Id, Map, Output, Slice, Source, Step};
