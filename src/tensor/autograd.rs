//! A tensor's edge in the graph: whether it has one, which, and how it gets and leaves it.
//!
//! Owns: the edge that consumers record, the state of leaves, and every form of `detach`. Never records.
//! Invariant: the edge is that of the values as they are now, whoever changed them in place.

use crate::error::{Error, Result};
use crate::graph::{Flags, INFERENCE, Mode};
use crate::tensor::cut_edge::cut_edge;
use crate::tensor::{Cause, Creation, Edge, Marks, Tensor};

impl Tensor {
    /// Whether operations on this tensor are recorded.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        match self.meta() {
            None if self.edge.is_some() => true,
            None if self.version == self.storage.version() && !self.marks.has(Marks::CUT) => false,
            Some(meta) if meta.requires_grad() => true,
            Some(meta) if !meta.is_rebased() && self.edge.is_some() => true,
            Some(meta)
                if !meta.is_rebased()
                    && self.version == self.storage.version()
                    && !self.marks.has(Marks::CUT) =>
            {
                false
            }
            _ => self.was_given_history(),
        }
    }

    /// Whether a change in place gave this tensor a history, or a custom function's forward a reason to refuse one. Asks
    /// for no edge: that would make a node for every write of a loop.
    #[cold]
    fn was_given_history(&self) -> bool {
        let (own, since) = self.own_edge();
        own.is_some() || self.written_since(since) || (self.is_cut() && cut_edge().is_some())
    }

    /// The edge of this tensor's values at some version, and that version.
    pub(super) fn own_edge(&self) -> (Option<Edge>, u32) {
        match self.meta() {
            Some(meta) if meta.is_rebased() => meta.rebased(),
            _ => (self.edge.clone(), self.version),
        }
    }

    /// Whether no operation produced this tensor.
    pub fn is_leaf(&self) -> bool {
        let (own, since) = self.own_edge();
        let led_to = |edge: Edge| edge.node().flags().has(Flags::ACCUMULATOR);
        own.is_none_or(led_to) && !self.written_since(since)
    }

    /// The edge a consumer of this tensor records: its producer's output, or a leaf's accumulator.
    #[inline]
    pub fn grad_edge(&self) -> Option<Edge> {
        let edge = match self.meta() {
            None => self.produced_edge(),
            Some(meta) => meta.leaf_edge(self).or_else(|| self.produced_edge()),
        };
        edge.or_else(|| if self.is_cut() { cut_edge() } else { None })
    }

    /// The history of the values as they are now.
    #[inline]
    fn produced_edge(&self) -> Option<Edge> {
        let version = self.storage.version();
        match self.meta() {
            Some(meta) if meta.is_rebased() => {
                let (edge, since) = meta.rebased();
                if since == version { edge } else { self.changed_edge(edge.as_ref(), since) }
            }
            _ if self.version == version => self.edge.clone(),
            _ => self.changed_edge(self.edge.as_ref(), self.version),
        }
    }

    /// The node that produced this tensor, or `None` for a leaf.
    pub fn grad_fn(&self) -> Option<crate::tensor::Node> {
        self.producer_edge().map(|edge| edge.node().clone())
    }

    /// The node that produced this tensor, if it has no state and was not changed since.
    #[cfg(feature = "python")]
    pub(crate) fn own_producer(&self) -> Option<&crate::tensor::Node> {
        let own = self.meta().is_none() && self.version == self.storage.version();
        let edge = self.edge.as_ref().filter(|_| own)?;
        (!edge.node().flags().has(Flags::ACCUMULATOR)).then(|| edge.node())
    }

    /// The address of the node that produced this tensor, or `None` for a leaf.
    #[cfg(feature = "python")]
    pub(crate) fn producer(&self) -> Option<usize> {
        match self.own_producer() {
            Some(node) => Some(node.address()),
            None => self.grad_fn().map(|node| node.address()),
        }
    }

    /// The edge to the producer; a leaf has none.
    pub(crate) fn producer_edge(&self) -> Option<Edge> {
        self.produced_edge().filter(|edge| !edge.node().flags().has(Flags::ACCUMULATOR))
    }

    /// Marks a leaf as requiring a gradient, or takes the mark away. Whoever asks for that wants memory, also without axes.
    pub fn set_requires_grad(&self, on: bool) -> Result<()> {
        if self.is_leaf() && on != self.requires_grad() {
            self.storage.note_switch();
        }
        self.make_leaf(on)?;
        if on {
            self.become_memory();
        }
        Ok(())
    }

    /// The same for a tensor that is new, whatever else sees its memory.
    pub(crate) fn make_leaf(&self, on: bool) -> Result<()> {
        if !self.is_leaf() {
            if on {
                return Ok(());
            }
            return Err(Box::new(Error::State {
                op: "requires_grad".into(),
                what: "only leaf tensors can change requires_grad".into(),
                remedy: "use detach() for a tensor outside the graph",
            }));
        }
        if on && !self.dtype.is_inexact() {
            return Err(Box::new(Error::NotFloat { op: "requires_grad".into(), got: self.dtype }));
        }
        if on && self.is_inference() && !Mode::current().has(INFERENCE) {
            return Err(Box::new(Error::Inference {
                op: "requires_grad".into(),
                what: "a tensor made in inference mode was to require grad",
                remedy: "clone() it outside inference mode",
            }));
        }
        self.ensure_meta().set_requires_grad(on);
        self.mark_leaf(on);
        Ok(())
    }

    /// This tensor as a leaf that requires a gradient. # Panics: if the dtype is not a float.
    pub fn with_grad(self) -> Tensor {
        self.make_leaf(true).expect("a float leaf");
        self
    }

    /// The same data outside the graph; storage and version are shared.
    #[inline]
    pub fn detach(&self) -> Tensor {
        let mut same =
            Tensor::assemble(self.storage.clone(), self.layout.clone(), self.dtype, None);
        // What is made of a sum in its memory is another sum.
        (same.marks, same.creation) = (self.marks.without(Marks::SETTLED), self.creation);
        same.in_kind_of(self).cut_from(self, Cause::Detach)
    }

    /// The same data as a tensor with a history of its own: `detach` as users know it.
    pub(crate) fn detached(&self) -> Tensor {
        let shared = self.storage.data_handle();
        let mut detached = Tensor::assemble(shared, self.layout.clone(), self.dtype, None);
        detached.marks = Marks::DETACHED;
        if self.is_read_only() {
            detached.marks = detached.marks.and(Marks::READ_ONLY);
        }
        if self.is_inference() {
            detached.marks = detached.marks.and(Marks::INFERENCE);
        }
        if self.creation == Creation::Element && self.is_value() {
            detached.creation = Creation::Element;
        }
        detached.in_kind_of(self).cut_from(self, Cause::Detach)
    }

    /// The data of a custom function's result outside the graph, with no mark of how forward made it; `shared` says
    /// whether something that lives on shows the same memory.
    pub(crate) fn returned(&self, shared: bool) -> Tensor {
        let mut returned = self.detach();
        returned.marks = if shared { Marks::VIEW } else { Marks::default() };
        if self.storage.is_data_handle() {
            returned.marks = returned.marks.and(Marks::DETACHED);
        }
        returned.creation = Creation::Plain;
        returned.created(Creation::CustomFunction)
    }
}

/// What only objects of a host language need: there, several tensors may change one memory.
#[cfg(feature = "python")]
impl Tensor {
    /// This new tensor, marked when it is made in inference mode.
    pub(crate) fn in_mode(self) -> Tensor {
        if Mode::current().has(INFERENCE) { self.marked(Marks::INFERENCE) } else { self }
    }

    /// This restored value as one that users may take views of and change.
    pub(crate) fn into_detached(self) -> Tensor {
        if self.meta().is_some() { self } else { self.marked(Marks::DETACHED) }
    }

    /// Takes this tensor out of the graph; its leaf state goes, too. Views keep the history they have.
    pub(crate) fn detach_in_place(&self) -> Result<()> {
        if self.is_view() {
            return Err(Box::new(Error::State {
                op: "detach_".into(),
                what: "a view cannot be detached in place".into(),
                remedy: "use detach() instead",
            }));
        }
        if self.is_leaf() {
            return self.set_requires_grad(false);
        }
        self.forget_history();
        self.ensure_meta().rebase(None, self.storage.version());
        Ok(())
    }
}
