//! The intermediate representation: steps of an executable, their execution, and the lowered form of small ones.
//!
//! Invariant: the operands of a step lie inside their buffers.
pub(in crate::compile) mod execute;
pub(in crate::compile) mod lowered;
pub(in crate::compile) mod scalar_arithmetic;
pub(in crate::compile) mod step;
mod strided_small;

pub use crate::kernels::fused::chain::Chain;
pub use step::{Action, Buffer, BufferId, BufferView, Map, MapOperand, Output, Source, Step};
