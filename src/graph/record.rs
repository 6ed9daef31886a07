//! `record`: the only way to make nodes.
//!
//! Checks whether the values may be saved, packs them by saved-value hooks, assigns the sequence number and allocates the
//! node.
//! Invariant: the inputs are counted before the node is published, and `seq` exceeds that of every input. A refused node
//! leaves no trace.

use std::borrow::Cow;
use std::convert::Infallible;

use super::arena::{self, NodeRef};
use super::call_site;
use super::mode::{DUAL, GRAD, Mode, PACKING};
use super::node::{Flags, Node};
use super::rule::RuleRef;
use super::saved_value_hooks;
use super::value::Value;
use super::{Edges, SavedValues};
use crate::error::Result;

/// Whether operations of this thread make nodes: recording is on, or a level of forward mode is live.
#[inline]
pub fn recording() -> bool {
    Mode::current().0 & (GRAD | DUAL) != 0
}

/// The least sequence number of nodes that this thread will record from now on.
pub fn next_node_seq() -> u64 {
    arena::last_seq() + 1
}

/// Makes the node of an operation whose outputs are already computed.
///
/// `cost_ns` estimates the node's backward. The caller attaches `Edge::new(node, k)` to output `k`.
///
/// # Errors
/// `Inference` for a value that may not be saved; whatever a saved-value hook reports.
pub fn record<V: Value>(
    rule: RuleRef<V>,
    inputs: Edges<V>,
    saved: SavedValues<V>,
    outputs: u32,
    cost_ns: f32,
    flags: Flags,
) -> Result<NodeRef<V>> {
    record_with(rule, (outputs, cost_ns, flags), |to, values| (*to, *values) = (inputs, saved))
}

/// As `record`; `fill` writes the inputs and the saved values in place.
///
/// # Errors
/// As `record`.
#[inline(always)]
pub fn record_with<V: Value>(
    rule: RuleRef<V>,
    (outputs, cost_ns, flags): (u32, f32, Flags),
    fill: impl FnOnce(&mut Edges<V>, &mut SavedValues<V>),
) -> Result<NodeRef<V>> {
    let mode = Mode::current();
    let node = V::arena().insert(
        || Node::new(rule, outputs, cost_ns),
        |node| {
            let (rule, inputs, saved) = node.contents();
            fill(inputs, saved);
            let flags = flags | check_and_pack(rule, saved, mode)?;
            let seq = next_seq(inputs);
            node.complete(seq, flags);
            Ok(())
        },
    );
    node.inspect(|node| note_call_site(node, mode))
}

/// Checks whether the values may be saved, and packs them; returns the flags that follow.
#[inline(always)]
fn check_and_pack<V: Value>(
    rule: &RuleRef<V>,
    saved: &mut SavedValues<V>,
    mode: Mode,
) -> Result<Flags> {
    for entry in saved.iter() {
        entry.admit(|| Cow::Owned(rule.name().into_owned()))?;
    }
    let has_host_objects =
        mode.has(PACKING) && !saved.is_empty() && saved_value_hooks::pack(&rule.name(), saved)?;
    Ok(if has_host_objects { Flags::HOST_OBJECTS } else { Flags::NONE })
}

/// The sequence number of a node with these inputs.
#[inline(always)]
fn next_seq<V: Value>(inputs: &Edges<V>) -> u64 {
    let mut newest = 0;
    for edge in inputs.iter().flatten() {
        newest = newest.max(edge.node().seq());
    }
    arena::next_seq(newest)
}

/// Makes the node of an operation that saves nothing, which cannot be refused.
pub fn record_plain<V: Value>(
    rule: RuleRef<V>,
    inputs: Edges<V>,
    outputs: u32,
    cost_ns: f32,
    flags: Flags,
) -> NodeRef<V> {
    let fill = |node: &mut Node<V>| -> std::result::Result<(), Infallible> {
        let seq = next_seq(&inputs);
        *node.contents().1 = inputs;
        node.complete(seq, flags);
        Ok(())
    };
    let Ok(node) = V::arena().insert(|| Node::new(rule, outputs, cost_ns), fill);
    note_call_site(&node, Mode::current());
    node
}

/// Notes the call site, if the mode asks for it.
#[inline(always)]
fn note_call_site<V: Value>(node: &NodeRef<V>, mode: Mode) {
    if call_site::wants_call_site(mode) {
        call_site::note_call_site(node);
    }
}
