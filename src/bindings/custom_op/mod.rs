//! Operations written in Python: one trampoline node under two faces.
//!
//! Owns: `Function` (static, ctx first), `CustomFunction` (an instance with parameters), their context, and the
//! foreign rule through which the engine calls back. Never computes: gradients are checked by `ops::custom_op`.
//! Invariant: a call enters the graph through the same gate as every operation, or leaves no trace in it.

mod arguments;
mod call;
mod class_info;
mod classes;
mod context;
mod context_methods;
mod gradients;
mod host_function;
mod outputs;
mod python_rule;
mod pytree;
mod results;
mod saved;

use classes::{custom_function, function, functor_run};
pub(crate) use context::FunctionContext;
pub(crate) use custom_function::{CustomFunction, mark};
pub(crate) use function::{Function, once_differentiable};
pub(crate) use functor_run::{_run, _wrap_forward};
pub(crate) use host_function::recorded;
pub(crate) use python_rule::{attributes_of, context_of, is_custom, output_specs};
