//! One node of a pass: its hooks, captures, saved values and rule; shared by the serial and the parallel walk.
//!
//! Invariant: no lock is held while a hook or a rule runs, and the thread's mode is the pass's.

use std::sync::Arc;

use smallvec::SmallVec;

use super::anomaly;
use super::batched_rules;
use super::grad_table::{GradsByInput, InputGrads};
use super::plan::{Plan, RUN, TARGET};
use crate::error::{Error, Result};
use crate::graph::arena::{NodeBorrow, last_seq, set_last_seq};
use crate::graph::attachments::Attachments;
use crate::graph::call_site;
use crate::graph::hook::RetainGradHook;
use crate::graph::mode::{CHECK_NAN, DUAL, GRAD, INFERENCE, Mode, PACKING, TRACING};
use crate::graph::node::{Flags, Node};
use crate::graph::rule_context::{Context, NO_TARGET};
use crate::graph::value::Value;

/// The gradients of a node's outputs.
pub(super) type Grads<V> = SmallVec<[Option<V>; 1]>;

/// The gradients at the roots.
pub(super) type Seeds<V> = SmallVec<[V; 1]>;

/// The constants of a pass.
#[derive(Clone, Copy)]
pub(super) struct PassOptions {
    pub(super) retain: bool,
    pub(super) create_graph: bool,
    /// Gradients of leaf targets are returned, not committed.
    pub(super) capture: bool,
    /// The number of rows of a batched pass.
    pub(super) batch: Option<usize>,
    /// Hooks of nodes with a smaller sequence number do not run.
    hooks_since: u64,
    mode: Mode,
    /// The thread's sequence number before every rule and every sum, so that what they record is numbered alike on every
    /// thread.
    seq: u64,
}

impl PassOptions {
    pub(super) fn new(retain: bool, create_graph: bool, capture: bool) -> PassOptions {
        let now = Mode::current();
        let packs = create_graph && now.has(PACKING);
        let mode = now.with(INFERENCE | TRACING, false).with(GRAD, create_graph);
        let mode = mode.with(PACKING, packs);
        PassOptions {
            retain,
            // With tangents, rules compute by operations that push them; these record if grad mode is on.
            create_graph: create_graph || now.has(DUAL),
            capture,
            batch: None,
            hooks_since: 0,
            mode,
            seq: last_seq(),
        }
    }

    /// For gradients with a batch of this many rows.
    pub(super) fn with_batch(self, batch: Option<usize>) -> PassOptions {
        PassOptions { batch, ..self }
    }

    /// Without the hooks of nodes with a smaller sequence number.
    pub(super) fn with_hooks_since(self, hooks_since: u64) -> PassOptions {
        PassOptions { hooks_since, ..self }
    }

    /// The estimated nanoseconds of a node in this pass.
    #[inline]
    pub(super) fn cost<V: Value>(self, node: &Node<V>) -> f32 {
        node.cost() * self.batch.unwrap_or(1) as f32
    }

    /// Whether saved-value hooks pack what the pass records, which only the caller's thread can do.
    pub(super) fn packs(self) -> bool {
        self.mode.has(PACKING)
    }

    /// Whether gradients are checked for NaN.
    #[inline]
    pub(super) fn checks_nan(self) -> bool {
        self.mode.has(CHECK_NAN)
    }

    /// Whether rules run directly: not batched, and no mode watches them.
    pub(super) fn is_plain(self) -> bool {
        self.batch.is_none() && !call_site::wants_call_site(self.mode)
    }

    /// Sets the thread's mode and sequence number for a rule, a hook or a commit.
    #[inline]
    pub(super) fn enter(self) {
        self.mode.set();
        set_last_seq(self.seq);
    }

    /// Adds gradients; recorded if the pass records.
    #[inline]
    pub(super) fn sum<V: Value>(self, acc: V, new: &V) -> Result<V> {
        let seq = last_seq();
        set_last_seq(self.seq);
        let sum = V::accumulate(acc, new);
        set_last_seq(seq);
        sum
    }
}

/// What a worker has collected for the end of the pass.
pub(super) struct Outcome<V> {
    pub(super) captured: Vec<(usize, V)>,
    pub(super) stored: Vec<(Arc<dyn RetainGradHook<V>>, V)>,
    pub(super) commits: Vec<(u32, V)>,
}

impl<V> Default for Outcome<V> {
    fn default() -> Outcome<V> {
        Outcome { captured: Vec::new(), stored: Vec::new(), commits: Vec::new() }
    }
}

/// Runs node `k` with its complete gradients; those of its inputs go to `input_grads`.
#[inline]
pub(super) fn run<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    k: u32,
    grads: &mut Grads<V>,
    input_grads: &mut dyn InputGrads<V>,
    outcome: &mut Outcome<V>,
) -> Result<()> {
    let item = &plan.items[k as usize];
    let node = item.node.get();
    let need = plan.need(k);
    options.enter();
    let attachments = node.attachments().filter(|_| node.seq() >= options.hooks_since);
    if let Some(attachments) = attachments {
        run_output_hooks(plan, options, attachments, grads, outcome)?;
    }
    if need & TARGET != 0 && options.capture {
        capture_outputs(plan, item.output, grads, outcome);
    }
    if node.flags().has(Flags::ACCUMULATOR) {
        return if options.capture {
            Ok(())
        } else {
            commit_in_walk(node, options, k, grads, outcome)
        };
    }
    if need & RUN == 0 {
        return match attachments {
            Some(attachments) if !options.capture => {
                run_hooks_only(node, options, attachments, grads)
            }
            _ => Ok(()),
        };
    }
    match attachments {
        None => run_rule(plan, options, k, grads, input_grads),
        Some(attachments) => run_rule_with_hooks(plan, options, k, attachments, grads, input_grads),
    }
}

/// Runs the rule, through anomaly mode if it is on.
#[inline]
fn run_rule<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    k: u32,
    grads: &mut [Option<V>],
    input_grads: &mut dyn InputGrads<V>,
) -> Result<()> {
    if call_site::wants_call_site(options.mode) {
        return anomaly::run_rule(plan, options, k, grads, input_grads);
    }
    run_unwatched_rule(plan, options, k, grads, input_grads)
}

/// Runs the rule; its saved values are freed afterwards unless the pass retains them.
#[inline]
pub(super) fn run_unwatched_rule<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    k: u32,
    grads: &mut [Option<V>],
    input_grads: &mut dyn InputGrads<V>,
) -> Result<()> {
    let (item, targets) = (&plan.items[k as usize], plan.targets_of(k));
    let Some(rows) = options.batch else {
        return run_plain_rule(item.node, options, targets, grads, input_grads);
    };
    let node: &Node<V> = item.node.get();
    let mut saved = node.saved.enter(!options.retain).ok_or_else(|| graph_freed(node))?;
    let values = saved.values();
    let done = if node.rule().supports_batch() {
        let create_graph = options.create_graph;
        let cx = Context::new(item.node, grads, values, targets, input_grads, create_graph);
        call_rule(cx.with_batch(Some(rows)))
    } else {
        batched_rules::run_by_rows(item.node, options, (grads, rows), values, targets, input_grads)
    };
    done.map_err(|error| {
        saved.restore();
        anomaly::with_call_site(node, error)
    })
}

/// Runs the rule in a pass without a batch.
#[inline(always)]
pub(super) fn run_plain_rule<V: Value>(
    node: NodeBorrow<'_, V>,
    options: PassOptions,
    targets: &[u32],
    grads: &mut [Option<V>],
    input_grads: &mut dyn InputGrads<V>,
) -> Result<()> {
    let mut saved = node.saved.enter(!options.retain).ok_or_else(|| graph_freed(&node))?;
    let values = saved.values();
    let cx = Context::new(node, grads, values, targets, input_grads, options.create_graph);
    call_rule(cx).map_err(|error| {
        saved.restore();
        anomaly::with_call_site(&node, error)
    })
}

#[cold]
fn graph_freed<V: Value>(node: &Node<V>) -> Box<Error> {
    anomaly::with_call_site(node, Error::GraphFreed { op: node.name() }.into())
}

/// Calls the rule.
#[inline]
pub(super) fn call_rule<V: Value>(mut cx: Context<'_, V>) -> Result<()> {
    let node = cx.borrow_node();
    node.get().rule().backward(&mut cx)
}

/// Runs the hooks on the outputs' gradients, then notes retained gradients.
#[cold]
fn run_output_hooks<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    attachments: &Attachments<V>,
    grads: &mut Grads<V>,
    outcome: &mut Outcome<V>,
) -> Result<()> {
    for (output, hook) in attachments.output_hooks() {
        let Some(slot) = grads.get_mut(output as usize) else { continue };
        let Some(grad) = slot.clone() else { continue };
        options.enter();
        if let Some(new) = hook.call(grad, plan)? {
            *slot = Some(new);
        }
    }
    for (output, hook) in attachments.retain_grad_hooks() {
        if let Some(Some(grad)) = grads.get(output as usize) {
            outcome.stored.push((hook, grad.clone()));
        }
    }
    options.enter();
    Ok(())
}

/// Runs the node's pre-hooks.
fn run_pre_hooks<V: Value>(
    node: &Node<V>,
    options: PassOptions,
    attachments: &Attachments<V>,
    grads: &mut Grads<V>,
) -> Result<()> {
    for hook in attachments.pre_hooks() {
        options.enter();
        if let Some(new) = hook.call(None, grads)? {
            *grads = check_count(node, "outputs", new, grads.len())?.into();
        }
    }
    options.enter();
    Ok(())
}

/// Runs the hooks of a target node that is no leaf: its rule is not needed, so its inputs get no gradients.
#[cold]
fn run_hooks_only<V: Value>(
    node: &Node<V>,
    options: PassOptions,
    attachments: &Attachments<V>,
    grads: &mut Grads<V>,
) -> Result<()> {
    run_pre_hooks(node, options, attachments, grads)?;
    let inputs: Vec<Option<V>> = node.edges().iter().map(|_| None).collect();
    for hook in attachments.post_hooks() {
        options.enter();
        if let Some(new) = hook.call(Some(&inputs), grads)? {
            check_count(node, "inputs", new, inputs.len())?;
        }
    }
    Ok(())
}

/// A leaf within the walk: committed now if a hook waits for it, else after the pass.
#[cold]
fn commit_in_walk<V: Value>(
    node: &Node<V>,
    options: PassOptions,
    k: u32,
    grads: &mut Grads<V>,
    outcome: &mut Outcome<V>,
) -> Result<()> {
    if let Some(attachments) = node.attachments() {
        run_pre_hooks(node, options, attachments, grads)?;
    }
    let after = node.attachments().map(Attachments::post_hooks).unwrap_or_default();
    // Without post-hooks the gradient is passed on without a copy, so that its buffer can be reused.
    let seen = if after.is_empty() { Grads::new() } else { grads.clone() };
    let Some(grad) = grads.pop().flatten() else {
        return Ok(());
    };
    if !node.commits_immediately() {
        outcome.commits.push((k, grad));
        return Ok(());
    }
    node.rule().commit(grad, options.create_graph)?;
    let committed = node.attachments().map(Attachments::commit_hooks).unwrap_or_default();
    for hook in committed.into_iter().chain(after) {
        options.enter();
        hook.call(Some(&[]), &seen)?;
    }
    Ok(())
}

/// Checks that a node hook returned as many gradients as it got.
fn check_count<V: Value>(
    node: &Node<V>,
    of: &str,
    new: Vec<Option<V>>,
    want: usize,
) -> Result<Vec<Option<V>>> {
    if new.len() == want {
        return Ok(new);
    }
    let what =
        format!("a hook on {:?} returned {} gradients for {want} {of}", node.name(), new.len());
    let remedy = "return one entry for each, None where there is no gradient".into();
    Err(Error::Argument { op: "backward".into(), what, remedy }.into())
}

pub(super) fn capture_outputs<V: Value>(
    plan: &Plan<'_, V>,
    first: u32,
    grads: &[Option<V>],
    outcome: &mut Outcome<V>,
) {
    for (i, grad) in grads.iter().enumerate() {
        if let Some(grad) = grad {
            outcome.captured.extend(
                plan.captures_of(first + i as u32).map(|position| (position, grad.clone())),
            );
        }
    }
}

/// Runs the rule between the node's hooks; the gradients are passed on after the post-hooks have seen them.
#[cold]
fn run_rule_with_hooks<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    k: u32,
    attachments: &Attachments<V>,
    grads: &mut Grads<V>,
    input_grads: &mut dyn InputGrads<V>,
) -> Result<()> {
    let node = plan.items[k as usize].node.get();
    run_pre_hooks(node, options, attachments, grads)?;
    let after = attachments.post_hooks();
    if after.is_empty() {
        return run_rule(plan, options, k, grads, input_grads);
    }
    let outputs = grads.clone();
    let targets = plan.targets_of(k);
    let mut held = GradsByInput::new(options, targets.len());
    run_rule(plan, options, k, grads, &mut held)?;
    for hook in after {
        options.enter();
        if let Some(new) = hook.call(Some(&held.grads), &outputs)? {
            held.grads = check_count(node, "inputs", new, held.grads.len())?;
        }
    }
    for (i, grad) in held.grads.into_iter().enumerate() {
        if let (Some(v), Some(&target)) = (grad, targets.get(i))
            && target != NO_TARGET
        {
            input_grads.give(i, target, v)?;
        }
    }
    Ok(())
}
