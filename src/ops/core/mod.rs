//! How an operation is declared, computed and recorded, and the recorded ground that all operations stand on.
//!
//! Owns: declarations and their macros, element-wise evaluation, rules, and the layout operations of `layout`. Never knows an operation of a family, save `sym`, whose alphabet is the element-wise families.
//! Invariant: an operation enters the graph through `structured` or `elementwise`, and both end in `graph::record`.

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
pub(crate) mod structured;
pub(crate) mod view;

pub use declaration::{arguments, declare_op, op_decl, op_facts};
pub(crate) use formulas::{chain_rule, fused_backward, operand};
pub use formulas::{elementwise, formula, symbolic};
