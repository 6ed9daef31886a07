//! Work in blocks, on the caller's thread and on helpers.
//!
//! Owns: who takes which block, and the offers to idle lanes. Never decides whether a cut pays.
//! Invariant: every block runs once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{CALLED, Gate, IDLE, OFFERS, Team, num_threads, with_team};

/// Runs `f(0)` … `f(blocks - 1)`, on several threads when some are to spare. The caller decides whether it pays.
///
/// A panic of a block goes on in the caller, once.
pub fn parallel_for(blocks: usize, f: &(dyn Fn(usize) + Sync)) {
    run(blocks, false, f);
}

/// The same with the caller at the front and helpers at the back: threads do not write into the same lines of the cache at the
/// borders of blocks, and what a core keeps of one pass it finds there in the next.
pub fn parallel_apart(blocks: usize, f: &(dyn Fn(usize) + Sync)) {
    run(blocks, true, f);
}

fn run(blocks: usize, apart: bool, f: &(dyn Fn(usize) + Sync)) {
    let most = num_threads();
    let helpers = blocks.min(most).saturating_sub(1);
    let free = (most - 1).saturating_sub(CALLED.load(Ordering::Relaxed)).min(helpers);
    let idle = helpers > 0 && IDLE.load(Ordering::Relaxed) > 0;
    if free == 0 && !idle {
        return (0..blocks).for_each(f);
    }
    let (taken, back) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |helps: bool| {
        /// Hands out no more blocks when one has panicked.
        struct Stop<'a>(&'a AtomicUsize, usize);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                if thread::panicking() {
                    self.0.store(self.1, Ordering::Relaxed);
                }
            }
        }
        let _stop = Stop(&taken, blocks);
        let mut front = 0;
        loop {
            let ticket = taken.fetch_add(1, Ordering::Relaxed);
            if ticket >= blocks {
                return;
            }
            f(match (apart, helps) {
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

/// A team on the list of offers.
struct Offer<'a>(&'a Arc<Gate>);

impl Offer<'_> {
    fn new(gate: &Arc<Gate>) -> Offer<'_> {
        OFFERS.lock().push(Arc::clone(gate));
        Offer(gate)
    }
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        OFFERS.lock().retain(|gate| !Arc::ptr_eq(gate, self.0));
    }
}
