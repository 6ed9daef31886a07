//! The serial walk: one loop over the plan, consumers first. The parallel walk must equal it bit by bit.
//!
//! Invariant: when a node is reached, all its consumers have run.

use crate::error::{Error, Result};
use crate::graph::engine::fusion;
use crate::graph::engine::grad_table::GradTable;
use crate::graph::engine::host::Host;
use crate::graph::engine::plan::{Plan, PlannedNode};
use crate::graph::engine::step::{self, Grads, Outcome, PassOptions, Seeds};
use crate::graph::node::Flags;
use crate::graph::value::Value;
use crate::threads::signals::PollInterval;

/// How many nodes ahead to prefetch: the nodes of a long graph have left the caches.
const PREFETCH_NODES: usize = 4;

/// A serial walk over a plan.
pub(in crate::graph::engine) struct SerialWalk<'w, 'g, V: Value> {
    pub(in crate::graph::engine) plan: &'w Plan<'g, V>,
    pub(in crate::graph::engine) options: PassOptions,
    pub(in crate::graph::engine) host: &'w dyn Host,
    pub(in crate::graph::engine) table: GradTable<V>,
    /// Whether a node without attachments needs nothing but its rule.
    plain: bool,
    pub(in crate::graph::engine) outcome: Outcome<V>,
    pub(in crate::graph::engine) poll: SignalPoll,
}

impl<'w, 'g, V: Value> SerialWalk<'w, 'g, V> {
    /// Before the first node. It is large: constructed in place.
    #[inline(always)]
    pub(in crate::graph::engine) fn new(
        plan: &'w Plan<'g, V>,
        options: PassOptions,
        host: &'w dyn Host,
    ) -> SerialWalk<'w, 'g, V> {
        SerialWalk {
            plan,
            options,
            host,
            table: GradTable::new(plan.outputs as usize, options),
            plain: plan.needs.is_empty() && options.is_plain(),
            outcome: Outcome::default(),
            poll: SignalPoll::default(),
        }
    }

    /// Runs all nodes; the gradients of leaves without hooks remain to be taken.
    #[inline]
    pub(in crate::graph::engine) fn run(&mut self, seeds: &mut Seeds<V>) -> Result<()> {
        self.options.enter();
        for (&output, seed) in self.plan.roots.iter().zip(seeds.drain(..)) {
            self.table.add(output, seed)?;
        }
        self.run_nodes()
    }

    /// Takes the gradient of an output.
    #[inline]
    pub(in crate::graph::engine) fn take(&mut self, output: u32) -> Option<V> {
        self.table.take(output)
    }

    fn run_nodes(&mut self) -> Result<()> {
        let (order, items) = (&self.plan.order[..], &self.plan.items[..]);
        let fuses = fusion::is_allowed(self.options);
        let mut at = 0;
        while at < order.len() {
            if let Some(&later) = order.get(at + PREFETCH_NODES) {
                items[later as usize].node.prefetch();
            }
            let item = &items[order[at] as usize];
            let node = item.node.get();
            if fuses && fusion::may_begin(node) {
                let ran = self.run_group_at(at)?;
                at += ran;
                if ran > 0 {
                    continue;
                }
            }
            if self.plain && node.is_plain() {
                self.run_plain_node(item)?;
                at += 1;
                continue;
            }
            if !self.has_host_objects(order[at]) {
                self.run_node(order[at])?;
                at += 1;
                continue;
            }
            let mut done = Ok(());
            self.host.attached(&mut || {
                while done.is_ok() && at < order.len() && self.has_host_objects(order[at]) {
                    done = self.run_node(order[at]);
                    at += 1;
                }
            });
            done?;
        }
        Ok(())
    }

    /// Runs a node with one output and no attachments, in a pass that needs nothing but its rule.
    #[inline]
    fn run_plain_node(&mut self, item: &PlannedNode<'g, V>) -> Result<()> {
        let mut grads = [None];
        self.table.take_to(item.output, &mut grads[0]);
        if grads[0].is_none() {
            return Ok(());
        }
        let node = item.node.get();
        self.poll.count(node.cost(), false, self.host)?;
        self.options.enter();
        let targets = self.plan.targets_at(item);
        step::run_plain_rule(item.node, self.options, targets, &mut grads, &mut self.table)
    }

    #[inline]
    fn has_host_objects(&self, k: u32) -> bool {
        self.plan.items[k as usize].node.get().flags().has(Flags::HOST_OBJECTS)
    }

    #[inline]
    fn run_node(&mut self, k: u32) -> Result<()> {
        let item = &self.plan.items[k as usize];
        let node = item.node.get();
        let mut grads = Grads::new();
        let mut any = false;
        for output in item.output..item.output + node.outputs() {
            let grad = self.table.take(output);
            any |= grad.is_some();
            grads.push(grad);
        }
        if !any {
            return Ok(());
        }
        self.poll.count(
            self.options.cost(node),
            node.flags().has(Flags::HOST_OBJECTS),
            self.host,
        )?;
        step::run(self.plan, self.options, k, &mut grads, &mut self.table, &mut self.outcome)
    }
}

/// Captures or collects the gradients of leaves without hooks, in the order of discovery.
pub(in crate::graph::engine) fn collect_leaves<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    take: &mut dyn FnMut(u32) -> Option<V>,
    outcome: &mut Outcome<V>,
) {
    for &k in &plan.leaves {
        if let Some(grad) = take(plan.items[k as usize].output) {
            collect_leaf(plan, options, k, grad, outcome);
        }
    }
}

/// A leaf without hooks whose gradient is complete: captured, or collected for the commit.
fn collect_leaf<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    k: u32,
    grad: V,
    outcome: &mut Outcome<V>,
) {
    if options.capture {
        step::capture_outputs(plan, plan.items[k as usize].output, &[Some(grad)], outcome);
    } else {
        outcome.commits.push((k, grad));
    }
}

/// Polls the host for signals about every 20 ms, without reading the clock at every node.
#[derive(Default)]
pub(in crate::graph::engine) struct SignalPoll {
    nodes: u32,
    estimate: f32,
    interval: PollInterval,
}

impl SignalPoll {
    const NODES_PER_CHECK: u32 = 64;
    /// The weight of a node with host code, which polls signals itself.
    const FOREIGN_WEIGHT: u32 = 8;
    const NS_PER_CHECK: f32 = 1e6;

    /// Counts a node that is about to run.
    #[inline]
    pub(in crate::graph::engine) fn count(
        &mut self,
        cost_ns: f32,
        foreign: bool,
        host: &dyn Host,
    ) -> Result<()> {
        self.nodes += if foreign { Self::FOREIGN_WEIGHT } else { 1 };
        self.estimate += cost_ns;
        if self.nodes < Self::NODES_PER_CHECK && self.estimate < Self::NS_PER_CHECK {
            return Ok(());
        }
        self.check(host)
    }

    /// Reads the clock, and polls the host if the interval has passed.
    #[cold]
    pub(super) fn check(&mut self, host: &dyn Host) -> Result<()> {
        self.nodes = 0;
        self.estimate = 0.0;
        if self.interval.is_due() && host.interrupted() {
            return Err(Error::Interrupted { op: "backward".into() }.into());
        }
        Ok(())
    }
}
