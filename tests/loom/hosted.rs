//! Counting by loads and stores under a host's lock, while other threads give the lock up.
//!
//! Owns the number of reasons that `src/threads/single_thread.rs` keeps in a static, and the models of it. Models beside this file
//! have no host: there nobody is ever alone.

use std::cell::RefCell;
use std::rc::Rc;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::{Slot, model};

thread_local! {
    /// Reasons why several threads may be in the engine, in models that have a host with a lock; loom runs all threads of
    /// a model on one.
    static REASONS: RefCell<Option<Rc<AtomicUsize>>> = const { RefCell::new(None) };
}

/// As in `src/threads/single_thread.rs`.
pub(super) fn alone() -> bool {
    REASONS.with_borrow(|reasons| {
        reasons.as_ref().is_some_and(|reasons| reasons.load(Ordering::Acquire) == 0)
    })
}

/// The reasons of a model that has a host with a lock.
fn hosted(run: impl Fn() + Sync + Send + 'static) {
    model(move || {
        REASONS.set(Some(Rc::new(AtomicUsize::new(0))));
        run();
        REASONS.set(None);
    });
}

/// One more reason, or one less.
fn count_reason(order: Ordering, more: bool) {
    REASONS.with_borrow(|reasons| {
        let reasons = reasons.as_ref().expect("a model with a host");
        if more {
            reasons.fetch_add(1, order)
        } else {
            reasons.fetch_sub(1, order)
        };
    });
}

/// Threads of a host with a lock: one gives the lock up for a while and counts meanwhile, the other does not.
#[test]
fn whoever_reads_that_it_is_alone_under_the_lock_loses_no_count() {
    hosted(|| {
        let (lock, slot) = (Arc::new(Mutex::new(())), Slot::occupied(7));
        slot.word.increment();
        let detaching = {
            let (lock, slot) = (Arc::clone(&lock), Arc::clone(&slot));
            thread::spawn(move || {
                let attached = lock.lock().unwrap();
                count_reason(Ordering::Relaxed, true);
                drop(attached);
                slot.word.increment();
                let first = slot.release();
                let attached = lock.lock().unwrap();
                count_reason(Ordering::Release, false);
                let last = slot.release();
                drop(attached);
                assert!(!first);
                last
            })
        };
        let attached = lock.lock().unwrap();
        slot.word.increment();
        assert_eq!(slot.read(), 7);
        assert!(!slot.release());
        let last = slot.release();
        drop(attached);
        assert_ne!(last, detaching.join().unwrap());
        assert_eq!((slot.word.count(), slot.word.generation()), (0, 1));
    });
}

/// A thread that never has the lock lets its handle go, as a consumer of exported memory does.
#[test]
fn a_reason_that_goes_without_the_lock_shows_what_was_done_before() {
    hosted(|| {
        let slot = Slot::occupied(7);
        slot.word.increment();
        count_reason(Ordering::Relaxed, true);
        let consumer = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                assert_eq!(slot.read(), 7);
                let last = slot.release();
                count_reason(Ordering::Release, false);
                last
            })
        };
        // The consumer may be done before.
        thread::yield_now();
        let last = slot.release();
        assert_ne!(last, consumer.join().unwrap());
        assert_eq!((slot.word.count(), slot.word.generation()), (0, 1));
    });
}
