//! The edge of a tensor in the graph: `requires_grad`, `grad_fn`, leaves, and `detach`.
//!
//! Invariant: the edge is that of the current values, also after in-place writes through other handles.

use std::cell::RefCell;

use crate::error::{Error, Result};
use crate::graph::{Flags, INFERENCE, Mode};
use crate::tensor::{DetachReason, Edge, Tensor, TensorFlags, ViewOrigin};

impl Tensor {
    /// Whether operations on this tensor are recorded.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        match self.meta() {
            None if self.edge.is_some() => true,
            None if self.version == self.storage.version() && !self.flags.has(TensorFlags::CUT) => {
                false
            }
            Some(meta) if meta.requires_grad() => true,
            Some(meta) if !meta.is_rebased() && self.edge.is_some() => true,
            Some(meta)
                if !meta.is_rebased()
                    && self.version == self.storage.version()
                    && !self.flags.has(TensorFlags::CUT) =>
            {
                false
            }
            _ => self.was_given_history(),
        }
    }

    /// Whether an in-place write gave this tensor a history, or a custom function's forward made it a cut tensor. Does not ask
    /// for the edge: that would make a node for every write of a loop.
    #[cold]
    fn was_given_history(&self) -> bool {
        let (own, since) = self.own_edge();
        own.is_some() || self.written_since(since) || (self.is_cut() && cut_edge().is_some())
    }

    /// The edge of this handle's own values, and the version it belongs to.
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

    /// The edge that a consumer of this tensor records: its producer's output, or a leaf's accumulator.
    #[inline]
    pub fn grad_edge(&self) -> Option<Edge> {
        let edge = match self.meta() {
            None => self.produced_edge(),
            Some(meta) => meta.leaf_edge(self).or_else(|| self.produced_edge()),
        };
        edge.or_else(|| if self.is_cut() { cut_edge() } else { None })
    }

    /// The edge of the current values.
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

    /// The node that produced this tensor, if the tensor has no meta and was not written since.
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

    /// The edge to the producer; `None` for a leaf.
    pub(crate) fn producer_edge(&self) -> Option<Edge> {
        self.produced_edge().filter(|edge| !edge.node().flags().has(Flags::ACCUMULATOR))
    }

    /// Sets `requires_grad` of a leaf. A 0-d value becomes memory, since it can now receive a gradient.
    pub fn set_requires_grad(&self, on: bool) -> Result<()> {
        if self.is_leaf() && on != self.requires_grad() {
            self.storage.count_requires_grad_switch();
        }
        self.make_leaf(on)?;
        if on {
            self.become_memory();
        }
        Ok(())
    }

    /// As `set_requires_grad`, for a new tensor.
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

    /// The same data outside the graph; storage, version and history of the memory are shared.
    #[inline]
    pub fn detach(&self) -> Tensor {
        let mut same =
            Tensor::assemble(self.storage.clone(), self.layout.clone(), self.dtype, None);
        // Only the sum itself has `ZERO_PADDED`: another sum may be computed in the memory.
        (same.flags, same.view_origin) =
            (self.flags.without(TensorFlags::ZERO_PADDED), self.view_origin);
        same.with_kind_of(self).cut_from(self, DetachReason::Detach)
    }

    /// The same data as a tensor with its own history: the users' `detach()`.
    pub(crate) fn detached(&self) -> Tensor {
        let shared = self.storage.data_handle();
        let mut detached = Tensor::assemble(shared, self.layout.clone(), self.dtype, None);
        detached.flags = TensorFlags::DETACHED;
        if self.is_read_only() {
            detached.flags = detached.flags.with(TensorFlags::READ_ONLY);
        }
        if self.is_inference() {
            detached.flags = detached.flags.with(TensorFlags::INFERENCE);
        }
        if self.view_origin == ViewOrigin::Element && self.is_value() {
            detached.view_origin = ViewOrigin::Element;
        }
        detached.with_kind_of(self).cut_from(self, DetachReason::Detach)
    }

    /// The data of a custom function's result outside the graph, with the flags of its forward reset; `shared`: another live
    /// tensor shows the same memory.
    pub(crate) fn as_function_output(&self, shared: bool) -> Tensor {
        let mut returned = self.detach();
        returned.flags = if shared { TensorFlags::VIEW } else { TensorFlags::default() };
        if self.storage.is_data_handle() {
            returned.flags = returned.flags.with(TensorFlags::DETACHED);
        }
        returned.view_origin = ViewOrigin::Plain;
        returned.with_origin(ViewOrigin::CustomFunction)
    }
}

/// For the host language, where several tensors may write to one memory.
#[cfg(feature = "python")]
impl Tensor {
    /// Marks this new tensor if it is made in inference mode.
    pub(crate) fn in_mode(self) -> Tensor {
        if Mode::current().has(INFERENCE) { self.marked(TensorFlags::INFERENCE) } else { self }
    }

    /// This restored value as a tensor that users may view and write.
    pub(crate) fn into_detached(self) -> Tensor {
        if self.meta().is_some() { self } else { self.marked(TensorFlags::DETACHED) }
    }

    /// `detach_`: takes this tensor out of the graph, with its leaf state. Views keep their history.
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

thread_local! {
    /// The edge of cut tensors while a custom function's backward is recorded: operations on intermediate results of its
    /// unrecorded forward lead to a node that refuses a second derivative. Otherwise a cut tensor is a constant.
    static CUT_EDGE: RefCell<Option<Edge>> = const { RefCell::new(None) };
}

struct RestoreEdge(Option<Edge>);

impl Drop for RestoreEdge {
    fn drop(&mut self) {
        let _ended = CUT_EDGE.replace(self.0.take());
    }
}

/// Runs a recorded backward, in which cut tensors have `edge`.
pub(crate) fn with_cut_edge<R>(edge: Edge, body: impl FnOnce() -> R) -> R {
    let _restore = RestoreEdge(CUT_EDGE.replace(Some(edge)));
    body()
}

/// The current edge of cut tensors.
#[cold]
fn cut_edge() -> Option<Edge> {
    CUT_EDGE.with_borrow(Option::clone)
}
