//! Operations written in Python: one trampoline node under two faces.
//!
//! Owns: `Function` (static, ctx first), `CustomFunction` (an instance with parameters), their context, and the
//! foreign rule through which the engine calls back. Never computes: gradients are checked by `ops::function`.
//! Invariant: a call enters the graph through the same gate as every operation, or leaves no trace in it.

mod arguments;
mod call;
mod context;
mod context_methods;
mod faces;
mod foreign;
mod form;
mod gradients;
mod outputs;
mod results;
mod rule;
mod saved;
mod tree;

pub(crate) use context::FunctionContext;
pub(crate) use custom::{CustomFunction, mark};
pub(crate) use direct::{_run, _wrap_forward};
pub(crate) use face::{Function, once_differentiable};
use faces::{custom, direct, face};
pub(crate) use foreign::recorded;
pub(crate) use rule::{attributes_of, context_of, is_custom, output_specs};
