//! `Value`: the interface of the values that flow through the graph; the tensor layer implements it.
//!
//! Invariant: a `Payload` holds data only, never an edge, so that a saved value cannot count its own node.

use std::borrow::Cow;
use std::sync::Arc;

use super::arena::{Arena, Edge};
use super::fused_nodes::FusedNodes;
use super::saved_value_hooks::Pack;
use crate::error::{Error, Result};

/// A value that operations record, and the type of gradients.
pub trait Value: Clone + Send + Sync + Sized + 'static {
    /// The data of a saved value, without autograd state.
    type Payload: Clone + Send + Sync + 'static;

    /// A gradient that is zero outside a slice, not yet padded; a rule may give one instead of a whole gradient.
    type Slice: Send + 'static;

    /// The arena of this type's nodes (one static per type).
    fn arena() -> &'static Arena<Self>;

    /// The data without the edge.
    fn pack(&self) -> Self::Payload;

    /// Fails for data that may not be saved for backward; called for every value that `op` saves.
    ///
    /// # Errors
    /// `Inference`.
    #[inline]
    fn admit(_payload: &Self::Payload, _op: impl FnOnce() -> Cow<'static, str>) -> Result<()> {
        Ok(())
    }

    /// Restores a value; `edge` is `None` if recording is off or the value needed no gradient.
    /// Fails with `Error::Modified { saved_by: op, .. }` if the data changed since `pack`.
    fn unpack(payload: Self::Payload, edge: Option<Edge<Self>>, op: &str) -> Result<Self>;

    /// The edge of this value; `None` if it needs no gradient. For a leaf: the edge to its accumulator.
    fn edge(&self) -> Option<Edge<Self>>;

    /// The bytes that the payload keeps alive.
    fn bytes(payload: &Self::Payload) -> usize;

    /// The packer of this thread, used while the mode `PACKING` is on.
    fn packer() -> Option<Arc<dyn Pack<Self>>> {
        None
    }

    /// A new leaf of zeros of the same shape and dtype, for the transpose of a VJP; `None` if the dtype has no derivatives.
    fn zero_leaf(&self) -> Result<Option<Self>> {
        Ok(None)
    }

    /// The kind and the shape of the value for messages, e.g. `tensor of shape (3,)`.
    fn describe(&self) -> String {
        "value".to_owned()
    }

    /// Whether an element is NaN; called in anomaly mode only.
    fn holds_nan(&self) -> bool {
        false
    }

    /// Row `k` of a batch: index `k` of the first axis. Recorded if grad mode is on.
    fn row(&self, _k: usize) -> Result<Self> {
        Err(no_axes())
    }

    /// Stacks rows along a new first axis, with zeros for absent ones; `None` if all are absent. Recorded if grad mode is on.
    fn batched(_rows: Vec<Option<Self>>) -> Result<Option<Self>> {
        Err(no_axes())
    }

    /// Runs element-wise rules ([`Rule::elementwise`](super::rule::Rule::elementwise)) fused and leaves the gradients of outputs outside the
    /// group, with the same bits as running them one by one. False if they cannot be fused; then the gradients are unchanged.
    /// Never recorded.
    fn backward_fused(_nodes: &mut FusedNodes<'_, Self>) -> Result<bool> {
        Ok(false)
    }

    /// `acc + new`. May reuse `acc`'s buffer if it is unique and recording is off; recorded if grad mode is on.
    fn accumulate(acc: Self, new: &Self) -> Result<Self>;

    /// Pads the slice with zeros. Never recorded.
    fn pad(slice: &Self::Slice) -> Result<Self>;

    /// `accumulate` of `acc` and the padded slice, with the same bits. `last` is the last addend of `acc` if that was a slice,
    /// `None` if it was a whole gradient: elements outside both slices are unchanged. Never recorded.
    fn accumulate_slice(acc: Self, last: Option<&Self::Slice>, slice: &Self::Slice)
    -> Result<Self>;
}

/// The error of values without axes in a batched pass.
#[cold]
fn no_axes() -> Box<Error> {
    Box::new(Error::Internal {
        op: "batch".into(),
        what: "values of this graph have no axes".into(),
    })
}
