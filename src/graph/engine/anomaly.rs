//! Anomaly mode: checks gradients for NaN and names the forward call in errors.
//!
//! A pass that checks is serial. Invariant: every gradient of a rule is checked, so the first NaN is reported.

use std::collections::HashSet;

use super::grad_table::InputGrads;
use super::plan::Plan;
use super::step::{self, PassOptions};
use crate::error::{Error, Result};
use crate::graph::call_site;
use crate::graph::mode::{ANOMALY, Mode};
use crate::graph::node::Node;
use crate::graph::value::Value;

/// Runs the rule of node `k`; nodes that it records get the call site of `k`.
#[cold]
pub(super) fn run_rule<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    k: u32,
    grads: &mut [Option<V>],
    input_grads: &mut dyn InputGrads<V>,
) -> Result<()> {
    let node: &Node<V> = plan.items[k as usize].node.get();
    let _site = call_site::set_site(call_site::of_backward(node));
    if !options.checks_nan() {
        return step::run_unwatched_rule(plan, options, k, grads, input_grads);
    }
    for grad in grads.iter().flatten() {
        check_incoming(node, grad)?;
    }
    step::run_unwatched_rule(plan, options, k, grads, &mut NanCheck { node, input_grads })
}

/// Fails if an incoming gradient has NaN. No rule computed it, since the results of every rule are checked.
#[cold]
pub(super) fn check_incoming<V: Value>(node: &Node<V>, grad: &V) -> Result<()> {
    if !grad.holds_nan() {
        return Ok(());
    }
    let what = format!(
        "the gradient that reached \"{}\" holds NaN, and no operation made it",
        node.name()
    );
    let remedy =
        "look at the gradient given to backward, at hooks, and at sums of opposite infinities";
    Err(with_call_site(node, Error::State { op: "backward".into(), what, remedy }.into()))
}

/// Forwards gradients unless they have NaN.
struct NanCheck<'a, V: Value> {
    node: &'a Node<V>,
    input_grads: &'a mut dyn InputGrads<V>,
}

impl<V: Value> InputGrads<V> for NanCheck<'_, V> {
    fn give(&mut self, input: usize, target: u32, v: V) -> Result<()> {
        if v.holds_nan() {
            return Err(nan_error(self.node, input));
        }
        self.input_grads.give(input, target, v)
    }
}

#[cold]
fn nan_error<V: Value>(node: &Node<V>, input: usize) -> Box<Error> {
    let name = node.name();
    let made = format!("\"{name}\" made NaN of gradients without NaN, for its input {input}");
    let Some(origin) = origin(node) else {
        let remedy = "keep its operands away from where the derivative is infinite or undefined; \
                      see docs/when_it_goes_wrong.md";
        return Error::State { op: "backward".into(), what: made, remedy }.into();
    };
    let what =
        format!("{made}; the first NaN of the forward is the result of \"{}\"", origin.name());
    let remedy = "keep that operation's operands in its domain; see docs/when_it_goes_wrong.md";
    let error: Box<Error> = Error::State { op: "backward".into(), what, remedy }.into();
    if std::ptr::eq(origin, node) { error } else { with_call_site(origin, error) }
}

/// The earliest node, at or below `node`, whose result had NaN although the results of its recorded inputs had none.
fn origin<V: Value>(node: &Node<V>) -> Option<&Node<V>> {
    let has_nan =
        |node: &Node<V>| node.attachments().is_some_and(|attachments| attachments.holds_nan());
    let mut first: Option<&Node<V>> = None;
    let mut seen: HashSet<*const Node<V>> = HashSet::new();
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        let mut from_input = false;
        for edge in node.edges().iter().flatten() {
            let input: &Node<V> = edge.node();
            if has_nan(input) {
                from_input = true;
                if seen.insert(std::ptr::from_ref(input)) {
                    pending.push(input);
                }
            }
        }
        if !from_input && has_nan(node) && first.is_none_or(|known| node.seq() < known.seq()) {
            first = Some(node);
        }
    }
    first
}

/// Adds the call site of the node's operation to an error, if it is known or anomaly mode asked for it.
#[cold]
pub(super) fn with_call_site<V: Value>(node: &Node<V>, error: Box<Error>) -> Box<Error> {
    let name = node.name();
    let note = match node.attachments().and_then(|attachments| attachments.call_site()) {
        Some(site) => {
            let calls = site.replace('\n', "\n  ");
            format!("forward call of \"{name}\" (most recent call last):\n  {calls}")
        }
        None if Mode::current().has(ANOMALY) => {
            format!("the forward call of \"{name}\" is unknown: it ran outside detect_anomaly()")
        }
        None => return error,
    };
    Error::Noted { error, note }.into()
}
