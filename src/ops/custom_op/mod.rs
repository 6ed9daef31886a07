//! Custom operations with a user-written backward: recording, gradient checks, and the Rust trait. The Python rule in the
//! bindings uses the same parts.
//!
//! Invariant: forward runs with recording off; an output is a new handle, never an input itself.

mod call;
mod context;
mod double_backward_guard;
mod function;
mod gradient_check;

#[cfg(feature = "python")]
pub(crate) use crate::kernels::launch::require_all_gradients;
#[cfg(feature = "python")]
pub(crate) use call::output;
pub use call::{FunctionCall, SavedKind, SavedRole};
pub use context::FunctionContext;
#[cfg(feature = "python")]
pub(crate) use context::{cleared_error, index_error, key_error};
#[cfg(feature = "python")]
pub(crate) use double_backward_guard::guard_edge;
pub(crate) use double_backward_guard::intermediate_edge;
pub use function::Function;
pub use gradient_check::GradientCheck;
