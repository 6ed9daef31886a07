//! Functions with a derivative that the user writes: the contract, and its Rust face.
//!
//! Owns: what one call records (`Call`), how returned gradients are checked (`Gradients`), the refusal of a second
//! derivative that would be wrong (`refuse`), and `trait Function`. The Python trampoline stands on the same parts.
//! Never a second mechanism: everything enters the graph through `graph::record`.
//! Invariant: forward runs with recording off; an output is a fresh handle, never an input itself.

mod call;
mod context;
mod double_backward_guard;
mod function;
mod gradients;

#[cfg(feature = "python")]
pub(crate) use crate::kernels::launch::require_all_gradients;
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
