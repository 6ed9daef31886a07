//! Operations written in Python: `Function`, `CustomFunction` and the functors' `run`, which share one node rule that
//! calls back into Python.

mod arguments;
mod call;
mod class_info;
mod classes;
mod context;
mod context_saved;
mod gradients;
mod outputs;
mod python_jvp;
mod python_rule;
mod tensor_slots;
mod traced_host_callback;

use classes::{custom_function, function, functor_run};
pub(crate) use context::FunctionContext;
pub(crate) use custom_function::{CustomFunction, mark_abstract};
pub(crate) use function::{Function, once_differentiable};
pub(crate) use functor_run::{_run, _wrap_forward};
pub(crate) use python_rule::{attributes_of, context_of, is_custom, output_specs};
pub(crate) use traced_host_callback::trace_with_retry;
