//! The three ways to write an operation in Python: `Function` classes, `CustomFunction` instances, and functions given
//! to `run`. All end in the same `CustomCall` and node.

pub(super) mod custom_function;
pub(super) mod function;
pub(super) mod functor_run;
