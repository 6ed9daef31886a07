//! Read and write guards of a storage's elements, and the count of exported `ndarray` views.
//!
//! The guards order copies and in-place writes against each other; ordinary reads by kernels are not counted.
//! Invariant: no copy runs and no view exists while a write runs. A thread that is alone in the engine
//! (`threads::alone`) takes no guard: no other thread can be reading or writing.

use std::sync::atomic::{AtomicU8, Ordering};

use super::Storage;
use super::storage::VIEW_UNIT;
use crate::threads::{alone, wait_while};

/// Readers in the lowest bits, writers in the bits above, and a flag that a writer waits.
#[derive(Default)]
pub(super) struct AccessCounts(AtomicU8);

const READER: u8 = 1;
const READERS: u8 = 0x0f;
const WRITER: u8 = 0x10;
const WRITERS: u8 = 0x70;
const WRITER_WAITS: u8 = 0x80;

impl AccessCounts {
    fn acquire_read(&self) {
        let free =
            |counts: u8| counts & (WRITERS | WRITER_WAITS) == 0 && counts & READERS != READERS;
        let one_more = |counts: u8| free(counts).then(|| counts + READER);
        while self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more).is_err() {
            wait_while(|| !free(self.0.load(Ordering::Relaxed)));
        }
    }

    fn acquire_write(&self) {
        let free = |counts: u8| counts & READERS == 0 && counts & WRITERS != WRITERS;
        let one_more = |counts: u8| free(counts).then(|| (counts & !WRITER_WAITS) + WRITER);
        while self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more).is_err() {
            // New readers wait while a writer waits; otherwise a stream of readers could block it for ever.
            self.0.fetch_or(WRITER_WAITS, Ordering::Relaxed);
            wait_while(|| !free(self.0.load(Ordering::Relaxed)));
        }
    }

    fn release(&self, unit: u8) {
        self.0.fetch_sub(unit, Ordering::Release);
    }
}

/// While it lives, no in-place write runs. Hold it only for a short copy, and do not block.
#[must_use = "writers wait only as long as this lives"]
pub(crate) struct ReadGuard<'a>(Option<&'a Storage>);

/// While it lives, no view exists and no copy runs. Hold it for one kernel or one run of a program. Several threads may
/// write at once (up to seven; each thread has at most one guard of a storage).
#[must_use = "readers wait only as long as this lives"]
pub(crate) struct WriteGuard<'a>(Option<&'a Storage>);

impl Storage {
    /// Waits until no write runs, and blocks new writes while the guard lives.
    #[inline]
    pub(crate) fn read_guard(&self) -> ReadGuard<'_> {
        if alone() {
            return ReadGuard(None);
        }
        self.header().access.acquire_read();
        ReadGuard(Some(self))
    }

    /// Waits until no copy runs, and blocks new copies while the guard lives; `None` if a view exists.
    #[inline(always)]
    pub(crate) fn try_write_guard(&self) -> Option<WriteGuard<'_>> {
        let guard = if alone() { WriteGuard(None) } else { self.wait_to_write() };
        if self.is_viewed() { None } else { Some(guard) }
    }

    #[cold]
    #[inline(never)]
    fn wait_to_write(&self) -> WriteGuard<'_> {
        self.header().access.acquire_write();
        WriteGuard(Some(self))
    }

    /// Whether an exported view exists.
    #[inline(always)]
    pub(crate) fn is_viewed(&self) -> bool {
        self.header().export_counts.load(Ordering::Acquire) >= VIEW_UNIT
    }

    /// Counts one more view; false if there are too many. `end_view` undoes it. The caller holds a read guard.
    pub(crate) fn begin_view(&self) -> bool {
        let one_more = |export_counts: u32| export_counts.checked_add(VIEW_UNIT);
        let export_counts = &self.header().export_counts;
        export_counts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Counts one view less.
    pub(crate) fn end_view(&self) {
        self.header().export_counts.fetch_sub(VIEW_UNIT, Ordering::Release);
    }
}

impl Drop for ReadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(storage) = self.0 {
            storage.header().access.release(READER);
        }
    }
}

impl Drop for WriteGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(storage) = self.0 {
            storage.header().access.release(WRITER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    #[test]
    fn no_write_under_a_view() {
        let storage = Storage::zeroed(8).unwrap();
        assert!(storage.begin_view() && storage.begin_view());
        assert!(storage.try_write_guard().is_none());
        storage.end_view();
        assert!(storage.try_write_guard().is_none());
        storage.end_view();
        assert!(storage.try_write_guard().is_some());
        let most = u32::MAX / VIEW_UNIT;
        assert!((0..most).all(|_| storage.begin_view()) && !storage.begin_view());
    }

    #[test]
    fn a_refused_write_keeps_nobody_waiting() {
        let storage = Storage::zeroed(8).unwrap();
        assert!(storage.begin_view());
        assert!(storage.try_write_guard().is_none());
        drop(storage.read_guard());
    }

    #[test]
    fn several_read_and_several_write_but_not_both() {
        let storage = Storage::zeroed(8).unwrap();
        let (writers, readers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (clash, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let inside = |own: &AtomicUsize, others: &AtomicUsize| {
            own.fetch_add(1, Ordering::SeqCst);
            clash.fetch_or(others.load(Ordering::SeqCst) != 0, Ordering::SeqCst);
            std::thread::yield_now();
            own.fetch_sub(1, Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let _reading = storage.read_guard();
                        inside(&readers, &writers);
                    }
                });
            }
            let write = || {
                (0..500).for_each(|_| {
                    let _writing = storage.try_write_guard().unwrap();
                    inside(&writers, &readers);
                });
            };
            let other = scope.spawn(write);
            write();
            other.join().unwrap();
            stop.store(true, Ordering::Relaxed);
        });
        assert!(!clash.into_inner());
    }
}
