//! Element-wise loops: tables built from formulas, and the code that runs them over operands of any strides.
//!
//! Invariant: an element has the same bits whichever fast path computes it.

mod casting;
pub mod complex_loops;
mod dispatch;
pub mod integer_division;
mod launch_loop;
mod loop_table;
pub mod loops;
mod nextafter;
pub mod row_broadcast;
mod small;
mod strided;
mod tile_copy;
mod transposed;
mod where_loops;

pub(crate) use backward_call::BackwardCall;
pub(crate) use casting::apply_converted;
pub use dispatch::{
    MAX_OPERANDS, Operand, OutOperand, parallel_blocks, parallel_units, run, split_above,
};
pub use flat::{Flat, FlatOperand};
pub(crate) use flat::{apply_flat, select_flat};
#[cfg(feature = "python")]
pub(crate) use floats::{FloatOperand, FloatRun, ScalarOperand, apply_floats};
pub use launch_loop::{In, apply, select};
pub(crate) use launch_loop::{Input, run_loop, word};
pub use loop_table::{Loop, LoopTable};
pub use loops::{Kernel, Predicate};
pub use nextafter::NEXT_AFTER;
#[cfg(feature = "python")]
use small::floats;
use small::{backward_call, contiguous, flat};
pub use where_loops::where_loop;
