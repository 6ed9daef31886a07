//! Plans, kept for the process.
//!
//! Owns: the cache of plans and its bound. Never transforms.
//! Invariant: a plan follows from its key alone, so that it does not matter who made it. A child process after `fork`
//! begins with an empty cache: the old one may be locked by a thread that the child does not have.

use crate::threads::{Mutex, MutexGuard};
use std::any::Any;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The most plans of a kind, and the most points of all of them together.
const PLANS: usize = 64;
const POINTS: usize = 1 << 22;

/// Plans of one kind by length and variant.
pub(super) struct Cache<P: ?Sized + Send + Sync + 'static>(Store, PhantomData<fn() -> Arc<P>>);

/// What a cache holds, compiled once for all kinds: each plan is an `Arc<P>`, the one used last at the end.
struct Store(AtomicPtr<Held>);

struct Held {
    process: u32,
    plans: Mutex<Vec<(Key, Kept)>>,
}

type Kept = Box<dyn Any + Send>;

/// A length and a variant: a direction, a family.
type Key = (usize, u8);

impl<P: ?Sized + Send + Sync + 'static> Cache<P> {
    pub(super) const fn new() -> Cache<P> {
        Cache(Store(AtomicPtr::new(ptr::null_mut())), PhantomData)
    }

    /// The plan of a key, made if it is not there.
    pub(super) fn get(&self, key: Key, make: impl FnOnce() -> Arc<P>) -> Arc<P> {
        let mut found = None;
        self.0.find(key, &mut |kept| found = kept.downcast_ref::<Arc<P>>().cloned());
        found.unwrap_or_else(|| {
            let made = make();
            self.0.keep(key, Box::new(Arc::clone(&made)));
            made
        })
    }
}

impl Store {
    /// Shows the plan of a key, if it is there.
    fn find(&self, key: Key, show: &mut dyn FnMut(&dyn Any)) {
        let mut plans = self.lock();
        if let Some(at) = plans.iter().rposition(|(known, _)| *known == key) {
            plans[at..].rotate_left(1);
            plans.last().into_iter().for_each(|(_, kept)| show(&**kept));
        }
    }

    fn keep(&self, key: Key, made: Kept) {
        let mut plans = self.lock();
        plans.push((key, made));
        let points = |plans: &[(Key, Kept)]| plans.iter().map(|((n, _), _)| n).sum::<usize>();
        while plans.len() > 1 && (plans.len() > PLANS || points(&plans) > POINTS) {
            plans.remove(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Key, Kept)>> {
        self.held().plans.lock()
    }

    /// The plans of this process.
    fn held(&self) -> &Held {
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
        assert_eq!(CACHE.0.lock().len(), 1);
    }
}
