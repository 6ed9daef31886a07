//! `Context`: what a rule sees while it runs.
//!
//! The gradients of the outputs, the saved values, and the receiver of the inputs' gradients.
//! Invariant: a gradient of an input that the pass does not need is dropped, so rules may give unconditionally.

use super::arena::{Edge, NodeBorrow};
use super::engine::InputGrads;
use super::node::Node;
use super::saved::Saved;
use super::value::Value;
use crate::error::{Error, Result};

/// A running node: its gradients, its saved values, and the targets of its inputs' gradients.
pub struct Context<'a, V: Value> {
    node: NodeBorrow<'a, V>,
    grads: &'a mut [Option<V>],
    saved: &'a [Saved<V>],
    targets: &'a [u32],
    input_grads: &'a mut dyn InputGrads<V>,
    create_graph: bool,
    batch: Option<usize>,
    saved_edges: SavedEdges<'a, V>,
    outputs: &'a [V],
}

/// Which edges saved values are restored with.
pub(super) enum SavedEdges<'a, V: Value> {
    /// Their own, if the pass records.
    Own,
    /// Those below a level of forward mode; `outputs` are the edges of the node's outputs.
    Below {
        /// The serial number of the level.
        level: u64,
        /// The edges of the node's outputs below the level.
        outputs: &'a [Option<Edge<V>>],
    },
    /// None.
    Absent,
}

impl<V: Value> Clone for SavedEdges<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Value> Copy for SavedEdges<'_, V> {}

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
        let (saved_edges, outputs): (_, &[V]) = (SavedEdges::Own, &[]);
        Context {
            node,
            grads,
            saved,
            targets,
            input_grads,
            create_graph,
            batch: None,
            saved_edges,
            outputs,
        }
    }

    /// For gradients with a batch of this many rows.
    #[inline]
    pub(super) fn with_batch(self, batch: Option<usize>) -> Context<'a, V> {
        Context { batch, ..self }
    }

    /// With the values of the outputs, for a JVP.
    pub(super) fn with_outputs(self, outputs: &'a [V]) -> Context<'a, V> {
        Context { outputs, ..self }
    }

    /// The values of the outputs; empty in a VJP.
    pub(crate) fn outputs_of_call(&self) -> &'a [V] {
        self.outputs
    }

    /// With other edges of saved values.
    pub(super) fn with_saved_edges(self, saved_edges: SavedEdges<'a, V>) -> Context<'a, V> {
        Context { saved_edges, ..self }
    }

    /// The leading axes of gradients beyond those of their values: one in a batched pass, otherwise none. Only rules that
    /// support batches ([`Rule::supports_batch`](super::rule::Rule::supports_batch)) see one.
    #[inline]
    pub fn batch(&self) -> &[usize] {
        self.batch.as_slice()
    }

    /// The gradient of output `k`; `None` if it received none.
    #[inline]
    pub fn grad(&self, k: usize) -> Option<&V> {
        self.grads.get(k)?.as_ref()
    }

    /// Takes the gradient of output `k`: its buffer may be reused if it is not shared.
    #[inline]
    pub fn take_grad(&mut self, k: usize) -> Option<V> {
        self.grads.get_mut(k)?.take()
    }

    /// Takes all gradients of the outputs, to be read while others are given.
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

    /// The target of input `i`, if it needs a gradient.
    #[inline(always)]
    pub(crate) fn target(&self, i: usize) -> Option<u32> {
        self.targets.get(i).copied().filter(|target| *target != NO_TARGET)
    }

    /// Whether the gradients are recorded.
    #[inline]
    pub fn create_graph(&self) -> bool {
        self.create_graph
    }

    /// The running node, borrowed for the pass.
    #[inline]
    pub(super) fn borrow_node(&self) -> NodeBorrow<'a, V> {
        self.node
    }

    /// The running node.
    #[inline]
    pub fn node(&self) -> &Node<V> {
        self.node.get()
    }

    /// The edge of input `i`.
    #[inline]
    pub fn edge(&self, i: usize) -> Option<&Edge<V>> {
        self.node.get().edges().get(i)?.as_ref()
    }

    /// Restores saved value `i`, with its edge if the pass records; fails if it was changed in place.
    #[inline]
    pub fn saved(&self, i: usize) -> Result<V> {
        match self.saved.get(i) {
            Some(entry) => self.restore(entry, self.create_graph),
            None => Err(self.internal(format!("there is no saved entry {i}"))),
        }
    }

    /// As `saved`, with the edge in every pass: for rules written by users.
    #[inline]
    pub fn saved_with_edge(&self, i: usize) -> Result<V> {
        match self.saved.get(i) {
            Some(entry) => self.restore(entry, true),
            None => Err(self.internal(format!("there is no saved entry {i}"))),
        }
    }

    #[inline]
    fn restore(&self, entry: &Saved<V>, record: bool) -> Result<V> {
        match self.saved_edges {
            SavedEdges::Own => entry.unpack(self.node, record),
            SavedEdges::Below { level, outputs } if record => {
                entry.unpack_below(self.node, level, outputs)
            }
            _ => entry.unpack(self.node, false),
        }
    }

    /// The data of saved value `i` in place, without its edge; the caller checks that it is unchanged.
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

    /// Saved number `i`; `None` if the entry is not a number.
    #[inline]
    pub(crate) fn number(&self, i: usize) -> Option<f64> {
        match self.saved.get(i) {
            Some(Saved::Scalar(x)) => Some(*x),
            _ => None,
        }
    }

    /// The number of saved entries.
    pub fn saved_count(&self) -> usize {
        self.saved.len()
    }

    /// Whether entry `i` is a value (not `Saved::None`, not a number).
    pub fn has_saved(&self, i: usize) -> bool {
        self.saved.get(i).is_some_and(|entry| !matches!(entry, Saved::None | Saved::Scalar(_)))
    }

    /// Adds `v` to the gradient of input `i`; dropped if the pass does not need it.
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

    /// As `give`, for a gradient that is zero outside a slice: several of them cost what the slices cost. For passes that do
    /// not record.
    #[inline]
    pub fn give_slice(&mut self, i: usize, slice: V::Slice) -> Result<()> {
        match self.target(i) {
            Some(target) => self.input_grads.give_slice(i, target, slice),
            None => Ok(()),
        }
    }

    /// The gradient of input `i` so far, if it may be added to in place instead of a `give`. For rules that do not record.
    #[inline]
    pub(crate) fn partial_sum(&mut self, i: usize) -> Option<&mut V> {
        self.target(i).and_then(|target| self.input_grads.partial_sum(target))
    }

    /// As `give`, taking the value out of `from` only if the pass needs it.
    #[inline]
    pub(crate) fn give_from(&mut self, i: usize, from: &mut Option<V>) -> Result<()> {
        match self.target(i) {
            Some(target) => self.input_grads.give_from(i, target, from),
            None => Ok(()),
        }
    }

    /// Gives the result of `compute` as the gradient of input `i`, if the pass needs it.
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
pub(super) const NO_TARGET: u32 = u32::MAX;
