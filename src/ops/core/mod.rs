//! How operations are declared, computed and recorded, and the layout operations that all families share.
//!
//! Invariant: an operation enters the graph through `structured` or `elementwise`; both end in `graph::record`.

#[macro_use]
mod declaration;
#[macro_use]
mod formulas;
pub mod broadcast;
pub(crate) mod complex_as_real;
pub mod f16;
pub(crate) mod int_range;
pub(crate) mod kernel_view;
pub(crate) mod row_indices;
pub mod shape_dtype;
pub(crate) mod structured;
pub(crate) mod view;

pub use declaration::{arguments, declare_op, op_decl, op_facts};
pub(crate) use formulas::{chain_rule, fused_backward};
pub use formulas::{elementwise, formula, symbolic};
