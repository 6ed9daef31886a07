//! Fuses expensive nodes whose rules are element-wise and consecutive in the order: `Value::backward_fused` runs them in one loop.
//!
//! The gradients between fused nodes are never materialised: for millions of elements, writing and reading them costs as
//! much as computing them.
//! Invariant: sums of gradients and their order are those of running the nodes one by one.

use smallvec::SmallVec;

use super::anomaly;
use super::plan::{Plan, RUN};
use super::serial::SerialWalk;
use super::step::PassOptions;
use crate::error::Result;
use crate::graph::fused_nodes::{FusedNode, FusedNodes};
use crate::graph::node::Node;
use crate::graph::rule_context::NO_TARGET;
use crate::graph::value::Value;

/// The least cost of a fused node: gradients of cheaper ones stay in the caches.
const MIN_NODE_NS: f32 = 5_000.0;
/// The most nodes of a fused group.
const MAX_NODES: usize = 24;
/// The most gradients that leave a group: they are materialised while all its saved values are alive.
const MAX_OUTPUTS: usize = 2;

/// Whether a node may be fused.
#[inline]
fn is_fusible<V: Value>(node: &Node<V>) -> bool {
    node.cost() >= MIN_NODE_NS && node.rule().elementwise().is_some() && node.is_plain()
}

/// Whether a fused group may begin with a node.
#[inline]
pub(super) fn may_begin<V: Value>(node: &Node<V>) -> bool {
    is_fusible(node) && {
        let mut inputs = node.edges().iter().flatten();
        inputs.any(|edge| is_fusible(edge.node()))
    }
}

/// Whether a pass may fuse: gradients are neither recorded nor batched, and no mode watches the rules.
pub(super) fn is_allowed(options: PassOptions) -> bool {
    options.is_plain() && !options.create_graph
}

/// Whether most of the cost is in fused nodes, whose loops run in parallel over the elements.
pub(super) fn dominates<V: Value>(plan: &Plan<'_, V>, options: PassOptions) -> bool {
    if !is_allowed(options) {
        return false;
    }
    let nodes = plan.order.iter().map(|k| plan.items[*k as usize].node.get());
    let cost: f32 = nodes.filter(|node| may_begin(node)).map(Node::cost).sum();
    cost * 2.0 > plan.cost
}

/// The result of a fused group.
enum GroupRun {
    /// All nodes have run.
    All,
    /// None has: the node with this index cannot be fused with the others.
    Without(usize),
}

/// A group of nodes, and the outputs outside it that receive gradients.
struct Group {
    nodes: usize,
    outputs: SmallVec<[u32; 2 * MAX_OUTPUTS]>,
}

impl<'g, V: Value> SerialWalk<'_, 'g, V> {
    /// Runs the fused group at position `at` of the order and returns its number of nodes; 0 if there is none.
    ///
    /// If a node refuses, the group of the nodes before it is tried.
    pub(super) fn run_group_at(&mut self, at: usize) -> Result<usize> {
        let plan = self.plan;
        let mut order = &plan.order[at..];
        while let Some(found) = find_group(plan, order) {
            let nodes = found.nodes;
            match self.run_group(at, found)? {
                GroupRun::All => return Ok(nodes),
                GroupRun::Without(node) => order = &order[..node.min(nodes - 1)],
            }
        }
        Ok(0)
    }

    fn run_group(&mut self, at: usize, found: Group) -> Result<GroupRun> {
        let (plan, options) = (self.plan, self.options);
        let order = &plan.order[at..at + found.nodes];
        let output = |k: &u32| plan.items[*k as usize].output;
        let slots: Vec<u32> = order.iter().map(output).chain(found.outputs).collect();
        let slot = |target: &u32| match slots.iter().position(|output| output == target) {
            Some(slot) => slot as u32,
            None => NO_TARGET,
        };
        let targets: Vec<Vec<u32>> =
            order.iter().map(|k| plan.targets_of(*k).iter().map(slot).collect()).collect();
        let mut run =
            FusedNodes { members: Vec::with_capacity(order.len()), grads: Vec::new(), current: 0 };
        for (k, targets) in order.iter().zip(&targets) {
            let node = plan.items[*k as usize].node;
            let Some(saved) = node.get().saved.enter(!options.retain) else {
                // The walk meets the node again and reports the error.
                run.reopen();
                return Ok(GroupRun::Without(0));
            };
            run.members.push(FusedNode { node, saved, targets });
        }
        options.enter();
        run.grads = slots.iter().map(|output| self.table.take(*output)).collect();
        let done = match run.grads[0].is_some() {
            true => V::backward_fused(&mut run),
            false => Ok(false),
        };
        if !matches!(done, Ok(true)) {
            run.reopen();
        }
        let done = done
            .map_err(|error| anomaly::with_call_site(run.members[run.current].node.get(), error))?;
        for (output, grad) in slots.iter().zip(run.grads) {
            if let Some(grad) = grad {
                self.table.add(*output, grad)?;
            }
        }
        if !done {
            return Ok(GroupRun::Without(run.current));
        }
        for k in order {
            self.poll.count(plan.items[*k as usize].node.get().cost(), false, self.host)?;
        }
        Ok(GroupRun::All)
    }
}

impl<V: Value> FusedNodes<'_, V> {
    /// Undoes `enter`: the nodes have not run.
    fn reopen(&mut self) {
        self.members.iter_mut().for_each(|member| member.saved.restore());
    }
}

/// The longest group at the beginning of `order` from which few gradients leave.
fn find_group<V: Value>(plan: &Plan<'_, V>, order: &[u32]) -> Option<Group> {
    let mut open: SmallVec<[u32; 2 * MAX_OUTPUTS]> = SmallVec::new();
    let mut found = None;
    for (nodes, &k) in order.iter().take(MAX_NODES).enumerate() {
        let item = &plan.items[k as usize];
        if plan.need(k) != RUN || !is_fusible(item.node.get()) {
            break;
        }
        let before = open.len();
        open.retain(|output| *output != item.output);
        if nodes > 0 && open.len() == before {
            break;
        }
        for &target in plan.targets_of(k) {
            if target != NO_TARGET && !open.contains(&target) {
                open.push(target);
            }
        }
        if nodes > 0 && open.len() <= MAX_OUTPUTS {
            found = Some(Group { nodes: nodes + 1, outputs: open.clone() });
        }
    }
    found
}
