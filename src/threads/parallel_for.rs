//! `parallel_for`: blocks of work on the caller's thread and on helpers.
//!
//! The caller decides whether splitting pays.
//! Invariant: every block runs once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{CALLED, Gate, IDLE, OPEN_TEAMS, Team, num_threads, with_team};

/// Runs `f(0)` … `f(blocks - 1)`, on several threads if some are free.
///
/// A panic of a block is resumed in the caller, once.
pub fn parallel_for(blocks: usize, f: &(dyn Fn(usize) + Sync)) {
    run(blocks, false, f);
}

/// Runs `f(start, end)` for each of the blocks that cut `0..n` evenly.
pub fn parallel_ranges(n: usize, blocks: usize, f: &(dyn Fn(usize, usize) + Sync)) {
    parallel_for(blocks, &|i| f(i * n / blocks, (i + 1) * n / blocks));
}

/// As `parallel_for`, with the caller taking blocks from the front and helpers from the back: threads share no cache lines
/// at block borders, and a core finds in its cache what it used in the pass before.
pub fn parallel_for_two_ended(blocks: usize, f: &(dyn Fn(usize) + Sync)) {
    run(blocks, true, f);
}

fn run(blocks: usize, two_ended: bool, f: &(dyn Fn(usize) + Sync)) {
    let threads = num_threads();
    let helpers = blocks.min(threads).saturating_sub(1);
    let free = (threads - 1).saturating_sub(CALLED.load(Ordering::Relaxed)).min(helpers);
    let idle = helpers > 0 && IDLE.load(Ordering::Relaxed) > 0;
    if free == 0 && !idle {
        return (0..blocks).for_each(f);
    }
    let (taken, back) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |is_helper: bool| {
        /// Stops handing out blocks when one has panicked.
        struct StopOnPanic<'a>(&'a AtomicUsize, usize);
        impl Drop for StopOnPanic<'_> {
            fn drop(&mut self) {
                if thread::panicking() {
                    self.0.store(self.1, Ordering::Relaxed);
                }
            }
        }
        let _stop = StopOnPanic(&taken, blocks);
        let mut front = 0;
        loop {
            let ticket = taken.fetch_add(1, Ordering::Relaxed);
            if ticket >= blocks {
                return;
            }
            f(match (two_ended, is_helper) {
                (false, _) => ticket,
                (true, true) => blocks - 1 - back.fetch_add(1, Ordering::Relaxed),
                (true, false) => front,
            });
            front += 1;
        }
    };
    with_team(&|_: &Team| work(true), |team| {
        let _offer = idle.then(|| Offer::new(&team.gate));
        for _ in 0..free {
            team.call();
        }
        work(false);
    });
}

/// A team listed as open while this lives.
struct Offer<'a>(&'a Arc<Gate>);

impl Offer<'_> {
    fn new(gate: &Arc<Gate>) -> Offer<'_> {
        OPEN_TEAMS.lock().push(Arc::clone(gate));
        Offer(gate)
    }
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        OPEN_TEAMS.lock().retain(|gate| !Arc::ptr_eq(gate, self.0));
    }
}
