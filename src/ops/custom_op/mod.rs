//! Custom operations with a user-written backward: recording, gradient checks, and the Rust trait. The Python rule in the
//! bindings uses the same parts.
//!
//! Invariant: forward runs with recording off; an output is a new handle, never an input itself.

mod call;
mod context;
mod double_backward_guard;
mod function;
mod gradients;

#[cfg(feature = "python")]
pub(crate) use crate::kernels::launch::keep_whole;
#[cfg(feature = "python")]
pub(crate) use call::output;
pub use call::{Call, SavedKind, SavedRole, Spec};
pub use context::FunctionContext;
#[cfg(feature = "python")]
pub(crate) use context::{disposed, missing_key, out_of_range};
pub(crate) use double_backward_guard::intermediate;
#[cfg(feature = "python")]
pub(crate) use double_backward_guard::refuse;
pub use function::Function;
pub use gradients::Gradients;
