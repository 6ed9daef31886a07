//! Nodes of a pass whose rules are to run at once.
//!
//! Owns their gradients while they run. Never says which nodes those are: the engine does, nor how they run: the values do.
//! Invariant: the place of a node has a smaller number than those of what it gives to.

use std::any::Any;

use super::arena::{InUse, NodeBorrow};
use super::engine::InputGrads;
use super::rule_context::Context;
use super::value::Value;
use crate::error::Result;

/// One of the nodes.
pub(super) struct Member<'a, V: Value> {
    pub(super) node: NodeBorrow<'a, V>,
    pub(super) saved: InUse<'a, V>,
    /// The places of its inputs' gradients.
    pub(super) targets: &'a [u32],
}

/// Nodes with one output each, consumers first, and the gradients there are before they run.
pub struct Together<'a, V: Value> {
    pub(super) members: Vec<Member<'a, V>>,
    /// By place: those of the nodes in their order, then those of outputs beyond.
    pub(super) grads: Vec<Option<V>>,
    /// The node that was shown last, or that refused.
    pub(super) at: usize,
}

/// Nothing is given one by one.
struct Nowhere;

impl<V: Value> InputGrads<V> for Nowhere {
    fn give(&mut self, _input: usize, _target: u32, _v: V) -> Result<()> {
        Ok(())
    }
}

impl<V: Value> Together<'_, V> {
    /// How many nodes there are: the places from here on are those of outputs beyond.
    pub fn nodes(&self) -> usize {
        self.members.len()
    }

    /// The gradients by place. They are sums so far: what the nodes give is added to them.
    pub fn grads(&mut self) -> &mut Vec<Option<V>> {
        &mut self.grads
    }

    /// Says which node does not run together with those before it.
    pub fn refuse(&mut self, k: usize) {
        self.at = k;
    }

    /// What the rule of a node sees, and the rule; gradients are neither there nor given.
    ///
    /// # Errors
    /// Those of `see`.
    pub fn node<R>(
        &mut self,
        k: usize,
        see: impl FnOnce(&mut Context<'_, V>, &dyn Any) -> Result<R>,
    ) -> Result<Option<R>> {
        self.at = k;
        let member = &self.members[k];
        let Some(rule) = member.node.get().rule().local() else { return Ok(None) };
        let saved = member.saved.values();
        let mut nowhere = Nowhere;
        let mut cx = Context::new(member.node, &mut [], saved, member.targets, &mut nowhere, false);
        see(&mut cx, rule).map(Some)
    }
}
