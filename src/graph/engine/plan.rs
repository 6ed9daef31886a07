//! The plan of a pass: which nodes it reaches, in which order they run, and where every gradient goes.
//!
//! Borrows the graph from the roots and owns dense tables about it. It runs no rule and no foreign code.
//! Invariant: in `order`, consumers come before producers (descending sequence number).

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::graph::arena::{Edge, NodeBorrow, NodeId, Stamps};
use crate::graph::context::NOWHERE;
use crate::graph::hook::Running;
use crate::graph::node::{Flags, Node};
use crate::graph::value::Value;

/// A reached node.
pub(super) struct Item<'g, V: Value> {
    pub(super) node: NodeBorrow<'g, V>,
    /// The number of its output 0.
    pub(super) output: u32,
    /// Where its edges begin in `Plan::targets`.
    pub(super) edges: u32,
}

/// Everything the walk needs to know about the graph.
pub(super) struct Plan<'g, V: Value> {
    /// The nodes, in order of discovery.
    pub(super) items: SmallVec<[Item<'g, V>; 8]>,
    /// For every edge of every node: the output that receives the gradient, or `NOWHERE`.
    pub(super) targets: SmallVec<[u32; 16]>,
    /// The nodes to run, consumers first.
    pub(super) order: SmallVec<[u32; 8]>,
    /// Accumulators whose gradient is committed after the walk.
    pub(super) leaves: SmallVec<[u32; 8]>,
    /// The outputs of the roots.
    pub(super) roots: SmallVec<[u32; 4]>,
    /// How many outputs there are.
    pub(super) outputs: u32,
    /// Per node, what the targets ask of it; empty when everything runs.
    pub(super) needs: SmallVec<[u8; 32]>,
    /// The outputs to capture with the position of the target, sorted by output.
    pub(super) captures: SmallVec<[(u32, u32); 4]>,
    token: OnceLock<Arc<()>>,
}

/// Some input of the node leads to a target: its rule runs.
pub(super) const RUN: u8 = 1;
/// The node is a target itself.
pub(super) const TARGET: u8 = 2;

impl<'g, V: Value> Plan<'g, V> {
    /// Plans a pass that reaches every leaf.
    pub(super) fn everything(roots: &'g [Edge<V>]) -> Result<Plan<'g, V>> {
        let mut finder = Finder::new();
        finder.discover(roots)?;
        Ok(finder.plan)
    }

    /// Plans a pass toward `targets` only.
    pub(super) fn toward(roots: &'g [Edge<V>], targets: &[Edge<V>]) -> Result<Plan<'g, V>> {
        let mut finder = Finder::new();
        finder.discover(roots)?;
        finder.mark(targets);
        let mut plan = finder.plan;
        plan.prune();
        Ok(plan)
    }

    /// Whether no node has hooks or retains its gradient.
    pub(super) fn is_plain(&self) -> bool {
        self.items.iter().all(|item| item.node.get().extras().is_none())
    }

    /// What the pass asks of node `k`.
    #[inline]
    pub(super) fn need(&self, k: u32) -> u8 {
        if self.needs.is_empty() { RUN } else { self.needs[k as usize] }
    }

    /// The edge targets of node `k`.
    #[inline]
    pub(super) fn targets_of(&self, k: u32) -> &[u32] {
        let item = &self.items[k as usize];
        let start = item.edges as usize;
        &self.targets[start..start + item.node.get().edges().len()]
    }

    /// The positions of the targets that ask for `output`.
    pub(super) fn captures_of(&self, output: u32) -> impl Iterator<Item = usize> + '_ {
        let from = self.captures.partition_point(|c| c.0 < output);
        self.captures[from..].iter().take_while(move |c| c.0 == output).map(|c| c.1 as usize)
    }

    /// Per output: its node.
    pub(super) fn owners(&self) -> Vec<u32> {
        let mut owner = vec![0u32; self.outputs as usize];
        for (k, item) in self.items.iter().enumerate() {
            let first = item.output as usize;
            owner[first..first + item.node.get().outputs() as usize].fill(k as u32);
        }
        owner
    }

    /// Keeps only what leads to a target.
    fn prune(&mut self) {
        let owner = self.owners();
        for &k in self.order.iter().rev() {
            let item = &self.items[k as usize];
            let start = item.edges as usize;
            for target in &mut self.targets[start..start + item.node.get().edges().len()] {
                if *target == NOWHERE {
                    continue;
                }
                if self.needs[owner[*target as usize] as usize] != 0 {
                    self.needs[k as usize] |= RUN;
                } else {
                    *target = NOWHERE;
                }
            }
        }
        let needs = &self.needs;
        self.order.retain(|k| needs[*k as usize] != 0);
        self.leaves.retain(|k| needs[*k as usize] != 0);
    }
}

impl<V: Value> Running<V> for Plan<'_, V> {
    fn token(&self) -> Weak<()> {
        Arc::downgrade(self.token.get_or_init(Arc::default))
    }

    fn reaches(&self, node: &NodeId<V>, output: u32) -> bool {
        let place = self.items.iter().find(|item| item.node.address() == node.address());
        let Some(output) = place.filter(|_| node.is_live()).map(|item| item.output + output) else {
            return false;
        };
        let gives = |k: &u32| self.need(*k) & RUN != 0 && self.targets_of(*k).contains(&output);
        self.roots.contains(&output) || self.order.iter().any(gives)
    }
}

/// How nodes find their dense index during discovery.
enum Index {
    Stamps(Stamps<'static>),
    Map(HashMap<usize, u32>),
}

/// Builds a plan.
struct Finder<'g, V: Value> {
    plan: Plan<'g, V>,
    index: Index,
    outputs: usize,
    last_seq: u64,
    sorted: bool,
    /// Leaves whose hooks run during the walk.
    hooked: Vec<u32>,
}

impl<'g, V: Value> Finder<'g, V> {
    fn new() -> Finder<'g, V> {
        let index = match V::arena().stamps() {
            Some(stamps) => Index::Stamps(stamps),
            None => Index::Map(HashMap::new()),
        };
        let plan = Plan {
            items: SmallVec::new(),
            targets: SmallVec::new(),
            order: SmallVec::new(),
            leaves: SmallVec::new(),
            roots: SmallVec::new(),
            outputs: 0,
            needs: SmallVec::new(),
            captures: SmallVec::new(),
            token: OnceLock::new(),
        };
        Finder { plan, index, outputs: 0, last_seq: u64::MAX, sorted: true, hooked: Vec::new() }
    }

    /// Breadth-first over a worklist: the list of items itself.
    fn discover(&mut self, roots: &'g [Edge<V>]) -> Result<()> {
        for root in roots {
            let output = self.output(root);
            self.plan.roots.push(output);
        }
        let mut k = 0;
        while k < self.plan.items.len() {
            self.plan.items[k].edges = self.plan.targets.len() as u32;
            let node: &'g Node<V> = self.plan.items[k].node.get();
            for edge in node.edges() {
                let target = match edge {
                    Some(edge) => self.output(edge),
                    None => NOWHERE,
                };
                self.plan.targets.push(target);
            }
            k += 1;
        }
        let most = self.plan.targets.len().max(self.outputs).max(self.plan.items.len());
        if most >= Stamps::MAX {
            let what = format!("the graph has {most} edges, more than the engine can number");
            return Err(Error::Internal { op: "backward".into(), what }.into());
        }
        self.plan.outputs = self.outputs as u32;
        if !self.sorted || !self.hooked.is_empty() {
            self.sort();
        }
        Ok(())
    }

    /// The dense number of the output that `edge` points to; its node joins the plan on first sight.
    #[inline]
    fn output(&mut self, edge: &'g Edge<V>) -> u32 {
        let node = edge.node().borrow();
        let found = match &mut self.index {
            Index::Stamps(stamps) => stamps.index(node.stamp()),
            Index::Map(map) => map.get(&node.address()).copied(),
        };
        let k = match found {
            Some(k) => k,
            None => self.add(node),
        };
        self.plan.items[k as usize].output + edge.output()
    }

    fn add(&mut self, node: NodeBorrow<'g, V>) -> u32 {
        let k = self.plan.items.len() as u32;
        match &mut self.index {
            // Past the last index stamps would alias; `discover` refuses such a graph when it ends.
            Index::Stamps(stamps) => node.set_stamp(stamps.stamp(k & (Stamps::MAX as u32 - 1))),
            Index::Map(map) => drop(map.insert(node.address(), k)),
        }
        self.plan.items.push(Item { node, output: self.outputs as u32, edges: 0 });
        let node = node.get();
        self.outputs += node.outputs() as usize;
        let leaf = node.flags().has(Flags::ACCUMULATOR);
        if leaf && node.extras().is_none() && !node.commits_at_once() {
            self.plan.leaves.push(k);
            return k;
        }
        self.plan.order.push(k);
        if leaf {
            self.hooked.push(k);
        } else {
            self.sorted &= node.seq() <= self.last_seq;
            self.last_seq = node.seq();
        }
        k
    }

    fn sort(&mut self) {
        let due = self.due();
        let items = &self.plan.items;
        let key = |&k: &u32| match due.get(items[k as usize].output as usize) {
            Some(&seq) if items[k as usize].node.flags().has(Flags::ACCUMULATOR) => (!seq, true, k),
            _ => (!items[k as usize].node.seq(), false, k),
        };
        let mut keyed: Vec<(u64, bool, u32)> = self.plan.order.iter().map(key).collect();
        keyed.sort_unstable();
        self.plan.order.clear();
        self.plan.order.extend(keyed.iter().map(|(_, _, k)| *k));
    }

    /// Per output, the sequence number of the consumer that runs last: a leaf with hooks runs right after it, however
    /// old the leaf itself is. Empty if no leaf has hooks.
    fn due(&self) -> Vec<u64> {
        if self.hooked.is_empty() {
            return Vec::new();
        }
        let mut due = vec![u64::MAX; self.outputs];
        for (k, item) in self.plan.items.iter().enumerate() {
            for &target in self.plan.targets_of(k as u32).iter().filter(|t| **t != NOWHERE) {
                let last = &mut due[target as usize];
                *last = item.node.seq().min(*last);
            }
        }
        due
    }

    /// Notes the targets that were reached.
    fn mark(&mut self, targets: &[Edge<V>]) {
        self.plan.needs.resize(self.plan.items.len(), 0);
        for (position, edge) in targets.iter().enumerate() {
            let node = edge.node().borrow();
            let found = match &self.index {
                Index::Stamps(stamps) => stamps.index(node.stamp()),
                Index::Map(map) => map.get(&node.address()).copied(),
            };
            if let Some(k) = found {
                self.plan.needs[k as usize] |= TARGET;
                let output = self.plan.items[k as usize].output + edge.output();
                self.plan.captures.push((output, position as u32));
            }
        }
        self.plan.captures.sort_unstable();
    }
}
