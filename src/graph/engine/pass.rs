//! A backward pass: the request, the choice of the walk, and the commits.
//!
//! Invariant: a pass that fails or panics has changed no leaf, and the thread's mode is restored.

use smallvec::SmallVec;

use super::anomaly;
use super::commit::{commit, commit_all};
use super::discover::Discovery;
use super::fusion;
use super::host::{Host, MIN_DETACHED_NS, detach_if_long};
use super::linear_chain::LinearChain;
use super::parallel;
use super::plan::Plan;
use super::schedule::Schedule;
use super::serial::{self, SerialWalk};
use super::step::{Outcome, PassOptions, Seeds};
use crate::error::Result;
use crate::graph::arena::Edge;
use crate::graph::call_site;
use crate::graph::mode::{ANOMALY, DUAL, Mode, ModeGuard, SERIAL};
use crate::graph::value::Value;
use crate::threads;

/// Where the gradients of a pass go.
pub enum Targets<V: Value> {
    /// To every reached leaf.
    Leaves,
    /// Only to these leaves, and to the retain-grad hooks of these outputs; nodes that do not lead to them do not run.
    LeavesOf(Vec<Edge<V>>),
    /// To the caller, one gradient per edge; nothing is committed.
    Capture(Vec<Edge<V>>),
}

/// For a pass nested in another one: the sequence numbers (see [`next_node_seq`](crate::graph::next_node_seq)) at which it begins;
/// 0 otherwise.
#[derive(Clone, Copy, Default, Debug)]
pub struct NestedStart {
    /// Older nodes do not run: they are ends.
    pub nodes: u64,
    /// Hooks and retained gradients of older nodes are left to the outer pass, which reaches those nodes as well.
    pub hooks: u64,
}

/// A backward pass.
pub struct Pass<'a, V: Value> {
    /// The roots with their gradients; several for one output are summed in order.
    pub roots: Vec<(Edge<V>, V)>,
    /// Where the gradients go.
    pub targets: Targets<V>,
    /// Where a nested pass ends.
    pub since: NestedStart,
    /// Keep the saved values for another pass.
    pub retain_graph: bool,
    /// Record the computation of the gradients.
    pub create_graph: bool,
    /// The host's lock and signals.
    pub host: &'a dyn Host,
    /// The most threads to use.
    pub threads: usize,
}

impl<V: Value> Pass<'_, V> {
    /// Runs the pass. For `Capture`: one gradient per target, `None` where no root depends on it.
    pub fn run(self) -> Result<Vec<Option<V>>> {
        // Only a batched pass can return `None`.
        Ok(self.run_with_batch(None)?.unwrap_or_default())
    }

    /// Runs a batched pass: the gradients of the roots have a leading axis of `rows`, and so have the captured ones. `None` if
    /// hooks or anomaly mode must see each row; then nothing has run.
    pub fn run_batch(self, rows: usize) -> Result<Option<Vec<Option<V>>>> {
        self.run_with_batch(Some(rows))
    }

    fn run_with_batch(self, batch: Option<usize>) -> Result<Option<Vec<Option<V>>>> {
        let rows = batch.unwrap_or(1) as f32;
        let (mut edges, mut seeds) = (SmallVec::<[Edge<V>; 1]>::new(), Seeds::new());
        for (edge, seed) in self.roots {
            edges.push(edge);
            seeds.push(seed);
        }
        let (targets, capture): (Option<&[Edge<V>]>, bool) = match &self.targets {
            Targets::Leaves => (None, false),
            Targets::LeavesOf(captures) => (Some(captures), false),
            Targets::Capture(captures) => (Some(captures), true),
        };
        let _mode = ModeGuard::new(Mode::current());
        let options = PassOptions::new(self.retain_graph, self.create_graph, capture)
            .with_batch(batch)
            .with_hooks_since(self.since.hooks);
        let _site = call_site::set_site(call_site::current_call_site());
        // Anomaly mode is serial, so that the first NaN is found first; levels of forward mode are the thread's.
        let serial = options.packs() || Mode::current().0 & (ANOMALY | SERIAL | DUAL) != 0;
        let workers = if serial { 1 } else { self.threads.min(threads::num_threads()) };
        let run = PassRun { host: self.host, options, workers, rows };
        let is_whole = targets.is_none() && self.since.nodes == 0 && self.since.hooks == 0;
        if let ([root], true) = (&edges[..], is_whole && options.is_plain()) {
            let mut chain = LinearChain::new(root, seeds.remove(0), options);
            if chain.run(MIN_DETACHED_NS, self.host)? {
                return run.finish_chain(chain);
            }
            return detach_if_long(self.host, MIN_DETACHED_NS, || {
                chain.run(f32::INFINITY, self.host)?;
                run.finish_chain(chain)
            });
        }
        run.run_planned(&edges, targets, (seeds, self.since.nodes))
    }
}

/// The fixed parameters of a pass.
#[derive(Clone, Copy)]
struct PassRun<'a> {
    host: &'a dyn Host,
    options: PassOptions,
    /// The most threads to use.
    workers: usize,
    rows: f32,
}

impl PassRun<'_> {
    /// Continues a pass toward all leaves where its linear chain ended.
    #[inline(never)]
    fn finish_chain<V: Value>(self, chain: LinearChain<'_, V>) -> Result<Option<Vec<Option<V>>>> {
        let (mut edges, mut seeds) = (SmallVec::new(), Seeds::new());
        if !chain.into_roots(&mut edges, &mut seeds) {
            return self.run_planned(&edges, None, (seeds, 0));
        }
        self.options.enter();
        for (edge, grad) in edges.iter().zip(seeds) {
            commit(edge.node(), self.options, self.host, grad)?;
        }
        Ok(Some(Vec::new()))
    }

    /// A planned pass.
    #[inline(never)]
    fn run_planned<V: Value>(
        self,
        edges: &[Edge<V>],
        targets: Option<&[Edge<V>]>,
        (mut seeds, since): (Seeds<V>, u64),
    ) -> Result<Option<Vec<Option<V>>>> {
        let mut discovery = Discovery::new();
        discovery.begin(edges, targets, since);
        if discovery.discover(Some(MIN_DETACHED_NS / self.rows)) {
            return self.walk_plan(&mut discovery, targets, &mut seeds);
        }
        // Expensive: neither the rest of the discovery nor the walk needs the host's lock.
        let cost = discovery.cost() * self.rows;
        detach_if_long(self.host, cost, || self.walk_plan(&mut discovery, targets, &mut seeds))
    }

    fn walk_plan<V: Value>(
        self,
        discovery: &mut Discovery<'_, V>,
        targets: Option<&[Edge<V>]>,
        seeds: &mut Seeds<V>,
    ) -> Result<Option<Vec<Option<V>>>> {
        let PassRun { host, options, workers, rows } = self;
        let plan = discovery.finish(targets, options.capture)?;
        if options.batch.is_some()
            && (!plan.is_plain() || call_site::wants_call_site(Mode::current()))
        {
            return Ok(None);
        }
        let long = workers > 1 && plan.cost * rows >= MIN_DETACHED_NS;
        let schedule = long.then(|| Schedule::new(plan));
        let captures = targets.filter(|_| options.capture).map_or(0, <[_]>::len);
        let forks = |schedule: &Schedule| {
            schedule.forkable >= MIN_DETACHED_NS && !fusion::dominates(plan, options)
        };
        if let Some(schedule) = schedule.filter(forks) {
            let seeds = std::mem::take(seeds);
            let outcome = parallel::walk(plan, &schedule, options, host, seeds, workers)?;
            return finish(plan, options, host, (outcome, &mut |_| None, workers), captures)
                .map(Some);
        }
        let mut walk = SerialWalk::new(plan, options, host);
        walk.run(seeds)?;
        let outcome = std::mem::take(&mut walk.outcome);
        let result: WalkResult<'_, V> = (outcome, &mut |output| walk.take(output), 1);
        finish(plan, options, host, result, captures).map(Some)
    }
}

/// The outcome of a walk, a function that takes the gradients of the remaining leaves, and the number of threads.
type WalkResult<'a, V> = (Outcome<V>, &'a mut dyn FnMut(u32) -> Option<V>, usize);

/// Commits and captures: only now does anything outside the pass change.
fn finish<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    host: &dyn Host,
    (mut outcome, take, workers): WalkResult<'_, V>,
    captures: usize,
) -> Result<Vec<Option<V>>> {
    options.enter();
    let mut captured: Vec<Option<V>> = (0..captures).map(|_| None).collect();
    if options.checks_nan() {
        serial::collect_leaves(plan, options, take, &mut outcome);
    } else if options.capture {
        for &k in &plan.leaves {
            let output = plan.items[k as usize].output;
            let Some(grad) = take(output) else { continue };
            for position in plan.captures_of(output) {
                captured[position] = Some(grad.clone());
            }
        }
    }
    if options.checks_nan() {
        for (k, grad) in &outcome.commits {
            anomaly::check_incoming(plan.items[*k as usize].node.get(), grad)?;
        }
    }
    commit_all(plan, options, host, (outcome.commits, workers))?;
    for &k in &plan.leaves {
        let item = &plan.items[k as usize];
        if let Some(grad) = take(item.output) {
            commit(item.node.get(), options, host, grad)?;
        }
    }
    for (hook, grad) in outcome.stored {
        hook.store(grad, options.create_graph)?;
    }
    for (position, grad) in outcome.captured {
        captured[position] = Some(grad);
    }
    plan.end(options)?;
    Ok(captured)
}
