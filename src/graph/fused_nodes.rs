//! Fused nodes of a pass, as `Value::backward_fused` sees them.
//!
//! The nodes are picked by `engine/fusion.rs`; `Value::backward_fused` fuses their loops.
//! Invariant: the index of a node is smaller than those of its targets.

use std::any::Any;

use super::arena::{NodeBorrow, SavedUse};
use super::engine::InputGrads;
use super::rule_context::Context;
use super::value::Value;
use crate::error::Result;

/// One node.
pub(super) struct FusedNode<'a, V: Value> {
    pub(super) node: NodeBorrow<'a, V>,
    pub(super) saved: SavedUse<'a, V>,
    /// The indices of its inputs' gradients.
    pub(super) targets: &'a [u32],
}

/// Nodes with one output each, consumers first, and the gradients that exist before they run.
pub struct FusedNodes<'a, V: Value> {
    pub(super) members: Vec<FusedNode<'a, V>>,
    /// The gradients of the nodes in their order, then those of outputs outside the group.
    pub(super) grads: Vec<Option<V>>,
    /// The node that was visited last, or that refused.
    pub(super) current: usize,
}

/// Discards gradients: fused nodes give none one by one.
struct DiscardGrads;

impl<V: Value> InputGrads<V> for DiscardGrads {
    fn give(&mut self, _input: usize, _target: u32, _v: V) -> Result<()> {
        Ok(())
    }
}

impl<V: Value> FusedNodes<'_, V> {
    /// The number of nodes; larger indices of gradients are outputs outside the group.
    pub fn nodes(&self) -> usize {
        self.members.len()
    }

    /// The gradients by index: sums so far, to which those of the nodes are added.
    pub fn grads(&mut self) -> &mut Vec<Option<V>> {
        &mut self.grads
    }

    /// Says that node `k` cannot be fused with those before it.
    pub fn refuse(&mut self, k: usize) {
        self.current = k;
    }

    /// Calls `see` with the context (without gradients) and the rule of node `k`; `None` if the rule is not element-wise.
    ///
    /// # Errors
    /// Those of `see`.
    pub fn node<R>(
        &mut self,
        k: usize,
        see: impl FnOnce(&mut Context<'_, V>, &dyn Any) -> Result<R>,
    ) -> Result<Option<R>> {
        self.current = k;
        let member = &self.members[k];
        let Some(rule) = member.node.get().rule().elementwise() else { return Ok(None) };
        let saved = member.saved.values();
        let mut discard = DiscardGrads;
        let mut cx = Context::new(member.node, &mut [], saved, member.targets, &mut discard, false);
        see(&mut cx, rule).map(Some)
    }
}
