//! Statistics of a recorded graph: nodes, edges, depth, and bytes.
//!
//! Invariant: every node and every saved buffer is counted once, however often it is reached.

use std::collections::{HashMap, HashSet};

use crate::graph::{Flags, Node as GraphNode, Saved};
use crate::tensor::{Node, Tensor};

/// The nodes of one operation in a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpSize {
    /// The operation's name.
    pub name: String,
    /// The number of nodes.
    pub nodes: usize,
    /// The bytes of the buffers they save; a buffer saved by several operations counts for the earliest.
    pub saved_bytes: usize,
}

/// The size of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphSize {
    /// Recorded operations.
    pub operations: usize,
    /// Leaves that require grad.
    pub leaves: usize,
    /// Edges between operations, and from operations to leaves.
    pub edges: usize,
    /// The length of the longest path, in operations.
    pub depth: usize,
    /// The bytes of the nodes themselves.
    pub node_bytes: usize,
    /// The bytes of all saved buffers.
    pub saved_bytes: usize,
    /// Per operation, in descending order of saved bytes.
    pub shares: Vec<OpSize>,
}

/// The size of the graph behind `tensor`; all zero if nothing was recorded.
pub fn measure(tensor: &Tensor) -> GraphSize {
    let mut size = GraphSize::default();
    let nodes = reachable_nodes(tensor);
    let mut depths: HashMap<usize, usize> = HashMap::with_capacity(nodes.len());
    let mut buffers: HashSet<usize> = HashSet::new();
    let mut shares: HashMap<String, OpSize> = HashMap::new();
    for node in &nodes {
        size.node_bytes += size_of::<GraphNode<Tensor>>();
        if node.flags().has(Flags::ACCUMULATOR) {
            size.leaves += 1;
            continue;
        }
        size.operations += 1;
        let mut deepest = 0;
        for edge in node.edges().iter().flatten() {
            size.edges += 1;
            deepest = deepest.max(depths.get(&edge.node().address()).copied().unwrap_or(0));
        }
        depths.insert(node.address(), deepest + 1);
        size.depth = size.depth.max(deepest + 1);
        let saved_bytes = unseen_saved_bytes(node, &mut buffers);
        size.saved_bytes += saved_bytes;
        let name = node.name().into_owned();
        let share = shares.entry(name).or_insert_with_key(|name| OpSize {
            name: name.clone(),
            nodes: 0,
            saved_bytes: 0,
        });
        share.nodes += 1;
        share.saved_bytes += saved_bytes;
    }
    size.shares = shares.into_values().collect();
    size.shares
        .sort_by(|a, b| (b.saved_bytes, b.nodes, &a.name).cmp(&(a.saved_bytes, a.nodes, &b.name)));
    size
}

/// The nodes behind a tensor, inputs first.
fn reachable_nodes(tensor: &Tensor) -> Vec<Node> {
    let mut pending: Vec<Node> =
        tensor.grad_edge().map(|edge| edge.node().clone()).into_iter().collect();
    let mut seen: HashSet<usize> = pending.iter().map(|node| node.address()).collect();
    let mut found = Vec::new();
    while let Some(node) = pending.pop() {
        for edge in node.edges().iter().flatten() {
            if seen.insert(edge.node().address()) {
                pending.push(edge.node().clone());
            }
        }
        found.push(node);
    }
    sort_by_sequence(&mut found);
    found
}

fn sort_by_sequence(nodes: &mut [Node]) {
    nodes.sort_unstable_by_key(|node| node.seq());
}

/// The zero-derivative nodes that every path from `tensor` to a leaf passes, the latest first; `None` if some path avoids
/// them all, or there are none.
pub fn zero_gradient_nodes(tensor: &Tensor) -> Option<Vec<Node>> {
    let mut pending: Vec<Node> =
        tensor.grad_edge().map(|edge| edge.node().clone()).into_iter().collect();
    let mut seen: HashSet<usize> = pending.iter().map(|node| node.address()).collect();
    let mut steps: Vec<Node> = Vec::new();
    while let Some(node) = pending.pop() {
        if node.flags().has(Flags::ACCUMULATOR) {
            return None;
        }
        for (i, edge) in node.edges().iter().enumerate() {
            let Some(edge) = edge else { continue };
            if node.rule().is_zero(i) {
                if steps.iter().all(|step| step.address() != node.address()) {
                    steps.push(node.clone());
                }
            } else if seen.insert(edge.node().address()) {
                pending.push(edge.node().clone());
            }
        }
    }
    sort_by_sequence(&mut steps);
    steps.reverse();
    (!steps.is_empty()).then_some(steps)
}

/// The bytes of the buffers that a node saves and that are not in `buffers` yet.
fn unseen_saved_bytes(node: &Node, buffers: &mut HashSet<usize>) -> usize {
    let sum = node.with_saved(|saved| {
        let payloads = saved.iter().filter_map(Saved::payload);
        payloads.filter(|p| buffers.insert(p.address())).map(|p| p.nbytes()).sum()
    });
    sum.unwrap_or(0)
}
