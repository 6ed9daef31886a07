//! Plans, kept for the process.
//!
//! Owns: the cache of plans and its bound. Never transforms.
//! Invariant: a plan follows from its key alone, so that it does not matter who made it. A child process after `fork`
//! begins with an empty cache: the old one may be locked by a thread that the child does not have.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most plans of a kind, and the most points of all of them together.
const PLANS: usize = 64;
const POINTS: usize = 1 << 22;

/// Plans of one kind by length and variant, the one used last at the end.
pub(super) struct Cache<P: ?Sized + Send + Sync>(AtomicPtr<Held<P>>);

struct Held<P: ?Sized> {
    process: u32,
    plans: Mutex<Vec<(Key, Arc<P>)>>,
}

/// A length and a variant: a direction, a family.
type Key = (usize, u8);

impl<P: ?Sized + Send + Sync> Cache<P> {
    pub(super) const fn new() -> Cache<P> {
        Cache(AtomicPtr::new(ptr::null_mut()))
    }

    /// The plan of a key, made if it is not there.
    pub(super) fn get(&self, key: Key, make: impl FnOnce() -> Arc<P>) -> Arc<P> {
        let mut plans = self.lock();
        if let Some(at) = plans.iter().rposition(|(known, _)| *known == key) {
            let found = plans.remove(at);
            let plan = Arc::clone(&found.1);
            plans.push(found);
            return plan;
        }
        drop(plans);
        let made = make();
        let mut plans = self.lock();
        plans.push((key, Arc::clone(&made)));
        let points = |plans: &[(Key, Arc<P>)]| plans.iter().map(|((n, _), _)| n).sum::<usize>();
        while plans.len() > 1 && (plans.len() > PLANS || points(&plans) > POINTS) {
            plans.remove(0);
        }
        made
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Key, Arc<P>)>> {
        self.held().plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plans of this process.
    fn held(&self) -> &Held<P> {
        let process = std::process::id();
        loop {
            let now = self.0.load(Ordering::Acquire);
            // SAFETY: a leaked box, published by the exchange below.
            match unsafe { now.as_ref() } {
                Some(held) if held.process == process => return held,
                _ => {}
            }
            let fresh = Box::into_raw(Box::new(Held { process, plans: Mutex::new(Vec::new()) }));
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
    fn plans_are_made_once_and_the_oldest_leave() {
        static CACHE: Cache<usize> = Cache::new();
        let get = |n: usize| *CACHE.get((n, 0), || Arc::new(n));
        assert_eq!(get(5), 5);
        assert_eq!(*CACHE.get((5, 0), || unreachable!()), 5);
        assert_eq!(*CACHE.get((5, 1), || Arc::new(7)), 7);
        (6..6 + PLANS).for_each(|n| assert_eq!(get(n), n));
        assert_eq!(*CACHE.get((5, 0), || Arc::new(8)), 8);
        get(POINTS + 1);
        assert_eq!(CACHE.lock().len(), 1);
    }
}
