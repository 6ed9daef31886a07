//! The handle users hold: counted storage, layout, dtype, and its place in the graph.
//!
//! Owns: `Tensor`, `Meta` (what only some tensors have) and the accumulator of a leaf.
//! Never does arithmetic: that is `ops`.
//! Invariant: no node and no saved value owns a `Meta`; handles do.

mod construct;
mod cut;
mod handle;
mod leaf;
mod meta;
mod saved;
mod stale;

pub(crate) use cut::with_cut_edge;
pub use handle::Tensor;
pub use leaf::Accumulate;
pub use meta::{Identity, Meta};
pub use saved::SavedTensor;
pub(crate) use stale::Stale;

/// An edge of the graph of tensors.
pub type Edge = crate::graph::Edge<Tensor>;
/// A counted handle on a node of the graph of tensors.
pub type Node = crate::graph::NodeRef<Tensor>;
