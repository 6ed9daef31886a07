//! Fuses expensive nodes whose rules are element-wise and consecutive in the order: `Value::together` runs them in one loop.
//!
//! The gradients between fused nodes are never materialised: for millions of elements, writing and reading them costs as
//! much as computing them.
//! Invariant: sums of gradients and their order are those of running the nodes one by one.

use smallvec::SmallVec;

use super::anomaly;
use super::plan::{Plan, RUN};
use super::serial::Walk;
use super::step::PassOptions;
use crate::error::Result;
use crate::graph::fused_nodes::{Member, Together};
use crate::graph::node::Node;
use crate::graph::rule_context::NOWHERE;
use crate::graph::value::Value;

/// The least cost of a fused node: gradients of cheaper ones stay in the caches.
const LONG_NS: f32 = 5_000.0;
/// The most nodes of a fused group.
const MOST: usize = 24;
/// The most gradients that leave a group: they are materialised while all its saved values are alive.
const OUTS: usize = 2;

/// Whether a node may be fused.
#[inline]
fn is_long_and_local<V: Value>(node: &Node<V>) -> bool {
    node.cost() >= LONG_NS && node.rule().local().is_some() && node.is_plain()
}

/// Whether a fused group may begin with a node.
#[inline]
pub(super) fn begins<V: Value>(node: &Node<V>) -> bool {
    is_long_and_local(node) && {
        let mut inputs = node.edges().iter().flatten();
        inputs.any(|edge| is_long_and_local(edge.node()))
    }
}

/// Whether a pass may fuse: gradients are neither recorded nor batched, and no mode watches the rules.
pub(super) fn allowed(options: PassOptions) -> bool {
    options.is_plain() && !options.create_graph
}

/// Whether most of the cost is in fused nodes, whose loops run in parallel over the elements.
pub(super) fn prevail<V: Value>(plan: &Plan<'_, V>, options: PassOptions) -> bool {
    if !allowed(options) {
        return false;
    }
    let nodes = plan.order.iter().map(|k| plan.items[*k as usize].node.get());
    let cost: f32 = nodes.filter(|node| begins(node)).map(Node::cost).sum();
    cost * 2.0 > plan.cost
}

/// The result of a fused group.
enum Ran {
    /// All nodes have run.
    All,
    /// None has: the node with this index cannot be fused with the others.
    Without(usize),
}

/// A group of nodes, and the outputs outside it that receive gradients.
struct Found {
    nodes: usize,
    outs: SmallVec<[u32; 2 * OUTS]>,
}

impl<'g, V: Value> Walk<'_, 'g, V> {
    /// Runs the fused group at position `at` of the order and returns its number of nodes; 0 if there is none.
    ///
    /// If a node refuses, the group of the nodes before it is tried.
    pub(super) fn stretch(&mut self, at: usize) -> Result<usize> {
        let plan = self.plan;
        let mut order = &plan.order[at..];
        while let Some(found) = find(plan, order) {
            let nodes = found.nodes;
            match self.run_stretch(at, found)? {
                Ran::All => return Ok(nodes),
                Ran::Without(node) => order = &order[..node.min(nodes - 1)],
            }
        }
        Ok(0)
    }

    fn run_stretch(&mut self, at: usize, found: Found) -> Result<Ran> {
        let (plan, options) = (self.plan, self.options);
        let order = &plan.order[at..at + found.nodes];
        let output = |k: &u32| plan.items[*k as usize].output;
        let places: Vec<u32> = order.iter().map(output).chain(found.outs).collect();
        let place = |target: &u32| match places.iter().position(|output| output == target) {
            Some(place) => place as u32,
            None => NOWHERE,
        };
        let targets: Vec<Vec<u32>> =
            order.iter().map(|k| plan.targets_of(*k).iter().map(place).collect()).collect();
        let mut run =
            Together { members: Vec::with_capacity(order.len()), grads: Vec::new(), at: 0 };
        for (k, targets) in order.iter().zip(&targets) {
            let node = plan.items[*k as usize].node;
            let Some(saved) = node.get().saved.enter(!options.retain) else {
                // The walk meets the node again and reports the error.
                run.reopen();
                return Ok(Ran::Without(0));
            };
            run.members.push(Member { node, saved, targets });
        }
        options.enter();
        run.grads = places.iter().map(|output| self.table.take(*output)).collect();
        let done = match run.grads[0].is_some() {
            true => V::together(&mut run),
            false => Ok(false),
        };
        if !matches!(done, Ok(true)) {
            run.reopen();
        }
        let done =
            done.map_err(|error| anomaly::explained(run.members[run.at].node.get(), error))?;
        for (output, grad) in places.iter().zip(run.grads) {
            if let Some(grad) = grad {
                self.table.add(*output, grad)?;
            }
        }
        if !done {
            return Ok(Ran::Without(run.at));
        }
        for k in order {
            self.poll.node(plan.items[*k as usize].node.get().cost(), false, self.host)?;
        }
        Ok(Ran::All)
    }
}

impl<V: Value> Together<'_, V> {
    /// Undoes `enter`: the nodes have not run.
    fn reopen(&mut self) {
        self.members.iter_mut().for_each(|member| member.saved.restore());
    }
}

/// The longest group at the beginning of `order` from which few gradients leave.
fn find<V: Value>(plan: &Plan<'_, V>, order: &[u32]) -> Option<Found> {
    let mut open: SmallVec<[u32; 2 * OUTS]> = SmallVec::new();
    let mut found = None;
    for (nodes, &k) in order.iter().take(MOST).enumerate() {
        let item = &plan.items[k as usize];
        if plan.need(k) != RUN || !is_long_and_local(item.node.get()) {
            break;
        }
        let before = open.len();
        open.retain(|output| *output != item.output);
        if nodes > 0 && open.len() == before {
            break;
        }
        for &target in plan.targets_of(k) {
            if target != NOWHERE && !open.contains(&target) {
                open.push(target);
            }
        }
        if nodes > 0 && open.len() <= OUTS {
            found = Some(Found { nodes: nodes + 1, outs: open.clone() });
        }
    }
    found
}
