//! How an operation is declared, computed and recorded, and the recorded ground that all operations stand on.
//!
//! Owns: declarations and their macros, element-wise evaluation, rules, and the layout operations of `layout`. Never knows an operation of a family, save `sym`, whose alphabet is the element-wise families.
//! Invariant: an operation enters the graph through `structured` or `elementwise`, and both end in `graph::record`.

#[macro_use]
mod declaration;
#[macro_use]
mod formulas;
pub mod halves;
pub(crate) mod integers;
pub mod layout;
pub(crate) mod operand;
pub(crate) mod parts;
pub(crate) mod row_indices;
pub(crate) mod structured;
pub(crate) mod view;

pub use declaration::{arguments, declare, facts, operations};
#[cfg(feature = "python")]
pub(crate) use formulas::over;
pub(crate) use formulas::{chain_rule, slot, together};
pub use formulas::{elementwise, formula, sym};
