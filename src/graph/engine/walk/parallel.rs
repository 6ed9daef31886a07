//! The parallel walk: the caller and helpers run nodes from private stacks and share some of them.
//!
//! The state shared by the threads of a pass; `worker.rs` is the code of one thread. Helpers come from the pool on demand
//! and leave when there is no work; nodes with host objects run on the caller only.
//! Invariant: every node of the order runs or is skipped exactly once, after all its consumers; sums follow the ranks, so
//! the bits do not depend on the schedule.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::Thread;

use super::grad_slots::GradSlots;
use super::schedule::{NO_POSITION, Schedule};
use super::serial;
use super::worker;
use super::worker::Worker;
use crate::error::{Error, Result};
use crate::graph::call_site;
use crate::graph::engine::host::Host;
use crate::graph::engine::plan::Plan;
use crate::graph::engine::step::{Outcome, PassOptions, Seeds};
use crate::graph::value::Value;
use crate::threads::{self, InitiatingThread, Mutex};

// The thresholds were measured with `benches/workers.py 9`, whose graphs have nodes of 2 to 300 µs; figures are speeds
// relative to one thread, on two cores.

/// Cheaper work is neither offered to others nor kept alone when offering. At 2.5 µs, the lattice of 24² products falls
/// from 0.99 to 0.90; at 10 µs the one of 40² products from 1.34 to 1.05, and 64 branches of 3 000 elements lose their 1.3.
pub(super) const OFFER_NS: f32 = 5_000.0;
/// Cheaper nodes run first when enough work depends on them.
pub(super) const CHEAP_NS: f32 = 1_000.0;

/// The state shared by the workers of a pass.
pub(super) struct SharedState<'s, 'g, V: Value> {
    pub(in crate::graph::engine) plan: &'s Plan<'g, V>,
    pub(in crate::graph::engine) schedule: &'s Schedule,
    pub(in crate::graph::engine) options: PassOptions,
    /// The call site of the pass, for helpers, which cannot ask the host.
    pub(in crate::graph::engine) site: Option<Arc<str>>,
    /// The thread that started the pass.
    pub(in crate::graph::engine) origin: InitiatingThread,
    pub(super) slots: GradSlots<V>,
    /// For each node, the number of consumers that have not delivered.
    pub(super) awaited: Vec<AtomicU32>,
    /// Nodes that any worker may take.
    public: Mutex<VecDeque<u32>>,
    public_len: AtomicUsize,
    /// Nodes with host objects, for the caller.
    inbox: Mutex<Vec<u32>>,
    inbox_len: AtomicUsize,
    /// The number of nodes of the order that have not run.
    remaining: AtomicUsize,
    stop: AtomicBool,
    failure: Mutex<Option<(u32, Box<Error>)>>,
    outcomes: Mutex<Vec<Outcome<V>>>,
    /// The number of workers without work.
    pub(super) idle: AtomicUsize,
    /// The number of helpers called and not gone.
    pub(super) helpers: AtomicUsize,
    pub(super) most_helpers: usize,
    caller: Thread,
    pub(super) caller_sleeps: AtomicBool,
}

/// Runs the plan on up to `workers` threads, the caller included.
pub(in crate::graph::engine) fn walk<V: Value>(
    plan: &Plan<'_, V>,
    schedule: &Schedule,
    options: PassOptions,
    host: &dyn Host,
    seeds: Seeds<V>,
    workers: usize,
) -> Result<Outcome<V>> {
    let shared = SharedState::new(plan, schedule, options, workers);
    options.enter();
    for (&output, seed) in plan.roots.iter().zip(seeds) {
        shared.slots.seed(output, seed)?;
    }
    threads::with_team(&|team| worker::run_helper(&shared, team), |team| {
        let mut worker = Worker::new(&shared, team, Some(host));
        worker.begin();
        worker.work();
    });
    if let Some((_, error)) = shared.failure.lock().take() {
        return Err(error);
    }
    let mut outcome = Outcome::default();
    let parts = std::mem::take(&mut *shared.outcomes.lock());
    for part in parts {
        outcome.captured.extend(part.captured);
        outcome.stored.extend(part.stored);
        outcome.commits.extend(part.commits);
    }
    // In the order of the serial walk.
    outcome.commits.sort_unstable_by_key(|(k, _)| schedule.positions[*k as usize]);
    serial::collect_leaves(plan, options, &mut |output| shared.slots.take(output), &mut outcome);
    Ok(outcome)
}

impl<'s, 'g, V: Value> SharedState<'s, 'g, V> {
    fn new(
        plan: &'s Plan<'g, V>,
        schedule: &'s Schedule,
        options: PassOptions,
        workers: usize,
    ) -> SharedState<'s, 'g, V> {
        SharedState {
            plan,
            schedule,
            options,
            site: call_site::current_call_site(),
            origin: InitiatingThread::current(),
            slots: GradSlots::new(plan.outputs as usize, options),
            awaited: schedule.awaited.iter().map(|n| AtomicU32::new(*n)).collect(),
            public: Mutex::new(VecDeque::new()),
            public_len: AtomicUsize::new(0),
            inbox: Mutex::new(Vec::new()),
            inbox_len: AtomicUsize::new(0),
            remaining: AtomicUsize::new(plan.order.len()),
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
            outcomes: Mutex::new(Vec::new()),
            idle: AtomicUsize::new(0),
            helpers: AtomicUsize::new(0),
            most_helpers: workers.saturating_sub(1),
            caller: std::thread::current(),
            caller_sleeps: AtomicBool::new(false),
        }
    }

    /// Whether the workers must leave: everything is done, or something failed.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.remaining.load(Ordering::Acquire) == 0 || self.stop.load(Ordering::Relaxed)
    }

    /// Whether something failed.
    #[inline]
    pub(super) fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Notes that a node of the order is done.
    #[inline]
    pub(in crate::graph::engine) fn done(&self) {
        if self.remaining.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.wake_caller();
        }
    }

    /// Keeps the failure that comes first in the order, and stops the pass.
    pub(super) fn fail(&self, k: u32, error: Box<Error>) {
        let position = match self.schedule.positions.get(k as usize) {
            Some(&position) => position,
            None => NO_POSITION,
        };
        let mut failure = self.failure.lock();
        let first = failure.as_ref().is_none_or(|(first, _)| position < *first);
        let other = if first { failure.replace((position, error)) } else { None };
        drop(failure);
        drop(other);
        self.halt();
    }

    /// Stops the pass.
    pub(super) fn halt(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake_caller();
    }

    pub(in crate::graph::engine) fn collect(&self, outcome: Outcome<V>) {
        self.outcomes.lock().push(outcome);
    }

    /// Whether the public queue has fewer nodes than there are idle workers.
    #[inline]
    pub(super) fn wants_offers(&self) -> bool {
        self.public_len.load(Ordering::SeqCst) < self.idle.load(Ordering::SeqCst).max(1)
    }

    #[inline]
    pub(super) fn has_public(&self) -> bool {
        self.public_len.load(Ordering::SeqCst) > 0
    }

    pub(super) fn offer(&self, k: u32) {
        self.public.lock().push_back(k);
        self.public_len.fetch_add(1, Ordering::SeqCst);
        self.wake_caller();
    }

    pub(super) fn take_public(&self) -> Option<u32> {
        if !self.has_public() {
            return None;
        }
        let k = self.public.lock().pop_front()?;
        self.public_len.fetch_sub(1, Ordering::SeqCst);
        Some(k)
    }

    pub(super) fn post_foreign_node(&self, k: u32) {
        self.inbox.lock().push(k);
        self.inbox_len.fetch_add(1, Ordering::SeqCst);
        self.wake_caller();
    }

    #[inline]
    pub(super) fn has_foreign_nodes(&self) -> bool {
        self.inbox_len.load(Ordering::SeqCst) > 0
    }

    /// Takes the inbox node that comes first in the order.
    pub(super) fn take_foreign_node(&self) -> Option<u32> {
        let mut inbox = self.inbox.lock();
        let position = |k: &u32| self.schedule.positions[*k as usize];
        let (i, _) = inbox.iter().enumerate().min_by_key(|(_, k)| position(k))?;
        self.inbox_len.fetch_sub(1, Ordering::SeqCst);
        Some(inbox.swap_remove(i))
    }

    fn wake_caller(&self) {
        if self.caller_sleeps.load(Ordering::SeqCst) {
            self.caller.unpark();
        }
    }
}
