//! The handle users hold: counted storage, layout, dtype, and its edge in the graph.
//!
//! Owns: `Tensor`, `Meta` (what only some tensors have), the accumulator of a leaf, and the history of memory
//! that was changed in place.
//! Never does arithmetic: that is `ops`.
//! Invariant: no node and no saved value owns a `Meta`; handles do.

mod autograd;
mod cause;
mod changed;
mod construct;
mod cut;
mod display;
mod gradients;
mod handle;
mod marks;
mod meta;
pub(crate) mod packing;
mod results;
mod saved;

pub use cause::Cause;
pub(crate) use cause::CutCause;
use changed::{creation, history, region};
pub(crate) use creation::Creation;
pub(crate) use cut::with_cut_edge;
pub(crate) use gradients::effects;
use gradients::{holders, leaf, retain};
pub use handle::Tensor;
pub(crate) use history::Write;
pub use leaf::Accumulate;
pub(crate) use marks::Marks;
pub use meta::{Identity, Meta};
pub(crate) use region::{Region, same_elements, same_places};
pub use saved::SavedTensor;

/// An edge of the graph of tensors.
pub type Edge = crate::graph::Edge<Tensor>;
/// A counted handle on a node of the graph of tensors.
pub type Node = crate::graph::NodeRef<Tensor>;
