//! `Tensor`: a handle of storage, layout, dtype and an edge in the graph.
//!
//! Also `Meta` (state of few tensors), accumulators of leaves, saved tensors, and the history of memory written in place.
//! Arithmetic is in `ops`. Invariant: no node and no saved value owns a `Meta`; handles do.

mod autograd;
mod construct;
mod detach_reason;
mod display;
mod flags;
mod grad;
mod handle;
mod inplace;
mod meta;
mod saved;
pub(crate) mod saved_tensor_hooks;
mod unrecorded;

pub use accumulator::Accumulate;
pub(crate) use autograd::with_cut_edge;
pub(crate) use detach_reason::AtomicDetachReason;
pub use detach_reason::DetachReason;
pub(crate) use flags::TensorFlags;
pub(crate) use grad::traced_grad_effects;
use grad::{accumulator, grad_holders, retain_grad};
pub use handle::Tensor;
pub(crate) use history::Write;
use inplace::{history, region, view_origin};
pub use meta::{Identity, Meta};
pub(crate) use region::{Region, same_elements, same_positions};
pub use saved::SavedTensor;
pub(crate) use view_origin::ViewOrigin;

/// An edge of the graph of tensors.
pub type Edge = crate::graph::Edge<Tensor>;
/// A counted handle on a node of the graph of tensors.
pub type Node = crate::graph::NodeRef<Tensor>;
