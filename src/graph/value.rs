//! What the graph asks of the values that flow through it.
//!
//! Owns nothing; the tensor layer implements it, and tests implement it for newtypes over `f64`.
//! Invariant: a `Payload` holds data only, never an edge of its own, so that a saved value cannot count its own node.

use std::borrow::Cow;
use std::sync::Arc;

use super::arena::{Arena, Edge};
use super::fused_nodes::Together;
use super::saved_value_hooks::Pack;
use crate::error::{Error, Result};

/// A value that operations record and gradients are made of.
pub trait Value: Clone + Send + Sync + Sized + 'static {
    /// What a saved value stores: the data without autograd state.
    type Payload: Clone + Send + Sync + 'static;

    /// A gradient that is zero but for a part, before it is laid out: what a rule may give instead of a whole one.
    type Part: Send + 'static;

    /// The arena of this type's nodes: one static per type.
    fn arena() -> &'static Arena<Self>;

    /// The data, stripped of the edge.
    fn pack(&self) -> Self::Payload;

    /// Refuses data that may not be saved for backward; every value that `op` saves is asked about.
    ///
    /// # Errors
    /// `Inference`.
    #[inline]
    fn admit(_payload: &Self::Payload, _op: impl FnOnce() -> Cow<'static, str>) -> Result<()> {
        Ok(())
    }

    /// Rebuilds a value; `edge` is `None` when recording is off or the value needed no gradient.
    /// Fails with `Error::Modified { saved_by: op, .. }` if the data changed since `pack`.
    fn unpack(payload: Self::Payload, edge: Option<Edge<Self>>, op: &str) -> Result<Self>;

    /// Where this value's gradient goes; `None` when it needs none. For a leaf: the edge to its accumulator.
    fn edge(&self) -> Option<Edge<Self>>;

    /// How many bytes the payload keeps alive.
    fn bytes(payload: &Self::Payload) -> usize;

    /// What packs saved values on this thread while the mode `PACKING` is on.
    fn packer() -> Option<Arc<dyn Pack<Self>>> {
        None
    }

    /// Whether an element is not a number; asked in anomaly mode only.
    fn holds_nan(&self) -> bool {
        false
    }

    /// Row `k` of a batch: the value without its first axis. Recorded when grad mode is on.
    fn row(&self, _k: usize) -> Result<Self> {
        Err(no_axes())
    }

    /// The batch of these rows along a new first axis, with zeros for those that are absent; `None` when all are.
    /// Recorded when grad mode is on.
    fn batched(_rows: Vec<Option<Self>>) -> Result<Option<Self>> {
        Err(no_axes())
    }

    /// Runs rules that are local ([`Rule::local`](super::rule::Rule::local)) at once, and leaves the gradients that go
    /// beyond them, to the bit what the rules would give one after the other; false if that is not to be had, then the
    /// gradients are as they were. Never recorded.
    fn together(_nodes: &mut Together<'_, Self>) -> Result<bool> {
        Ok(false)
    }

    /// `acc + new`. May reuse `acc`'s buffer if it is unique and recording is off; recorded when grad mode is on.
    fn accumulate(acc: Self, new: &Self) -> Result<Self>;

    /// The part among zeros. Never recorded.
    fn place(part: &Self::Part) -> Result<Self>;

    /// What `accumulate` makes of `acc` and the part among zeros, to the bit. `last` is the part that `acc` was given last,
    /// `None` if that was a whole gradient: what lies in neither is known to stay as it is. Never recorded.
    fn accumulate_part(acc: Self, last: Option<&Self::Part>, part: &Self::Part) -> Result<Self>;
}

/// Values without axes take part in no batched pass.
#[cold]
fn no_axes() -> Box<Error> {
    Box::new(Error::Internal {
        op: "batch".into(),
        what: "values of this graph have no axes".into(),
    })
}
