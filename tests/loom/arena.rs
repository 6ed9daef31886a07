//! The counting protocols of the arena under loom: interleavings of two and three threads, with every reordering that
//! the memory orders allow.
//!
//! Executions with at most two preemptions are explored, all of them.
//! Includes the arena's own files with loom's atomics in place of std's, so what runs here is the code that ships.
//! Modelled: handles dropped by several threads while a key upgrades and the slot is vacated and occupied again; users
//! of saved values while passes spend them or fail; slots that come home while the owner takes the list; threads that
//! count by loads and stores under a host's lock while others give it up. Not modelled: the claim of shards, the scheduler.
//! Run: `make loom`.
#![cfg(test)]
#![allow(dead_code)]

mod hosted;
#[path = "../../src/graph/arena/remote_free_list.rs"]
mod remote_free_list;
#[path = "../../src/graph/arena/use_count.rs"]
mod use_count;
#[path = "../../src/graph/arena/generation.rs"]
mod generation;

mod sync {
    pub(super) use loom::hint::spin_loop;
    pub(super) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

    /// As `src/threads/single_thread.rs`, in the models that have a host with a lock.
    pub(super) fn alone() -> bool {
        super::hosted::alone()
    }
}

mod slot {
    /// What the remote list knows of a slot, and its contents.
    pub(super) struct Header {
        pub(super) next: loom::sync::atomic::AtomicPtr<Header>,
        pub(super) contents: loom::cell::UnsafeCell<u32>,
    }
}

use std::ptr::{self, NonNull};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicPtr;
use loom::thread;

use remote_free_list::RemoteList;
use slot::Header;
use use_count::{EnterResult, UseCount};
use generation::GenerationCount;

/// Each thread may be interrupted twice where it could go on; a bound of 3 takes minutes.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(run);
}

/// A slot: loom fails the model when its contents are read and written at once.
struct Slot {
    word: GenerationCount,
    contents: UnsafeCell<u32>,
}

// SAFETY: the protocol under test orders the accesses; loom checks that it does.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

const GONE: u32 = u32::MAX;

impl Slot {
    fn occupied(value: u32) -> Arc<Slot> {
        let slot = Slot { word: GenerationCount::new(), contents: UnsafeCell::new(GONE) };
        slot.occupy(value);
        Arc::new(slot)
    }

    fn occupy(&self, value: u32) {
        // SAFETY: the slot is vacant and in nobody else's hands.
        self.contents.with_mut(|place| unsafe { *place = value });
        self.word.publish();
    }

    fn read(&self) -> u32 {
        // SAFETY: the caller holds a count.
        self.contents.with(|place| unsafe { *place })
    }

    /// Drops one handle; the last one vacates the slot. RemoteList whether it was the last.
    fn release(&self) -> bool {
        let last = self.word.decrement();
        if last {
            // SAFETY: the last handle is gone, and none can be made.
            self.contents.with_mut(|place| unsafe { *place = GONE });
            self.word.advance();
        }
        last
    }
}

#[test]
fn exactly_one_drop_is_the_last() {
    model(|| {
        let slot = Slot::occupied(7);
        slot.word.increment();
        slot.word.increment();
        let other = |slot: &Arc<Slot>| {
            let slot = Arc::clone(slot);
            thread::spawn(move || {
                assert_eq!(slot.read(), 7);
                slot.release()
            })
        };
        let (a, b) = (other(&slot), other(&slot));
        let mine = slot.release();
        let lasts = [mine, a.join().unwrap(), b.join().unwrap()];
        assert_eq!(lasts.iter().filter(|last| **last).count(), 1);
        assert_eq!((slot.word.count(), slot.word.generation()), (0, 1));
    });
}

#[test]
fn an_upgrade_alone_shows_what_was_published() {
    model(|| {
        let slot = Arc::new(Slot { word: GenerationCount::new(), contents: UnsafeCell::new(GONE) });
        let upgrader = {
            let slot = Arc::clone(&slot);
            // The key is known without having been handed over: nothing but the word orders the two threads.
            thread::spawn(move || {
                if slot.word.upgrade(0) {
                    assert_eq!(slot.read(), 1);
                    slot.release();
                }
            })
        };
        slot.occupy(1);
        slot.release();
        upgrader.join().unwrap();
    });
}

#[test]
fn a_key_upgrades_to_its_own_occupant_or_not_at_all() {
    model(|| {
        let slot = Slot::occupied(1);
        let key = slot.word.generation();
        let upgrader = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                if slot.word.upgrade(key) {
                    assert_eq!(slot.read(), 1, "the key reached another occupant");
                    slot.release();
                }
            })
        };
        if slot.release() {
            // Vacated here: the same slot gets a new occupant while the old key is still tried.
            slot.occupy(2);
            assert_eq!(slot.read(), 2);
        }
        upgrader.join().unwrap();
    });
}

#[test]
fn two_keys_race_with_the_last_drop() {
    model(|| {
        let slot = Slot::occupied(1);
        let upgrade = |slot: &Arc<Slot>| {
            let slot = Arc::clone(slot);
            thread::spawn(move || {
                if slot.word.upgrade(0) {
                    assert_eq!(slot.read(), 1);
                    slot.release();
                }
            })
        };
        let (a, b) = (upgrade(&slot), upgrade(&slot));
        slot.release();
        a.join().unwrap();
        b.join().unwrap();
        assert_eq!((slot.word.count(), slot.word.generation()), (0, 1));
        assert!(!slot.word.is_live(0));
    });
}

/// A cell of saved values.
struct Cell {
    users: UseCount,
    values: UnsafeCell<u32>,
}

// SAFETY: as for `Slot`.
unsafe impl Sync for Cell {}
// SAFETY: as for `Slot`.
unsafe impl Send for Cell {}

impl Cell {
    fn new() -> Arc<Cell> {
        Arc::new(Cell { users: UseCount::new(false), values: UnsafeCell::new(7) })
    }

    /// A pass that uses the values; whether it was admitted.
    fn pass(&self, spend: bool, fail: bool) -> bool {
        if self.users.enter(spend) != EnterResult::Counted {
            return false;
        }
        // SAFETY: counted users share the values.
        assert_eq!(self.values.with(|values| unsafe { *values }), 7, "the values were dropped");
        if fail && spend {
            self.users.reopen();
        }
        if self.users.leave() {
            // SAFETY: the last user of a spent cell.
            self.values.with_mut(|values| unsafe { *values = GONE });
        }
        true
    }
}

fn passes(cell: &Arc<Cell>, spend: bool, fail: bool) -> thread::JoinHandle<bool> {
    let cell = Arc::clone(cell);
    thread::spawn(move || cell.pass(spend, fail))
}

#[test]
fn of_two_passes_that_spend_one_is_admitted() {
    model(|| {
        let cell = Cell::new();
        let other = passes(&cell, true, false);
        let mine = cell.pass(true, false);
        assert_ne!(mine, other.join().unwrap());
        assert!(!cell.pass(false, false), "spent for ever");
    });
}

#[test]
fn values_outlive_the_users_inside() {
    model(|| {
        let cell = Cell::new();
        let (a, b) = (passes(&cell, false, false), passes(&cell, false, false));
        assert!(cell.pass(true, false));
        a.join().unwrap();
        b.join().unwrap();
        assert_eq!(cell.users.enter(false), EnterResult::Refused);
    });
}

#[test]
fn a_pass_that_fails_reopens_the_cell() {
    model(|| {
        let cell = Cell::new();
        let other = passes(&cell, false, false);
        assert!(cell.pass(true, true));
        other.join().unwrap();
        assert!(cell.pass(true, false), "open again");
    });
}

#[test]
fn values_are_replaced_while_nobody_uses_them() {
    model(|| {
        let cell = Cell::new();
        let other = passes(&cell, false, false);
        if cell.users.lock() {
            // SAFETY: the cell is locked.
            cell.values.with_mut(|values| unsafe { *values = 8 });
            // SAFETY: as above.
            cell.values.with_mut(|values| unsafe { *values = 7 });
            cell.users.unlock();
        }
        assert!(other.join().unwrap());
        assert!(cell.pass(true, false));
        assert!(!cell.users.lock(), "spent");
    });
}

/// The slots of a list: leaked for the time of one execution, freed at its end.
struct Slots(Vec<NonNull<Header>>);

impl Slots {
    fn new(count: usize) -> Slots {
        let make = |_| {
            let header =
                Header { next: AtomicPtr::new(ptr::null_mut()), contents: UnsafeCell::new(0) };
            NonNull::from(Box::leak(Box::new(header)))
        };
        Slots((0..count).map(make).collect())
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for header in &self.0 {
            // SAFETY: made from boxes, and the threads that used them have been joined.
            drop(unsafe { Box::from_raw(header.as_ptr()) });
        }
    }
}

/// A slot on its way to another thread.
struct Sent(NonNull<Header>);

// SAFETY: whoever has it is the only one to use the slot, until the list passes it on.
unsafe impl Send for Sent {}

/// Uses the contents of the slots of a list; how many there are.
fn reuse(mut at: Option<NonNull<Header>>) -> usize {
    let mut count = 0;
    while let Some(header) = at {
        // SAFETY: the list is ours alone; the headers live until the end of the model.
        let header = unsafe { header.as_ref() };
        // SAFETY: the slot was vacated before it came home.
        header.contents.with_mut(|contents| unsafe { *contents += 1 });
        count += 1;
        at = NonNull::new(header.next.load(sync::Ordering::Relaxed));
    }
    count
}

#[test]
fn every_slot_comes_home_once() {
    model(|| {
        let slots = Slots::new(2);
        let list = Arc::new(RemoteList::new());
        let pushers: Vec<_> = slots
            .0
            .iter()
            .map(|header| {
                let (list, sent) = (Arc::clone(&list), Sent(*header));
                thread::spawn(move || {
                    let sent = sent;
                    // SAFETY: this thread alone has the slot.
                    unsafe {
                        sent.0.as_ref().contents.with_mut(|contents| *contents = 40);
                        list.push(sent.0);
                    }
                })
            })
            .collect();
        let mut home = reuse(list.take());
        for pusher in pushers {
            pusher.join().unwrap();
        }
        home += reuse(list.take());
        assert_eq!(home, 2);
        for header in &slots.0 {
            // SAFETY: all threads are joined.
            let contents =
                unsafe { header.as_ref() }.contents.with(|contents| unsafe { *contents });
            assert_eq!(contents, 41);
        }
    });
}
