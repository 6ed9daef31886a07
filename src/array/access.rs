//! Who reads the elements of a storage, and who writes them in place.
//!
//! Owns: the count of views that are lent, and of the threads that are in the middle of a copy or of a write. It orders
//! those against each other; operations that compute with the elements are not counted. Never reads or writes an element.
//! Invariant: nobody is in the middle of a copy and nobody has a view while somebody is in the middle of a write. A thread
//! that is alone in the engine counts its views only: nobody else can be in the middle of anything.

use std::sync::atomic::{AtomicU8, Ordering};

use super::Storage;
use super::storage::VIEW;
use crate::threads::{alone, wait_while};

/// Threads in the middle of a copy in the lowest bits, of a write in those above, and whether somebody waits to write.
#[derive(Default)]
pub(super) struct Busy(AtomicU8);

const READER: u8 = 1;
const READERS: u8 = 0x0f;
const WRITER: u8 = 0x10;
const WRITERS: u8 = 0x70;
const WAITS: u8 = 0x80;

impl Busy {
    fn enter_reading(&self) {
        let free = |busy: u8| busy & (WRITERS | WAITS) == 0 && busy & READERS != READERS;
        let more = |busy: u8| free(busy).then(|| busy + READER);
        while self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_err() {
            wait_while(|| !free(self.0.load(Ordering::Relaxed)));
        }
    }

    fn enter_writing(&self) {
        let free = |busy: u8| busy & READERS == 0 && busy & WRITERS != WRITERS;
        let more = |busy: u8| free(busy).then(|| (busy & !WAITS) + WRITER);
        while self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_err() {
            // Readers who come now wait, or there might always be one.
            self.0.fetch_or(WAITS, Ordering::Relaxed);
            wait_while(|| !free(self.0.load(Ordering::Relaxed)));
        }
    }

    fn leave(&self, unit: u8) {
        self.0.fetch_sub(unit, Ordering::Release);
    }
}

/// While it lives nobody is in the middle of a write: what it is for is short, and waits for nobody.
#[must_use = "writers wait only as long as this lives"]
pub(crate) struct Reading<'a>(Option<&'a Storage>);

/// While it lives nobody has a view, and nobody is in the middle of a copy: what it is for is one kernel, or one run of a
/// program. Several threads may write at once; one thread has one of each storage, for there is room for seven.
#[must_use = "readers wait only as long as this lives"]
pub(crate) struct Writing<'a>(Option<&'a Storage>);

impl Storage {
    /// Waits for those who are in the middle of a write, and keeps others from it.
    #[inline]
    pub(crate) fn reading(&self) -> Reading<'_> {
        if alone() {
            return Reading(None);
        }
        self.header().busy.enter_reading();
        Reading(Some(self))
    }

    /// Waits for those who are in the middle of a copy, and keeps others from it; `None` while a view lives.
    #[inline(always)]
    pub(crate) fn writing(&self) -> Option<Writing<'_>> {
        let writing = if alone() { Writing(None) } else { self.enter_writing() };
        if self.is_viewed() { None } else { Some(writing) }
    }

    #[cold]
    #[inline(never)]
    fn enter_writing(&self) -> Writing<'_> {
        self.header().busy.enter_writing();
        Writing(Some(self))
    }

    /// Whether a view lives.
    #[inline(always)]
    pub(crate) fn is_viewed(&self) -> bool {
        self.header().lent.load(Ordering::Acquire) >= VIEW
    }

    /// Counts a view, unless there are too many; `end_view` ends it. The caller is `reading`.
    pub(crate) fn begin_view(&self) -> bool {
        let more = |lent: u32| lent.checked_add(VIEW);
        let lent = &self.header().lent;
        lent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Ends one view.
    pub(crate) fn end_view(&self) {
        self.header().lent.fetch_sub(VIEW, Ordering::Release);
    }
}

impl Drop for Reading<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(storage) = self.0 {
            storage.header().busy.leave(READER);
        }
    }
}

impl Drop for Writing<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(storage) = self.0 {
            storage.header().busy.leave(WRITER);
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
        assert!(storage.writing().is_none());
        storage.end_view();
        assert!(storage.writing().is_none());
        storage.end_view();
        assert!(storage.writing().is_some());
        let most = u32::MAX / VIEW;
        assert!((0..most).all(|_| storage.begin_view()) && !storage.begin_view());
    }

    #[test]
    fn a_refused_write_keeps_nobody_waiting() {
        let storage = Storage::zeroed(8).unwrap();
        assert!(storage.begin_view());
        assert!(storage.writing().is_none());
        drop(storage.reading());
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
                        let _reading = storage.reading();
                        inside(&readers, &writers);
                    }
                });
            }
            let write = || {
                (0..500).for_each(|_| {
                    let _writing = storage.writing().unwrap();
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
