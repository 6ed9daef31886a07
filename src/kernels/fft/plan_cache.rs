//! Process-wide cache of FFT plans, with a bound on plans and points.
//!
//! Invariant: a plan follows from its key alone. After `fork`, a child begins with an empty cache:
//! the old one may be locked by a thread that does not exist in the child.

use crate::threads::{Mutex, MutexGuard};
use std::any::{Any, TypeId};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Most plans of a cache, and most points of all of them together.
const MAX_PLANS: usize = 128;
const MAX_POINTS: usize = 1 << 23;

/// Cache of plans of one kind, for both float types, by type, length and variant. The most recently
/// used plan is the last one.
pub(super) struct PlanCache(AtomicPtr<ProcessPlans>);

struct ProcessPlans {
    process: u32,
    plans: Mutex<Vec<(Key, AnyPlan)>>,
}

/// An `Arc` of a plan.
type AnyPlan = Box<dyn Any + Send>;

/// The type of a plan, its length and its variant (such as a direction).
type Key = (TypeId, usize, u8);

impl PlanCache {
    pub(super) const fn new() -> PlanCache {
        PlanCache(AtomicPtr::new(ptr::null_mut()))
    }

    /// The plan of a length and a variant, made by `make` if it is missing.
    pub(super) fn get<P: ?Sized + Send + Sync + 'static>(
        &self,
        (n, variant): (usize, u8),
        make: impl FnOnce() -> Arc<P>,
    ) -> Arc<P> {
        let key = (TypeId::of::<P>(), n, variant);
        let mut found = None;
        self.find(key, &mut |plan| found = plan.downcast_ref::<Arc<P>>().cloned());
        found.unwrap_or_else(|| {
            let made = make();
            self.insert(key, Box::new(Arc::clone(&made)));
            made
        })
    }

    /// Calls `show` with the plan of a key, if it is cached.
    fn find(&self, key: Key, show: &mut dyn FnMut(&dyn Any)) {
        let mut plans = self.lock();
        if let Some(at) = plans.iter().rposition(|(known, _)| *known == key) {
            plans[at..].rotate_left(1);
            plans.last().into_iter().for_each(|(_, plan)| show(&**plan));
        }
    }

    fn insert(&self, key: Key, made: AnyPlan) {
        let mut plans = self.lock();
        plans.push((key, made));
        let points = |plans: &[(Key, AnyPlan)]| plans.iter().map(|((_, n, _), _)| n).sum::<usize>();
        while plans.len() > 1 && (plans.len() > MAX_PLANS || points(&plans) > MAX_POINTS) {
            plans.remove(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Key, AnyPlan)>> {
        self.process_plans().plans.lock()
    }

    /// The plans of this process (not of its parent).
    fn process_plans(&self) -> &ProcessPlans {
        let process = std::process::id();
        loop {
            let now = self.0.load(Ordering::Acquire);
            // SAFETY: a leaked box, published by the exchange below.
            match unsafe { now.as_ref() } {
                Some(plans) if plans.process == process => return plans,
                _ => {}
            }
            let fresh =
                Box::into_raw(Box::new(ProcessPlans { process, plans: Mutex::new(Vec::new()) }));
            if self.0.compare_exchange(now, fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: it was not published.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_made_once_and_the_oldest_are_evicted() {
        static CACHE: PlanCache = PlanCache::new();
        let get = |n: usize| *CACHE.get::<usize>((n, 0), || Arc::new(n));
        assert_eq!(get(5), 5);
        assert_eq!(*CACHE.get::<usize>((5, 0), || unreachable!()), 5);
        assert_eq!(*CACHE.get::<usize>((5, 1), || Arc::new(7)), 7);
        assert_eq!(*CACHE.get::<u8>((5, 0), || Arc::new(9)), 9);
        (6..6 + MAX_PLANS).for_each(|n| assert_eq!(get(n), n));
        assert_eq!(*CACHE.get::<usize>((5, 0), || Arc::new(8)), 8);
        get(MAX_POINTS + 1);
        assert_eq!(CACHE.lock().len(), 1);
    }
}
