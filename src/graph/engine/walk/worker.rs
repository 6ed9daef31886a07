//! One thread of a parallel walk.
//!
//! It has a private stack of ready nodes, run in the serial order, and offers some of them to idle workers. No lock is held
//! while a node runs.
//! Invariant: a worker leaves with an empty stack unless the pass is over, and the thread's mode is restored.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::grad_slots::{Contribution, GivenGrad};
use super::parallel::{CHEAP_NS, OFFER_NS, SharedState};
use super::schedule::{DUPLICATE, NO_POSITION};
use super::serial::SignalPoll;
use crate::error::Result;
use crate::graph::call_site;
use crate::graph::engine::grad_table::InputGrads;
use crate::graph::engine::host::Host;
use crate::graph::engine::step::{self, Grads, Outcome};
use crate::graph::mode::{Mode, ModeGuard};
use crate::graph::node::Flags;
use crate::graph::rule_context::NO_TARGET;
use crate::graph::value::Value;
use crate::threads::{HELPER_SPIN_TIME, IdleWorker, Team};

/// The longest sleep of the caller.
const MAX_SLEEP: Duration = Duration::from_millis(1);
/// How many stack entries are considered for an offer.
const OFFER_CANDIDATES: usize = 8;

/// One thread of the walk.
pub(super) struct Worker<'l, 's, 'g, V: Value> {
    shared: &'l SharedState<'s, 'g, V>,
    team: &'l Team,
    /// The caller's host; `None` on a helper.
    host: Option<&'l dyn Host>,
    /// Ready nodes, the first in the order at the back: contributions then arrive in about the order in which they are added.
    stack: VecDeque<u32>,
    /// The sum of the cones of the stack.
    load: f32,
    /// Cheap ready nodes on which much work depends: they run first, to make that work available.
    urgent: Vec<u32>,
    ready: Vec<u32>,
    staged: StagedGrads<V>,
    outcome: Outcome<V>,
    poll: SignalPoll,
}

/// The body of a helper.
pub(super) fn run_helper<V: Value>(shared: &SharedState<'_, '_, V>, team: &Team) {
    let (_mode, _origin) = (ModeGuard::new(Mode::current()), shared.origin.adopt());
    let _site = call_site::set_site(shared.site.clone());
    Worker::new(shared, team, None).work();
}

impl<'l, 's, 'g, V: Value> Worker<'l, 's, 'g, V> {
    pub(in crate::graph::engine) fn new(
        shared: &'l SharedState<'s, 'g, V>,
        team: &'l Team,
        host: Option<&'l dyn Host>,
    ) -> Worker<'l, 's, 'g, V> {
        Worker {
            shared,
            team,
            host,
            stack: VecDeque::new(),
            load: 0.0,
            urgent: Vec::new(),
            ready: Vec::new(),
            staged: StagedGrads { contributions: Vec::new() },
            outcome: Outcome::default(),
            poll: SignalPoll::default(),
        }
    }

    /// Takes the nodes that wait for no consumer.
    pub(in crate::graph::engine) fn begin(&mut self) {
        let awaited = &self.shared.schedule.awaited;
        self.ready.extend(self.shared.plan.order.iter().filter(|k| awaited[**k as usize] == 0));
        self.queue_ready_nodes();
    }

    /// Runs nodes until the pass is over or, on a helper, there is no work.
    pub(in crate::graph::engine) fn work(&mut self) {
        /// Stops the pass if a rule panics.
        struct StopOnPanic<'a, 's, 'g, V: Value>(&'a SharedState<'s, 'g, V>);
        impl<V: Value> Drop for StopOnPanic<'_, '_, '_, V> {
            fn drop(&mut self) {
                if thread::panicking() {
                    self.0.halt();
                }
            }
        }
        let _stop = StopOnPanic(self.shared);
        loop {
            if self.shared.stop_requested() {
                break;
            }
            if self.host.is_some() && self.shared.has_foreign_nodes() {
                self.run_foreign_nodes();
            } else if let Some(k) = self.pop() {
                self.run(k);
            } else if self.shared.is_over() || !self.find_work() {
                break;
            }
        }
        self.shared.collect(std::mem::take(&mut self.outcome));
    }

    fn pop(&mut self) -> Option<u32> {
        if let Some(k) = self.urgent.pop() {
            return Some(k);
        }
        match self.stack.pop_back() {
            Some(k) => {
                self.load -= self.shared.schedule.cones[k as usize];
                Some(k)
            }
            None => self.shared.take_public(),
        }
    }

    /// Runs the inbox in one batch, attached to the host.
    fn run_foreign_nodes(&mut self) {
        let Some(host) = self.host else { return };
        host.attached(&mut || {
            while !self.shared.stop_requested()
                && let Some(k) = self.shared.take_foreign_node()
            {
                self.run(k);
            }
        });
    }

    fn run(&mut self, k: u32) {
        match self.step(k) {
            Ok(()) => {
                self.queue_ready_nodes();
                self.shared.done();
            }
            Err(error) => self.shared.fail(k, error),
        }
    }

    /// Runs node `k` and delivers its contributions.
    fn step(&mut self, k: u32) -> Result<()> {
        let plan = self.shared.plan;
        let item = &plan.items[k as usize];
        let node = item.node.get();
        let mut grads = Grads::new();
        for output in item.output..item.output + node.outputs() {
            grads.push(self.shared.slots.take(output));
        }
        if grads.iter().any(Option::is_some) {
            if let Some(host) = self.host {
                self.poll.count(
                    self.shared.options.cost(node),
                    node.flags().has(Flags::HOST_OBJECTS),
                    host,
                )?;
            }
            step::run(
                plan,
                self.shared.options,
                k,
                &mut grads,
                &mut self.staged,
                &mut self.outcome,
            )?;
            drop(grads);
            self.shared.options.enter();
        }
        self.deliver(k)
    }

    /// Delivers the staged contributions to their outputs, and empty ones to the outputs that got none.
    fn deliver(&mut self, k: u32) -> Result<()> {
        let (plan, schedule) = (self.shared.plan, self.shared.schedule);
        let first = plan.items[k as usize].edges as usize;
        let contributions = &mut self.staged.contributions;
        if contributions.len() > 1 {
            // Stable: several contributions to one output stay in the order in which they were given.
            contributions.sort_by_key(|contribution| contribution.0);
        }
        for (i, &target) in plan.targets_of(k).iter().enumerate() {
            let rank = schedule.ranks[first + i];
            if target == NO_TARGET || rank == DUPLICATE {
                continue;
            }
            let from = contributions.partition_point(|contribution| contribution.0 < target);
            let mine = contributions[from..]
                .iter_mut()
                .take_while(|contribution| contribution.0 == target);
            let contribution: Contribution<V> =
                mine.filter_map(|contribution| contribution.1.take()).collect();
            let added = self.shared.slots.deliver(target, rank, contribution)?;
            let owner = schedule.owner[target as usize];
            let awaited = &self.shared.awaited[owner as usize];
            if added > 0
                && awaited.fetch_sub(added, Ordering::AcqRel) == added
                && schedule.positions[owner as usize] != NO_POSITION
            {
                self.ready.push(owner);
            }
        }
        contributions.clear();
        Ok(())
    }

    /// Queues the nodes that became ready, then offers one if another worker could use it.
    fn queue_ready_nodes(&mut self) {
        let (plan, schedule) = (self.shared.plan, self.shared.schedule);
        for k in self.ready.drain(..) {
            let node = plan.items[k as usize].node.get();
            let cone = schedule.cones[k as usize];
            if node.flags().has(Flags::HOST_OBJECTS) {
                self.shared.post_foreign_node(k);
            } else if node.cost() < CHEAP_NS && cone - node.cost() >= OFFER_NS {
                self.urgent.push(k);
            } else {
                let position = |k: &u32| schedule.positions[*k as usize];
                let i = self.stack.partition_point(|other| position(other) > position(&k));
                self.stack.insert(i, k);
                self.load += cone;
            }
        }
        if self.stack.len() > 1 && self.shared.most_helpers > 0 && self.shared.wants_offers() {
            self.offer();
        }
    }

    /// Offers the largest of the nodes to be run next, if it and the rest are large enough.
    fn offer(&mut self) {
        let cone = |i: &usize| self.shared.schedule.cones[self.stack[*i] as usize];
        let last = self.stack.len() - 1;
        let next = last.saturating_sub(OFFER_CANDIDATES)..last;
        // The last of equals, which is the first in the order.
        let found = next.filter(|i| cone(i) >= OFFER_NS).max_by(|i, j| cone(i).total_cmp(&cone(j)));
        let Some(found) = found else { return };
        let given = cone(&found);
        if self.load - given < OFFER_NS {
            return;
        }
        let Some(k) = self.stack.remove(found) else {
            return;
        };
        self.load -= given;
        self.shared.offer(k);
        if self.shared.idle.load(Ordering::SeqCst) == 0 {
            self.call_helper();
        }
    }

    fn call_helper(&self) {
        let helpers = &self.shared.helpers;
        if helpers.fetch_add(1, Ordering::Relaxed) >= self.shared.most_helpers || !self.team.call()
        {
            helpers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Waits for work; false if there is none to wait for.
    fn find_work(&mut self) -> bool {
        self.shared.idle.fetch_add(1, Ordering::SeqCst);
        let found = match self.host {
            Some(host) => self.wait_as_caller(host),
            None => self.wait_as_helper(),
        };
        self.shared.idle.fetch_sub(1, Ordering::SeqCst);
        if self.host.is_none() && !found {
            // A worker that offered just now saw this one still idle and called no helper: check once more.
            if self.shared.has_public() {
                return true;
            }
            self.shared.helpers.fetch_sub(1, Ordering::Relaxed);
        }
        found
    }

    fn wait_as_helper(&self) -> bool {
        let shared = self.shared;
        IdleWorker::new().help_until(|| shared.is_over() || shared.has_public())
            && !shared.is_over()
    }

    fn wait_as_caller(&mut self, host: &dyn Host) -> bool {
        let idle = IdleWorker::new();
        let begin = Instant::now();
        loop {
            if self.shared.is_over() || self.shared.has_public() || self.shared.has_foreign_nodes()
            {
                return true;
            }
            if let Err(error) = self.poll.check(host) {
                self.shared.fail(0, error);
                return true;
            }
            if idle.help() {
                continue;
            }
            if begin.elapsed() < HELPER_SPIN_TIME {
                std::hint::spin_loop();
                continue;
            }
            self.shared.caller_sleeps.store(true, Ordering::SeqCst);
            if !self.shared.is_over()
                && !self.shared.has_public()
                && !self.shared.has_foreign_nodes()
            {
                thread::park_timeout(MAX_SLEEP);
            }
            self.shared.caller_sleeps.store(false, Ordering::SeqCst);
        }
    }
}

/// The contributions of the running rule.
struct StagedGrads<V: Value> {
    contributions: Vec<(u32, Option<GivenGrad<V>>)>,
}

impl<V: Value> InputGrads<V> for StagedGrads<V> {
    fn give(&mut self, _input: usize, target: u32, v: V) -> Result<()> {
        self.contributions.push((target, Some(GivenGrad::Whole(v))));
        Ok(())
    }

    fn give_slice(&mut self, _input: usize, target: u32, slice: V::Slice) -> Result<()> {
        self.contributions.push((target, Some(GivenGrad::Slice(Box::new(slice)))));
        Ok(())
    }
}
