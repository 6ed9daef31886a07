//! Element-wise loops: tables built from formulas (`loop_table!`), and the calls that run them.
//!
//! `LoopCall` is one call of a loop over contiguous elements; nothing else calls one. It is built by `FlatLoop` and
//! `SmallCall`, for a few contiguous elements and scalars (forward and backward); by `StridedCall`, for operands of any
//! strides; and by the lowered steps and chains of compiled functions, which know their operands from the trace.
//!
//! Invariant: an element has the same bits whichever fast path computes it.

mod casting;
pub mod complex_loops;
mod contiguous;
mod dispatch;
pub mod integer_division;
mod launch_loop;
mod loop_attributes;
mod loop_call;
mod loop_table;
pub mod loops;
mod nextafter;
pub mod row_broadcast;
mod scalar_operand;
mod small_call;
mod strided;
mod tile_copy;
mod transposed;
mod where_loops;

pub(crate) use casting::apply_converted;
pub use dispatch::{
    LoopWork, MAX_OPERANDS, Operand, OutOperand, StridedCall, parallel_blocks, parallel_units,
    split_above,
};
pub use launch_loop::{LoopOperand, apply, select};
pub(crate) use launch_loop::{ResolvedOperand, run_loop};
pub use loop_attributes::LoopAttributes;
pub use loop_call::{Loop, LoopCall, LoopFn};
pub use loop_table::LoopTable;
pub use loops::{Formula, Predicate};
pub use nextafter::NEXT_AFTER;
pub(crate) use scalar_operand::{SMALL_CALL_ELEMENTS, repeat_element, word};
pub use small_call::{Flat, FlatOperand};
pub(crate) use small_call::{SmallCall, select_flat};
pub use where_loops::where_loop;
