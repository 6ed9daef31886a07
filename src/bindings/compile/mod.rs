//! Compiled functions as Python calls them: tracing, guards, the match of arguments, and runs of programs.

pub(crate) mod bound_program;
pub(crate) mod call_signature;
pub(crate) mod compiled_call;
pub(crate) mod control_flow;
pub(crate) mod differentiable_program;
mod guards;
mod leaf_key;
pub(crate) mod program;
pub(crate) mod result_structure;
pub(crate) mod run_count;
