//! The plan of a pass: the reached nodes, their order, and the target of every gradient, as dense tables.
//!
//! Invariant: in `order`, consumers come before producers (descending sequence number).

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use smallvec::SmallVec;

use super::step::PassOptions;
use crate::error::Result;
use crate::graph::arena::{NodeBorrow, NodeId};
use crate::graph::hook::{AtEnd, RunningPass};
use crate::graph::rule_context::NO_TARGET;
use crate::graph::value::Value;
use crate::threads::Mutex;

/// A reached node.
pub(super) struct PlannedNode<'g, V: Value> {
    pub(super) node: NodeBorrow<'g, V>,
    /// The index of its first output.
    pub(super) output: u32,
    /// The start of its edges in `Plan::targets`.
    pub(super) edges: u32,
}

/// What the walk needs to know about the graph.
pub(super) struct Plan<'g, V: Value> {
    /// The nodes, in order of discovery.
    pub(super) items: SmallVec<[PlannedNode<'g, V>; 16]>,
    /// For every edge of every node: the output that receives the gradient, or `NO_TARGET`.
    pub(super) targets: SmallVec<[u32; 24]>,
    /// The nodes to run, consumers first.
    pub(super) order: SmallVec<[u32; 16]>,
    /// Accumulators whose gradient is committed after the walk.
    pub(super) leaves: SmallVec<[u32; 8]>,
    /// The outputs of the roots.
    pub(super) roots: SmallVec<[u32; 4]>,
    /// The number of outputs.
    pub(super) outputs: u32,
    /// For each node, what the targets need of it; empty if everything runs.
    pub(super) needs: SmallVec<[u8; 32]>,
    /// The captured outputs with the position of their target, sorted by output.
    pub(super) captures: SmallVec<[(u32, u32); 4]>,
    /// The estimated nanoseconds of the reached nodes.
    pub(super) cost: f32,
    /// Gradients are returned to the caller, not committed.
    pub(super) capture: bool,
    token: OnceLock<Arc<()>>,
    callbacks: OnceLock<Mutex<Vec<AtEnd>>>,
}

/// An input of the node leads to a target: its rule runs.
pub(super) const RUN: u8 = 1;
/// The node is a target.
pub(super) const TARGET: u8 = 2;

impl<V: Value> Plan<'_, V> {
    /// An empty plan.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Plan {
            items: SmallVec::new(),
            targets: SmallVec::new(),
            order: SmallVec::new(),
            leaves: SmallVec::new(),
            roots: SmallVec::new(),
            outputs: 0,
            needs: SmallVec::new(),
            captures: SmallVec::new(),
            cost: 0.0,
            capture: false,
            token: OnceLock::new(),
            callbacks: OnceLock::new(),
        }
    }

    /// Whether no reached node has attachments.
    pub(super) fn is_plain(&self) -> bool {
        let mut nodes = self.order.iter().chain(&self.leaves);
        nodes.all(|k| self.items[*k as usize].node.get().attachments().is_none())
    }

    /// Runs the callbacks that hooks left for the end of the pass.
    pub(super) fn end(&self, options: PassOptions) -> Result<()> {
        let Some(callbacks) = self.callbacks.get() else { return Ok(()) };
        let callbacks = std::mem::take(&mut *callbacks.lock());
        callbacks.into_iter().try_for_each(|callback| {
            options.enter();
            callback()
        })
    }

    /// What the pass needs of node `k`.
    #[inline]
    pub(super) fn need(&self, k: u32) -> u8 {
        if self.needs.is_empty() { RUN } else { self.needs[k as usize] }
    }

    /// The edge targets of node `k`.
    #[inline]
    pub(super) fn targets_of(&self, k: u32) -> &[u32] {
        self.targets_at(&self.items[k as usize])
    }

    /// The edge targets of `item`.
    #[inline]
    pub(super) fn targets_at(&self, item: &PlannedNode<'_, V>) -> &[u32] {
        let start = item.edges as usize;
        &self.targets[start..start + item.node.get().edges().len()]
    }

    /// The positions of the targets that capture `output`.
    pub(super) fn captures_of(&self, output: u32) -> impl Iterator<Item = usize> + '_ {
        let from = self.captures.partition_point(|c| c.0 < output);
        self.captures[from..].iter().take_while(move |c| c.0 == output).map(|c| c.1 as usize)
    }

    /// For each output, its node.
    pub(super) fn owners(&self) -> Vec<u32> {
        let mut owner = vec![0u32; self.outputs as usize];
        for (k, item) in self.items.iter().enumerate() {
            let first = item.output as usize;
            owner[first..first + item.node.get().outputs() as usize].fill(k as u32);
        }
        owner
    }

    /// Keeps only nodes that lead to a target.
    pub(super) fn prune(&mut self) {
        let owner = self.owners();
        for &k in self.order.iter().rev() {
            let item = &self.items[k as usize];
            let start = item.edges as usize;
            for target in &mut self.targets[start..start + item.node.get().edges().len()] {
                if *target == NO_TARGET {
                    continue;
                }
                if self.needs[owner[*target as usize] as usize] != 0 {
                    self.needs[k as usize] |= RUN;
                } else {
                    *target = NO_TARGET;
                }
            }
        }
        let needs = &self.needs;
        self.order.retain(|k| needs[*k as usize] != 0);
        self.leaves.retain(|k| needs[*k as usize] != 0);
    }
}

impl<V: Value> RunningPass<V> for Plan<'_, V> {
    fn token(&self) -> Weak<()> {
        Arc::downgrade(self.token.get_or_init(Arc::default))
    }

    fn reaches(&self, node: &NodeId<V>, output: u32) -> bool {
        let item = self.items.iter().find(|item| item.node.address() == node.address());
        let Some(output) = item.filter(|_| node.is_live()).map(|item| item.output + output) else {
            return false;
        };
        let reaches_output =
            |k: &u32| self.need(*k) & RUN != 0 && self.targets_of(*k).contains(&output);
        self.roots.contains(&output) || self.order.iter().any(reaches_output)
    }

    fn commits(&self, leaves: &[NodeId<V>]) -> Option<Vec<bool>> {
        let live = leaves.iter().enumerate().filter(|(_, leaf)| leaf.is_live());
        let indices: HashMap<usize, u32> =
            live.map(|(i, leaf)| (leaf.address(), i as u32)).collect();
        let mut commits = vec![false; leaves.len()];
        for k in &self.order {
            if let Some(i) = indices.get(&self.items[*k as usize].node.address()) {
                commits[*i as usize] = true;
            }
        }
        (!self.capture).then_some(commits)
    }

    fn at_end(&self, callback: AtEnd) {
        let callbacks = self.callbacks.get_or_init(Mutex::default);
        callbacks.lock().push(callback);
    }
}
