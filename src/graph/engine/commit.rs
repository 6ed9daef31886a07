//! Commits the gradients of leaves at the end of a pass.
//!
//! Runs after the walk has succeeded. Invariant: each leaf is committed once, and the result does not depend on the thread.

use super::host::Host;
use super::plan::Plan;
use super::step::PassOptions;
use crate::error::{Error, Result};
use crate::graph::mode::{Mode, ModeGuard};
use crate::graph::node::{Flags, Node};
use crate::graph::value::Value;
use crate::threads::{self, InitiatingThread, Mutex};

/// The least number of leaves that are committed in parallel.
const PARALLEL_FROM: usize = 8;

/// Commits the gradient of a leaf; attached to the host if the node has host objects.
#[inline]
pub(super) fn commit<V: Value>(
    node: &Node<V>,
    options: PassOptions,
    host: &dyn Host,
    grad: V,
) -> Result<()> {
    if !node.flags().has(Flags::HOST_OBJECTS) {
        return node.rule().commit(grad, options.create_graph);
    }
    let (mut done, mut grad) = (Ok(()), Some(grad));
    host.attached(&mut || {
        if let Some(grad) = grad.take() {
            done = node.rule().commit(grad, options.create_graph);
        }
    });
    done
}

/// Commits the gradients that a walk has collected; in parallel after a parallel walk, whose helpers are still awake:
/// adding to existing gradients is bound by memory bandwidth.
pub(super) fn commit_all<V: Value>(
    plan: &Plan<'_, V>,
    options: PassOptions,
    host: &dyn Host,
    (commits, workers): (Vec<(u32, V)>, usize),
) -> Result<()> {
    let node = |k: u32| plan.items[k as usize].node.get();
    let plain = |(k, _): &(u32, V)| !node(*k).flags().has(Flags::HOST_OBJECTS);
    let parallel = workers > 1 && commits.len() >= PARALLEL_FROM && !options.create_graph;
    if !parallel || !commits.iter().all(plain) {
        return commits.into_iter().try_for_each(|(k, grad)| commit(node(k), options, host, grad));
    }
    let queue = Mutex::new(commits.into_iter().enumerate());
    let failure: Mutex<Option<(usize, Box<Error>)>> = Mutex::new(None);
    let caller = InitiatingThread::current();
    let work = || {
        let (_mode, _origin) = (ModeGuard::new(Mode::current()), caller.adopt());
        options.enter();
        loop {
            let next = queue.lock().next();
            let Some((i, (k, grad))) = next else { return };
            let Err(error) = node(k).rule().commit(grad, false) else { continue };
            // As in the serial case: the first failure is reported, and no later leaf is committed.
            let _left: Vec<_> = queue.lock().by_ref().collect();
            let mut failure = failure.lock();
            let first = failure.as_ref().is_none_or(|(first, _)| i < *first);
            let other = if first { failure.replace((i, error)) } else { None };
            drop(failure);
            drop(other);
        }
    };
    threads::with_team(&|_| work(), |team| {
        (1..workers).for_each(|_| {
            team.call();
        });
        work();
    });
    let failure = failure.into_inner();
    failure.map_or(Ok(()), |(_, error)| Err(error))
}
