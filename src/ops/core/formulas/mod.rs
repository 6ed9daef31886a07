//! Operations written as a formula of one element: the text, its loops, its rule.
//!
//! Owns: the macro that reads a text, the way of a call through it, the derivative rule, and the short ways of both.
//! Never names an operation, save `sym`, whose alphabet is the element-wise families.
//! Invariant: a text has two readings, as loops over numbers and as operations on tensors, and both say the same.

pub(crate) mod chain_rule;
pub mod elementwise;
#[cfg(feature = "python")]
pub(crate) mod small;
#[macro_use]
pub mod formula;
pub(crate) mod fused_backward;
mod mixed_dtypes;
pub(crate) mod operand;
pub mod symbolic;
