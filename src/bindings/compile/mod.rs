//! Compiled functions as Python calls them: tracing, guards, the match of arguments, and runs of programs.

pub(crate) mod argument_match;
pub(crate) mod bound_program;
pub(crate) mod compiled_call;
pub(crate) mod control_flow;
pub(crate) mod differentiable_program;
mod guards;
pub(crate) mod program;
pub(crate) mod run_count;
