//! Discovery: which nodes a pass or a search reaches from its roots.
//!
//! Nodes get dense indices, by stamps or by a map. Runs no rules and no host code. With targets, nodes older than the
//! oldest target are skipped: they cannot lead to one.
//! Invariant: each node joins the plan once, borrowed from the roots.

use std::cell::Cell;
use std::collections::HashMap;

use super::plan::{Plan, PlannedNode, TARGET};
use crate::error::{Error, Result};
use crate::graph::arena::{Edge, NodeBorrow, NodeRef, Stamps};
use crate::graph::node::{Flags, Node};
use crate::graph::rule_context::NO_TARGET;
use crate::graph::value::Value;

thread_local! {
    static DISCOVERED: Cell<u64> = const { Cell::new(0) };
}

/// How many nodes the passes and searches of this thread have visited: their overhead beside the rules.
pub fn discovered() -> u64 {
    DISCOVERED.get()
}

/// Counts visited nodes.
pub(super) fn count(nodes: u64) {
    DISCOVERED.set(DISCOVERED.get() + nodes);
}

/// How nodes are mapped to their dense index.
enum NodeIndex {
    Stamps(Stamps<'static>),
    Map(HashMap<usize, u32>),
    /// Discovery has ended: other passes may stamp.
    Closed,
}

impl NodeIndex {
    fn new<V: Value>() -> NodeIndex {
        match V::arena().stamps() {
            Some(stamps) => NodeIndex::Stamps(stamps),
            None => NodeIndex::Map(HashMap::new()),
        }
    }

    #[inline]
    fn get<V: Value>(&self, node: NodeBorrow<'_, V>) -> Option<u32> {
        match self {
            NodeIndex::Stamps(stamps) => stamps.index(node.stamp()),
            NodeIndex::Map(map) => map.get(&node.address()).copied(),
            NodeIndex::Closed => None,
        }
    }

    #[inline]
    fn set<V: Value>(&mut self, node: NodeBorrow<'_, V>, k: u32) {
        match self {
            // Beyond the last index stamps would alias; `finish` refuses such a graph.
            NodeIndex::Stamps(stamps) => node.set_stamp(stamps.stamp(k & (Stamps::MAX as u32 - 1))),
            NodeIndex::Map(map) => drop(map.insert(node.address(), k)),
            NodeIndex::Closed => {}
        }
    }
}

/// The sequence number of the oldest target: nodes with a smaller one lead to none.
fn oldest_seq<V: Value>(targets: &[Edge<V>]) -> u64 {
    targets.iter().map(|target| target.node().seq()).min().unwrap_or(u64::MAX)
}

/// Up to this many nodes are sorted by insertion, without a table of keys.
const INSERTION_SORT_MAX: usize = 32;

/// Builds a plan.
pub(super) struct Discovery<'g, V: Value> {
    plan: Plan<'g, V>,
    index: NodeIndex,
    outputs: usize,
    last_seq: u64,
    sorted: bool,
    /// Leaves whose hooks run during the walk.
    hooked_leaves: Vec<u32>,
    /// Nodes with a smaller sequence number are skipped.
    floor: u64,
    /// Nodes with a smaller sequence number are ends: their inputs are skipped.
    since: u64,
    /// The number of nodes whose edges have been read.
    expanded: usize,
    /// Whether an edge to a skipped node was found, or a node that leads nowhere.
    has_skipped: bool,
}

impl<'g, V: Value> Discovery<'g, V> {
    /// An empty plan. It is large: constructed in place.
    #[inline(always)]
    pub(super) fn new() -> Discovery<'g, V> {
        Discovery {
            plan: Plan::new(),
            index: NodeIndex::new::<V>(),
            outputs: 0,
            last_seq: u64::MAX,
            sorted: true,
            hooked_leaves: Vec::new(),
            floor: 0,
            since: 0,
            expanded: 0,
            has_skipped: false,
        }
    }

    /// Begins at `roots`, toward `targets` if there are any; nodes with a sequence number below `since` are ends.
    pub(super) fn begin(&mut self, roots: &'g [Edge<V>], targets: Option<&[Edge<V>]>, since: u64) {
        self.floor = targets.map_or(0, oldest_seq);
        self.since = since;
        for root in roots {
            let output = self.output(root);
            self.plan.roots.push(output);
        }
    }

    /// The estimated nanoseconds of the nodes so far.
    pub(super) fn cost(&self) -> f32 {
        self.plan.cost
    }

    /// Continues the breadth-first search (the list of items is the queue) to its end, or until the nodes cost `limit`; true
    /// if they cost less.
    pub(super) fn discover(&mut self, limit: Option<f32>) -> bool {
        let below = |cost: f32| limit.is_none_or(|limit| cost < limit);
        while below(self.plan.cost) && self.expanded < self.plan.items.len() {
            if let Some(before) = self.expanded.checked_sub(1) {
                self.plan.items[self.expanded].node.prefetch_ahead(self.plan.items[before].node);
            }
            let item = &mut self.plan.items[self.expanded];
            item.edges = self.plan.targets.len() as u32;
            let node: &'g Node<V> = item.node.get();
            let floor = if node.seq() < self.since { u64::MAX } else { self.floor };
            let mut has_target = node.flags().has(Flags::ACCUMULATOR);
            for edge in node.edges() {
                let target = match edge {
                    Some(edge) if edge.node().seq() >= floor => {
                        has_target = true;
                        self.output(edge)
                    }
                    _ => {
                        self.has_skipped |= edge.is_some();
                        NO_TARGET
                    }
                };
                self.plan.targets.push(target);
            }
            self.has_skipped |= !has_target;
            self.expanded += 1;
        }
        below(self.plan.cost)
    }

    /// Finishes discovery: the plan of all reached nodes, or of those that lead to `targets`.
    pub(super) fn finish(
        &mut self,
        targets: Option<&[Edge<V>]>,
        capture: bool,
    ) -> Result<&Plan<'g, V>> {
        self.discover(None);
        count(self.expanded as u64);
        let most = self.plan.targets.len().max(self.outputs).max(self.plan.items.len());
        if most >= Stamps::MAX {
            let what = format!("the graph has {most} edges, more than the engine can number");
            return Err(Error::Internal { op: "backward".into(), what }.into());
        }
        self.plan.outputs = self.outputs as u32;
        if !self.sorted || !self.hooked_leaves.is_empty() {
            self.sort();
        }
        if let Some(targets) = targets
            && !self.note_captures(targets)
        {
            self.mark(targets);
            self.plan.prune();
        }
        self.plan.capture = capture;
        self.index = NodeIndex::Closed;
        Ok(&self.plan)
    }

    /// The dense index of the output of `edge`; its node joins the plan when first seen.
    #[inline]
    fn output(&mut self, edge: &'g Edge<V>) -> u32 {
        let node = edge.node().borrow();
        let first = match self.index.get(node) {
            Some(k) => self.plan.items[k as usize].output,
            None => self.add(node),
        };
        first + edge.output()
    }

    /// Adds a node to the plan; returns the index of its first output.
    #[inline(always)]
    fn add(&mut self, node: NodeBorrow<'g, V>) -> u32 {
        let (k, first) = (self.plan.items.len() as u32, self.outputs as u32);
        self.index.set(node, k);
        self.plan.items.push(PlannedNode { node, output: first, edges: 0 });
        let node = node.get();
        self.outputs += node.outputs() as usize;
        self.plan.cost += node.cost();
        let leaf = node.flags().has(Flags::ACCUMULATOR);
        if leaf && node.attachments().is_none() && !node.commits_immediately() {
            self.plan.leaves.push(k);
            return first;
        }
        self.plan.order.push(k);
        if leaf {
            self.hooked_leaves.push(k);
        } else {
            self.sorted &= node.seq() <= self.last_seq;
            self.last_seq = node.seq();
        }
        first
    }

    fn sort(&mut self) {
        if self.hooked_leaves.is_empty() && self.plan.order.len() <= INSERTION_SORT_MAX {
            return self.insertion_sort();
        }
        let last_consumer_seq = self.last_consumer_seq();
        let items = &self.plan.items;
        let key = |&k: &u32| match last_consumer_seq.get(items[k as usize].output as usize) {
            Some(&seq) if items[k as usize].node.flags().has(Flags::ACCUMULATOR) => (!seq, true, k),
            _ => (!items[k as usize].node.seq(), false, k),
        };
        let mut keyed: Vec<(u64, bool, u32)> = self.plan.order.iter().map(key).collect();
        keyed.sort_unstable();
        self.plan.order.clear();
        self.plan.order.extend(keyed.iter().map(|(_, _, k)| *k));
    }

    /// Insertion sort, for few nodes.
    fn insertion_sort(&mut self) {
        let (items, order) = (&self.plan.items, &mut self.plan.order[..]);
        let seq = |k: u32| items[k as usize].node.get().seq();
        for i in 1..order.len() {
            let (k, mut at) = (order[i], i);
            while at > 0 && seq(order[at - 1]) < seq(k) {
                order[at] = order[at - 1];
                at -= 1;
            }
            order[at] = k;
        }
    }

    /// For each output, the sequence number of the consumer that runs last: a leaf with hooks runs right after it, however old
    /// the leaf is. Empty if no leaf has hooks.
    fn last_consumer_seq(&self) -> Vec<u64> {
        if self.hooked_leaves.is_empty() {
            return Vec::new();
        }
        let mut last_consumer_seq = vec![u64::MAX; self.outputs];
        for (k, item) in self.plan.items.iter().enumerate() {
            for &target in self.plan.targets_of(k as u32).iter().filter(|t| **t != NO_TARGET) {
                let last = &mut last_consumer_seq[target as usize];
                *last = item.node.seq().min(*last);
            }
        }
        last_consumer_seq
    }

    /// Notes the captured outputs; true if they are exactly the leaves, so that no pruning is needed.
    fn note_captures(&mut self, targets: &[Edge<V>]) -> bool {
        let mut leaves = self.hooked_leaves.is_empty() && !self.has_skipped;
        for (position, edge) in targets.iter().enumerate() {
            if let Some(k) = self.index.get(edge.node().borrow()) {
                leaves &= edge.node().flags().has(Flags::ACCUMULATOR);
                let output = self.plan.items[k as usize].output + edge.output();
                self.plan.captures.push((output, position as u32));
            }
        }
        self.plan.captures.sort_unstable();
        let outputs = self.plan.captures.chunk_by(|a, b| a.0 == b.0).count();
        leaves && outputs == self.plan.leaves.len()
    }

    /// Marks the targets that were reached.
    fn mark(&mut self, targets: &[Edge<V>]) {
        self.plan.needs.resize(self.plan.items.len(), 0);
        for edge in targets {
            if let Some(k) = self.index.get(edge.node().borrow()) {
                self.plan.needs[k as usize] |= TARGET;
            }
        }
    }
}

/// The estimated nanoseconds of a pass from `roots` to `targets`.
pub fn estimate<V: Value>(roots: &[Edge<V>], targets: &[Edge<V>]) -> f32 {
    let mut discovery = Discovery::new();
    discovery.begin(roots, Some(targets), 0);
    discovery.discover(None);
    count(discovery.expanded as u64);
    discovery.cost()
}

/// The inputs of a computation that began at sequence number `since`: the edges from its nodes, or from `roots`, to older
/// nodes and to leaves; each once, in the order of discovery.
pub fn frontier<V: Value>(roots: &[Edge<V>], since: u64) -> Vec<Edge<V>> {
    let mut index = NodeIndex::new::<V>();
    let mut frontier: Vec<Edge<V>> = Vec::new();
    let mut pending: Vec<&Edge<V>> = roots.iter().rev().collect();
    let mut visited = 0;
    while let Some(edge) = pending.pop() {
        let node = edge.node();
        if node.seq() < since || node.flags().has(Flags::ACCUMULATOR) {
            if !frontier.contains(edge) {
                frontier.push(edge.clone());
            }
        } else if index.get(node.borrow()).is_none() {
            index.set(node.borrow(), visited);
            visited += 1;
            pending.extend(node.edges().iter().flatten().rev());
        }
    }
    count(u64::from(visited));
    frontier
}

/// Whether `roots` or nodes below them satisfy `wanted`. Nodes older than all of `ends` are not searched, because they
/// lead to none of them: the first such node ends the search with true if `older`, else it is skipped.
pub fn search<V: Value>(
    roots: &[Edge<V>],
    ends: &[Edge<V>],
    older: bool,
    mut wanted: impl FnMut(&NodeRef<V>) -> bool,
) -> bool {
    let (floor, mut index) = (oldest_seq(ends), NodeIndex::new::<V>());
    let mut pending: Vec<&NodeRef<V>> = roots.iter().map(Edge::node).collect();
    let (mut visited, mut found) = (0, false);
    while !found && let Some(node) = pending.pop() {
        if index.get(node.borrow()).is_some() {
            continue;
        }
        index.set(node.borrow(), 0);
        visited += 1;
        if node.seq() < floor {
            found = older;
        } else if wanted(node) {
            found = true;
        } else {
            pending.extend(node.edges().iter().flatten().map(Edge::node));
        }
    }
    count(visited);
    found
}
