//! Fast path: runs the linear chain of nodes at the root without building a plan.
//!
//! A node in the chain has one consumer, so its gradient is complete when it is reached. Collects the gradients of leaves
//! and of the first node outside the chain, which become the roots of the planned pass.
//! Invariant: sums and their order are those of a planned walk.

use smallvec::SmallVec;

use super::serial::SignalPoll;
use crate::error::Result;
use crate::graph::arena::Edge;
use crate::graph::engine::discover;
use crate::graph::engine::fusion;
use crate::graph::engine::grad_table::InputGrads;
use crate::graph::engine::host::Host;
use crate::graph::engine::step::{self, PassOptions, Seeds};
use crate::graph::node::{Flags, Node};
use crate::graph::rule_context::NO_TARGET;
use crate::graph::value::Value;

/// Nodes with more inputs, or chains with more leaves, are planned.
const MAX_INPUTS: usize = 8;

type Targets = SmallVec<[u32; MAX_INPUTS]>;

/// The gradients given by a rule: target 0 is the next node, the others are leaves.
struct ChainGrads<'g, V: Value> {
    options: PassOptions,
    next: Option<V>,
    leaves: SmallVec<[(&'g Edge<V>, Option<V>); 2]>,
}

impl<V: Value> ChainGrads<'_, V> {
    #[inline]
    fn slot(&mut self, target: u32) -> &mut Option<V> {
        match target.checked_sub(1) {
            None => &mut self.next,
            Some(k) => &mut self.leaves[k as usize].1,
        }
    }
}

impl<V: Value> InputGrads<V> for ChainGrads<'_, V> {
    #[inline]
    fn give(&mut self, _input: usize, target: u32, v: V) -> Result<()> {
        let options = self.options;
        let slot = self.slot(target);
        *slot = Some(match slot.take() {
            Some(sum) => options.sum(sum, &v)?,
            None => v,
        });
        Ok(())
    }

    #[inline]
    fn give_from(&mut self, input: usize, target: u32, from: &mut Option<V>) -> Result<()> {
        let slot = self.slot(target);
        if slot.is_none() {
            std::mem::swap(slot, from);
            return Ok(());
        }
        from.take().map_or(Ok(()), |v| self.give(input, target, v))
    }

    #[inline]
    fn partial_sum(&mut self, target: u32) -> Option<&mut V> {
        self.slot(target).as_mut()
    }
}

/// A walk down a linear chain.
pub(in crate::graph::engine) struct LinearChain<'g, V: Value> {
    at: &'g Edge<V>,
    grads: [Option<V>; 1],
    chain_grads: ChainGrads<'g, V>,
    poll: SignalPoll,
    /// The estimated nanoseconds of the nodes so far.
    cost: f32,
    visited: u64,
}

impl<'g, V: Value> LinearChain<'g, V> {
    /// Starts at the root.
    #[inline(always)]
    pub(in crate::graph::engine) fn new(
        root: &'g Edge<V>,
        seed: V,
        options: PassOptions,
    ) -> LinearChain<'g, V> {
        let chain_grads = ChainGrads { options, next: None, leaves: SmallVec::new() };
        let (poll, grads) = (SignalPoll::default(), [Some(seed)]);
        LinearChain { at: root, grads, chain_grads, poll, cost: 0.0, visited: 0 }
    }

    /// Runs nodes to the end of the chain (true), or until they have cost `limit` (false).
    pub(in crate::graph::engine) fn run(&mut self, limit: f32, host: &dyn Host) -> Result<bool> {
        let options = self.chain_grads.options;
        let mut before = self.at.node().borrow();
        while self.grads[0].is_some() {
            let node = self.at.node().borrow();
            node.prefetch_ahead(before);
            before = node;
            let inner: &'g Node<V> = node.get();
            let mut targets = Targets::new();
            let Some(next) = self.targets(inner, &mut targets) else { break };
            self.cost += inner.cost();
            if self.cost >= limit {
                return Ok(false);
            }
            self.visited += 1;
            self.poll.count(inner.cost(), false, host)?;
            options.enter();
            step::run_plain_rule(node, options, &targets, &mut self.grads, &mut self.chain_grads)?;
            self.grads[0] = self.chain_grads.next.take();
            match next {
                Some(next) => self.at = next,
                None => break,
            }
        }
        Ok(true)
    }

    /// The targets of a node's inputs, and the next node; `None` if the node does not belong to a chain.
    #[inline]
    fn targets(&mut self, node: &'g Node<V>, targets: &mut Targets) -> Option<Option<&'g Edge<V>>> {
        if !node.is_plain() || node.edges().len() > MAX_INPUTS || self.is_fused(node) {
            return None;
        }
        let mut next: Option<&'g Edge<V>> = None;
        for edge in node.edges() {
            targets.push(match edge {
                None => NO_TARGET,
                Some(edge) if edge.node().flags().has(Flags::ACCUMULATOR) => {
                    self.leaf_target(edge)?
                }
                Some(edge) if next.is_none_or(|next| next == edge) => {
                    next = Some(edge);
                    0
                }
                Some(_) => return None,
            });
        }
        Some(next)
    }

    /// Whether a node is left to the planned walk, which fuses it with others.
    #[inline]
    fn is_fused(&self, node: &Node<V>) -> bool {
        fusion::is_allowed(self.chain_grads.options) && fusion::may_begin(node)
    }

    /// The target of a leaf; `None` if the leaf needs more than a commit at the end.
    #[inline]
    fn leaf_target(&mut self, edge: &'g Edge<V>) -> Option<u32> {
        let leaves = &mut self.chain_grads.leaves;
        if let Some(slot) = leaves.iter().position(|(known, _)| *known == edge) {
            return Some(slot as u32 + 1);
        }
        let node = edge.node();
        if leaves.len() == MAX_INPUTS || node.attachments().is_some() || node.commits_immediately()
        {
            return None;
        }
        leaves.push((edge, None));
        Some(leaves.len() as u32)
    }

    /// The remaining gradients and where they go: true if only leaves are left, else they are the roots of the rest of the pass.
    pub(in crate::graph::engine) fn into_roots(
        self,
        edges: &mut SmallVec<[Edge<V>; 1]>,
        seeds: &mut Seeds<V>,
    ) -> bool {
        discover::count(self.visited);
        let [last] = self.grads;
        let only_leaves = last.is_none();
        let chain_grads = self.chain_grads.leaves.into_iter();
        for (edge, grad) in std::iter::once((self.at, last)).chain(chain_grads) {
            if let Some(grad) = grad {
                edges.push(edge.clone());
                seeds.push(grad);
            }
        }
        only_leaves
    }
}
