//! What a derivative rule sees while it runs.
//!
//! Lends the gradients of the outputs and the saved values, and carries the gradients of the inputs to the engine.
//! It never shows the engine's tables.
//! Invariant: a gradient given to an input that the pass does not want is dropped, so rules may give unconditionally.

use super::arena::{Edge, NodeBorrow};
use super::engine::InputGrads;
use super::node::Node;
use super::saved::Saved;
use super::value::Value;
use crate::error::{Error, Result};

/// A running node: its gradients, its saved values, and where the gradients it gives go.
pub struct Context<'a, V: Value> {
    node: NodeBorrow<'a, V>,
    grads: &'a mut [Option<V>],
    saved: &'a [Saved<V>],
    targets: &'a [u32],
    input_grads: &'a mut dyn InputGrads<V>,
    create_graph: bool,
    batch: Option<usize>,
}

impl<'a, V: Value> Context<'a, V> {
    #[inline]
    pub(super) fn new(
        node: NodeBorrow<'a, V>,
        grads: &'a mut [Option<V>],
        saved: &'a [Saved<V>],
        targets: &'a [u32],
        input_grads: &'a mut dyn InputGrads<V>,
        create_graph: bool,
    ) -> Context<'a, V> {
        Context { node, grads, saved, targets, input_grads, create_graph, batch: None }
    }

    /// The same for gradients that are batches of this many rows.
    #[inline]
    pub(super) fn with_batch(self, batch: Option<usize>) -> Context<'a, V> {
        Context { batch, ..self }
    }

    /// The axes that gradients have before those of their values: one in a batched pass, otherwise none.
    /// Only rules that say so ([`Rule::batches`](super::rule::Rule::batches)) ever see one.
    #[inline]
    pub fn batch(&self) -> &[usize] {
        self.batch.as_slice()
    }

    /// The gradient of output `k`; `None` if it received none.
    #[inline]
    pub fn grad(&self, k: usize) -> Option<&V> {
        self.grads.get(k)?.as_ref()
    }

    /// The gradient of output `k`, owned: its buffer may be reused when nobody else shares it.
    #[inline]
    pub fn take_grad(&mut self, k: usize) -> Option<V> {
        self.grads.get_mut(k)?.take()
    }

    /// The gradients of the outputs, to be read while others are given; the context has none of them any more.
    #[inline]
    pub(crate) fn take_grads(&mut self) -> &'a mut [Option<V>] {
        std::mem::take(&mut self.grads)
    }

    /// How many outputs the operation has.
    #[inline]
    pub fn outputs(&self) -> usize {
        self.grads.len()
    }

    /// How many inputs the operation has.
    #[inline]
    pub fn inputs(&self) -> usize {
        self.targets.len()
    }

    /// Whether input `i` needs a gradient in this pass.
    #[inline]
    pub fn wants(&self, i: usize) -> bool {
        self.target(i).is_some()
    }

    /// Where the pass keeps the gradient of input `i`, if it needs one.
    #[inline(always)]
    pub(crate) fn target(&self, i: usize) -> Option<u32> {
        self.targets.get(i).copied().filter(|target| *target != NOWHERE)
    }

    /// Whether the gradients are themselves recorded.
    #[inline]
    pub fn create_graph(&self) -> bool {
        self.create_graph
    }

    /// The node whose rule is to run, for as long as its pass.
    #[inline]
    pub(super) fn running(&self) -> NodeBorrow<'a, V> {
        self.node
    }

    /// The node whose rule is running.
    #[inline]
    pub fn node(&self) -> &Node<V> {
        self.node.get()
    }

    /// Where the gradient of input `i` goes.
    #[inline]
    pub fn edge(&self, i: usize) -> Option<&Edge<V>> {
        self.node.get().edges().get(i)?.as_ref()
    }

    /// Rebuilds saved entry `i`, with its edge if the pass records; fails if it was changed in place meanwhile.
    #[inline]
    pub fn saved(&self, i: usize) -> Result<V> {
        match self.saved.get(i) {
            Some(entry) => entry.unpack(self.node, self.create_graph),
            None => Err(self.internal(format!("there is no saved entry {i}"))),
        }
    }

    /// The same with its edge in every pass: what a rule that the user wrote is given.
    #[inline]
    pub fn saved_with_edge(&self, i: usize) -> Result<V> {
        match self.saved.get(i) {
            Some(entry) => entry.unpack(self.node, true),
            None => Err(self.internal(format!("there is no saved entry {i}"))),
        }
    }

    /// The data of saved entry `i` in place, without its edge; the caller checks that it is unchanged.
    #[inline]
    pub fn payload(&self, i: usize) -> Option<&'a V::Payload> {
        self.saved.get(i)?.payload()
    }

    /// Saved number `i`.
    #[inline]
    pub fn scalar(&self, i: usize) -> Result<f64> {
        match self.saved.get(i) {
            Some(Saved::Scalar(x)) => Ok(*x),
            _ => Err(self.internal(format!("saved entry {i} is no number"))),
        }
    }

    /// The same, `None` where the entry is no number.
    #[inline]
    pub(crate) fn number(&self, i: usize) -> Option<f64> {
        match self.saved.get(i) {
            Some(Saved::Scalar(x)) => Some(*x),
            _ => None,
        }
    }

    /// How many entries were saved.
    pub fn saved_count(&self) -> usize {
        self.saved.len()
    }

    /// Whether entry `i` holds a value (not `Saved::None`, not a number).
    pub fn has_saved(&self, i: usize) -> bool {
        self.saved.get(i).is_some_and(|entry| !matches!(entry, Saved::None | Saved::Scalar(_)))
    }

    /// Gives `v` as the gradient of input `i`, adding to what that input has. Dropped if the pass does not want it.
    #[inline]
    pub fn give(&mut self, i: usize, v: V) -> Result<()> {
        match self.target(i) {
            Some(target) => self.input_grads.give(i, target, v),
            None if i < self.inputs() => Ok(()),
            None => {
                let what = format!("a gradient was given to input {i} of {}", self.inputs());
                Err(self.internal(what))
            }
        }
    }

    /// The same of a gradient that is zero but for a part: several such cost what the parts do. For passes that record
    /// nothing.
    #[inline]
    pub fn give_part(&mut self, i: usize, part: V::Part) -> Result<()> {
        match self.target(i) {
            Some(target) => self.input_grads.give_part(i, target, part),
            None => Ok(()),
        }
    }

    /// What input `i` has been given so far, if it is a sum that may be added to in place of a `give`. Only rules that do
    /// not record may.
    #[inline]
    pub(crate) fn sum(&mut self, i: usize) -> Option<&mut V> {
        self.target(i).and_then(|target| self.input_grads.sum(target))
    }

    /// Gives what lies there as the gradient of input `i`, as `give` does; it is taken only if the pass wants it.
    #[inline]
    pub(crate) fn pass(&mut self, i: usize, from: &mut Option<V>) -> Result<()> {
        match self.target(i) {
            Some(target) => self.input_grads.pass(i, target, from),
            None => Ok(()),
        }
    }

    /// Gives what `compute` makes as the gradient of input `i`, if the pass wants it.
    #[inline]
    pub fn give_with(&mut self, i: usize, compute: impl FnOnce(&Self) -> Result<V>) -> Result<()> {
        if !self.wants(i) {
            return Ok(());
        }
        let v = compute(self)?;
        self.give(i, v)
    }

    #[cold]
    fn internal(&self, what: String) -> Box<Error> {
        Error::Internal { op: self.node.get().name(), what }.into()
    }
}

/// The target of an input that needs no gradient in this pass.
pub(super) const NOWHERE: u32 = u32::MAX;
