//! How an operation is declared, computed and recorded, and the recorded ground that all operations stand on.
//!
//! Owns: declarations and their macros, element-wise evaluation, rules, and the layout operations of `layout`. Never knows an operation of a family, save `sym`, whose alphabet is the element-wise families.
//! Invariant: an operation enters the graph through `structured` or `elementwise`, and both end in `graph::record`.

pub mod arguments;
pub(crate) mod chain_rule;
pub mod declare;
pub mod elementwise;
pub mod facts;
#[cfg(feature = "python")]
pub(crate) mod few;
#[macro_use]
pub mod formula;
pub mod halves;
pub(crate) mod integers;
pub mod layout;
pub(crate) mod operand;
#[macro_use]
pub mod operations;
pub(crate) mod parts;
pub(crate) mod row_indices;
pub(crate) mod slot;
pub(crate) mod structured;
pub mod sym;
pub(crate) mod together;
pub(crate) mod view;
