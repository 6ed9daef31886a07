//! A backward pass: the request, the choice of the walk, and the commits.
//!
//! Invariant: a pass that fails or panics has changed no leaf, and the thread's mode is restored.

use smallvec::SmallVec;

use super::anomaly;
use super::commit::{commit, commit_all};
use super::discover::Finder;
use super::fusion;
use super::host::{GATE_NS, Host, detach_if_long};
use super::linear_chain::Head;
use super::parallel;
use super::plan::Plan;
use super::schedule::Schedule;
use super::serial::{self, Walk};
use super::step::{Outcome, PassOptions, Seeds};
use crate::error::Result;
use crate::graph::arena::Edge;
use crate::graph::call_site;
use crate::graph::mode::{ANOMALY, Mode, ModeGuard, SERIAL};
use crate::graph::value::Value;
use crate::threads;

/// Where the gradients of a pass go.
pub enum Targets<V: Value> {
    /// To every reached leaf.
    Leaves,
    /// Only to these leaves, and to the sinks of these outputs; nodes that do not lead to them do not run.
    LeavesOf(Vec<Edge<V>>),
    /// To the caller, one gradient per edge; nothing is committed.
    Capture(Vec<Edge<V>>),
}

/// For a pass nested in another one: the sequence numbers (see [`next_node`](crate::graph::next_node)) at which it begins;
/// 0 otherwise.
#[derive(Clone, Copy, Default, Debug)]
pub struct Since {
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
    pub since: Since,
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
        Ok(self.run_as(None)?.unwrap_or_default())
    }

    /// Runs a batched pass: the gradients of the roots have a leading axis of `rows`, and so have the captured ones. `None` if
    /// hooks or anomaly mode must see each row; then nothing has run.
    pub fn run_batch(self, rows: usize) -> Result<Option<Vec<Option<V>>>> {
        self.run_as(Some(rows))
    }

    fn run_as(self, batch: Option<usize>) -> Result<Option<Vec<Option<V>>>> {
        let rows = batch.unwrap_or(1) as f32;
        let (mut edges, mut seeds) = (SmallVec::<[Edge<V>; 1]>::new(), Seeds::new());
        for (edge, seed) in self.roots {
            edges.push(edge);
            seeds.push(seed);
        }
        let (targets, capture): (Option<&[Edge<V>]>, bool) = match &self.targets {
            Targets::Leaves => (None, false),
            Targets::LeavesOf(wanted) => (Some(wanted), false),
            Targets::Capture(wanted) => (Some(wanted), true),
        };
        let _mode = ModeGuard::new(Mode::current());
        let options = PassOptions::new(self.retain_graph, self.create_graph, capture)
            .with_batch(batch)
            .with_hooks_since(self.since.hooks);
        let _site = call_site::set_site(call_site::here());
        // Anomaly mode is serial, so that the first NaN is found first.
        let serial = options.packs() || Mode::current().0 & (ANOMALY | SERIAL) != 0;
        let lanes = if serial { 1 } else { self.threads.min(threads::num_threads()) };
        let run = Run { host: self.host, options, lanes, rows };
        let anywhere = targets.is_none() && self.since.nodes == 0 && self.since.hooks == 0;
        if let ([root], true) = (&edges[..], anywhere && options.is_plain()) {
            let mut head = Head::new(root, seeds.remove(0), options);
            if head.run(GATE_NS, self.host)? {
                return run.beyond(head);
            }
            return detach_if_long(self.host, GATE_NS, || {
                head.run(f32::INFINITY, self.host)?;
                run.beyond(head)
            });
        }
        run.from(&edges, targets, (seeds, self.since.nodes))
    }
}

/// The fixed parameters of a pass.
#[derive(Clone, Copy)]
struct Run<'a> {
    host: &'a dyn Host,
    options: PassOptions,
    /// The most threads to use.
    lanes: usize,
    rows: f32,
}

impl Run<'_> {
    /// The rest of a pass toward all leaves, after its linear chain.
    #[inline(never)]
    fn beyond<V: Value>(self, head: Head<'_, V>) -> Result<Option<Vec<Option<V>>>> {
        let (mut edges, mut seeds) = (SmallVec::new(), Seeds::new());
        if !head.rest(&mut edges, &mut seeds) {
            return self.from(&edges, None, (seeds, 0));
        }
        self.options.enter();
        for (edge, grad) in edges.iter().zip(seeds) {
            commit(edge.node(), self.options, self.host, grad)?;
        }
        Ok(Some(Vec::new()))
    }

    /// A planned pass.
    #[inline(never)]
    fn from<V: Value>(
        self,
        edges: &[Edge<V>],
        targets: Option<&[Edge<V>]>,
        (mut seeds, since): (Seeds<V>, u64),
    ) -> Result<Option<Vec<Option<V>>>> {
        let mut finder = Finder::new();
        finder.begin(edges, targets, since);
        if finder.discover(Some(GATE_NS / self.rows)) {
            return self.planned(&mut finder, targets, &mut seeds);
        }
        // Expensive: neither the rest of the discovery nor the walk needs the host's lock.
        let cost = finder.cost() * self.rows;
        detach_if_long(self.host, cost, || self.planned(&mut finder, targets, &mut seeds))
    }

    fn planned<V: Value>(
        self,
        finder: &mut Finder<'_, V>,
        targets: Option<&[Edge<V>]>,
        seeds: &mut Seeds<V>,
    ) -> Result<Option<Vec<Option<V>>>> {
        let Run { host, options, lanes, rows } = self;
        let plan = finder.finish(targets, options.capture)?;
        if options.batch.is_some() && (!plan.is_plain() || call_site::watched(Mode::current())) {
            return Ok(None);
        }
        let long = lanes > 1 && plan.cost * rows >= GATE_NS;
        let schedule = long.then(|| Schedule::new(plan));
        let wanted = targets.filter(|_| options.capture).map_or(0, <[_]>::len);
        let forks =
            |schedule: &Schedule| schedule.forkable >= GATE_NS && !fusion::prevail(plan, options);
        if let Some(schedule) = schedule.filter(forks) {
            let seeds = std::mem::take(seeds);
            let outcome = parallel::walk(plan, &schedule, options, host, seeds, lanes)?;
            return finish(plan, options, host, (outcome, &mut |_| None, lanes), wanted).map(Some);
        }
        let mut walk = Walk::new(plan, options, host);
        walk.run(seeds)?;
        let outcome = std::mem::take(&mut walk.outcome);
        let walked: Walked<'_, V> = (outcome, &mut |output| walk.take(output), 1);
        finish(plan, options, host, walked, wanted).map(Some)
    }
}

/// The outcome of a walk, a function that takes the gradients of the remaining leaves, and the number of threads.
type Walked<'a, V> = (Outcome<V>, &'a mut dyn FnMut(u32) -> Option<V>, usize);

/// Commits and captures: only now does anything outside the pass change.
fn finish<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    host: &dyn Host,
    (mut outcome, take, lanes): Walked<'_, V>,
    wanted: usize,
) -> Result<Vec<Option<V>>> {
    options.enter();
    let mut captured: Vec<Option<V>> = (0..wanted).map(|_| None).collect();
    if options.checks() {
        serial::leaves(plan, options, take, &mut outcome);
    } else if options.capture {
        for &k in &plan.leaves {
            let output = plan.items[k as usize].output;
            let Some(grad) = take(output) else { continue };
            for position in plan.captures_of(output) {
                captured[position] = Some(grad.clone());
            }
        }
    }
    if options.checks() {
        for (k, grad) in &outcome.commits {
            anomaly::arriving(plan.items[*k as usize].node.get(), grad)?;
        }
    }
    commit_all(plan, options, host, (outcome.commits, lanes))?;
    for &k in &plan.leaves {
        let item = &plan.items[k as usize];
        if let Some(grad) = take(item.output) {
            commit(item.node.get(), options, host, grad)?;
        }
    }
    for (sink, grad) in outcome.stored {
        sink.store(grad, options.create_graph)?;
    }
    for (position, grad) in outcome.captured {
        captured[position] = Some(grad);
    }
    plan.end(options)?;
    Ok(captured)
}
