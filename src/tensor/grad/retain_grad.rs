//! `retain_grad`: gradients of non-leaf tensors.
//!
//! A hook at the producing node stores the gradient in the tensor's meta, which it knows weakly.
//! Invariant: a tensor has at most one hook, at the node that produced its current value.

use std::sync::{Arc, Weak};

use crate::error::{Error, Result};
use crate::graph::{NodeId, RetainGradHook};
use crate::tensor::{Edge, Meta, Tensor};

/// Whether the gradient of a non-leaf is retained.
#[derive(Default)]
pub(in crate::tensor) enum Retention {
    #[default]
    Off,
    /// Yes, but the tensor was written in place and the edge of its new value has not been made: no gradient can arrive.
    Pending,
    /// By the hook with this key at this node.
    Hook(NodeId<Tensor>, u64),
}

/// Stores the gradient of a non-leaf in its meta, if a handle still lives.
struct RetainedGrad(Weak<Meta>);

impl RetainGradHook<Tensor> for RetainedGrad {
    fn store(&self, grad: Tensor, create_graph: bool) -> Result<()> {
        match self.0.upgrade() {
            Some(meta) => meta.accumulate(grad.separate(create_graph)?, create_graph),
            None => Ok(()),
        }
    }
}

fn attach_hook(meta: &Arc<Meta>, edge: &Edge) -> Retention {
    let hook = Arc::new(RetainedGrad(Arc::downgrade(meta)));
    let key = edge.node().attachments_or_new().add_retain_grad_hook(edge.output(), hook);
    Retention::Hook(edge.node().id(), key)
}

fn detach_hook(retention: Retention) {
    if let Retention::Hook(id, key) = retention
        && let Some(node) = id.upgrade()
    {
        node.attachments_or_new().remove(key);
    }
}

/// Moves the hook of a tensor that was written in place to the node of its new value.
pub(in crate::tensor) fn move_hook(meta: &Arc<Meta>, edge: Option<&Edge>) {
    if meta.retains_grad() {
        let now = edge.map_or(Retention::Pending, |edge| attach_hook(meta, edge));
        detach_hook(meta.set_retained(now));
    }
}

/// Removes the hook from the node of a value that was overwritten.
pub(in crate::tensor) fn remove_hook(meta: &Arc<Meta>) {
    move_hook(meta, None);
}

impl Tensor {
    /// Retains the gradient of a non-leaf in its `grad`; does nothing for a leaf.
    ///
    /// # Errors
    /// `State` when the tensor does not require grad.
    pub fn retain_grad(&self) -> Result<()> {
        if !self.requires_grad() {
            return Err(Box::new(Error::State {
                op: "retain_grad".into(),
                what: "the tensor does not require grad".into(),
                remedy: "set requires_grad=True on an input first",
            }));
        }
        let Some(edge) = self.producer_edge() else {
            return Ok(());
        };
        let meta = self.ensure_meta();
        if !meta.retains_grad() {
            detach_hook(meta.set_retained(attach_hook(meta, &edge)));
            self.note_retention(meta);
        }
        Ok(())
    }
}
