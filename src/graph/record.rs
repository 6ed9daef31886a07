//! The one gate through which every operation enters the graph.
//!
//! Owns nothing; asks whether the saved values may be saved, lets the saved-value hooks pack them, assigns sequence
//! numbers and hands the node to the arena.
//! Invariant: the inputs are counted before the node is visible, and `seq` exceeds that of every input. A node that is
//! refused leaves no trace.

use std::borrow::Cow;

use super::arena::{self, NodeRef};
use super::mode::{self, Mode, PACKING};
use super::node::{Flags, Node};
use super::packing;
use super::rule::RuleRef;
use super::site;
use super::value::Value;
use super::{Edges, SavedValues};
use crate::error::Result;

/// Whether operations of this thread record.
#[inline]
pub fn recording() -> bool {
    mode::grad_enabled()
}

/// The least number that the next node of this thread can have: what is recorded from here on has this or a greater one.
pub fn next_node() -> u64 {
    arena::last_seq() + 1
}

/// Creates the node of an operation whose output is already computed.
///
/// `cost_ns` estimates the node's backward. The caller attaches `Edge::new(node, k)` to output `k`.
///
/// # Errors
/// `Inference` for a value that may not be saved; whatever a saved-value hook reports.
#[inline(always)]
pub fn record<V: Value>(
    rule: RuleRef<V>,
    inputs: Edges<V>,
    mut saved: SavedValues<V>,
    outputs: u32,
    cost_ns: f32,
    flags: Flags,
) -> Result<NodeRef<V>> {
    record_saving(rule, inputs, &mut saved, (outputs, cost_ns, flags))
}

/// The same by reference: saved values are large, and only those that are there move into the node.
fn record_saving<V: Value>(
    rule: RuleRef<V>,
    inputs: Edges<V>,
    saved: &mut SavedValues<V>,
    (outputs, cost_ns, mut flags): (u32, f32, Flags),
) -> Result<NodeRef<V>> {
    let mode = Mode::current();
    for entry in saved.iter() {
        entry.admit(|| Cow::Owned(rule.name().into_owned()))?;
    }
    if mode.has(PACKING) && !saved.is_empty() && packing::pack(&rule.name(), saved)? {
        flags = flags | Flags::FOREIGN;
    }
    Ok(insert(rule, inputs, saved, (outputs, cost_ns, flags), mode))
}

/// Creates the node of an operation that saves nothing, which nobody can refuse.
pub fn record_plain<V: Value>(
    rule: RuleRef<V>,
    inputs: Edges<V>,
    outputs: u32,
    cost_ns: f32,
    flags: Flags,
) -> NodeRef<V> {
    insert(rule, inputs, &mut SavedValues::new(), (outputs, cost_ns, flags), Mode::current())
}

#[inline(always)]
fn insert<V: Value>(
    rule: RuleRef<V>,
    inputs: Edges<V>,
    saved: &mut SavedValues<V>,
    (outputs, cost_ns, flags): (u32, f32, Flags),
    mode: Mode,
) -> NodeRef<V> {
    let mut newest = 0;
    for edge in inputs.iter().flatten() {
        newest = newest.max(edge.node().seq());
    }
    let seq = arena::next_seq(newest);
    let node = V::arena().insert(Node::new(seq, rule, inputs, outputs, cost_ns, flags), saved);
    if site::watched(mode) {
        site::remember(&node);
    }
    node
}
