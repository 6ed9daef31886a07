//! The observer of this thread's memory: sees which buffers are allocated, filled, used and read.
//!
//! Invariant: without an observer each check costs one load. Inside a kernel the observer is paused.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Storage;
use crate::error::Result;

/// Receives what happens to buffers on its thread. A buffer is named by the address of its first byte.
pub trait MemoryObserver: Sync {
    /// Memory was allocated.
    fn note_allocated(&self, storage: &Storage);
    /// The contents were written by other code than a kernel.
    fn note_filled(&self, storage: &Storage);
    /// A kernel is about to use the memory.
    fn note_used(&self, storage: &Storage);
    /// `element` holds a copy of one element of `memory`.
    fn note_element_copy(&self, element: &Storage, memory: &Storage);
    /// How many handles of a storage belong to the observer.
    fn count_handles(&self, storage: &Storage) -> u64;
    /// Checks a read of contents by other code than a kernel.
    ///
    /// # Errors
    /// `NotTraceable` if the reader would keep a value that differs in later calls.
    fn check_read(&self, op: &'static str, storage: &Storage) -> Result<()>;
    /// Checks a write in place before it happens; `recorded`: autograd records it.
    ///
    /// # Errors
    /// `NotTraceable` if the write cannot be repeated or rolled back.
    fn check_write(&self, storage: &Storage, recorded: bool) -> Result<()>;
    /// Whether `check_read` would refuse the contents of a buffer.
    fn refuses_read(&self, buffer: usize) -> bool;
    /// The buffer that contains the address `element`.
    fn buffer_of(&self, element: usize) -> Option<usize>;
    /// Whether the contents of a buffer may differ between calls of the observed function.
    fn varies(&self, buffer: usize) -> bool;
    /// Notes that they do.
    fn set_varies(&self, buffer: usize);
    /// Whether a buffer is an argument of the observed function.
    fn is_argument(&self, buffer: usize) -> bool;
}

thread_local! {
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    static OBSERVER: Cell<Option<&'static dyn MemoryObserver>> = const { Cell::new(None) };
}
/// The number of observers in the process: while it is 0, no thread reads its thread-local flag.
static OBSERVERS: AtomicU32 = AtomicU32::new(0);

/// Whether this thread has an observer, and is not inside a kernel (see `Pause`).
#[inline(always)]
pub fn is_active() -> bool {
    OBSERVERS.load(Ordering::Relaxed) != 0 && is_active_here()
}

#[cold]
#[inline(never)]
fn is_active_here() -> bool {
    ACTIVE.get()
}

/// Sets the observer of this thread.
pub fn attach(observer: &'static dyn MemoryObserver) {
    OBSERVERS.fetch_add(1, Ordering::Relaxed);
    OBSERVER.set(Some(observer));
    ACTIVE.set(true);
}

/// Ends an `attach`; `outer` observes from now on.
pub fn detach(outer: Option<&'static dyn MemoryObserver>) {
    OBSERVERS.fetch_sub(1, Ordering::Relaxed);
    OBSERVER.set(outer);
    ACTIVE.set(outer.is_some());
}

/// Pauses this thread's observer while it lives: what a kernel does inside is part of the kernel's own launch.
#[must_use = "the observer goes on when this is dropped"]
pub struct Pause(bool);

impl Pause {
    /// Pauses the observer, if there is one.
    pub fn new() -> Pause {
        Pause(ACTIVE.replace(false))
    }
}

impl Default for Pause {
    fn default() -> Pause {
        Pause::new()
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        ACTIVE.set(self.0);
    }
}

fn observer() -> Option<&'static dyn MemoryObserver> {
    OBSERVER.get()
}

/// Notes newly allocated memory.
#[cold]
pub fn note_allocated(storage: &Storage) {
    if let Some(observer) = observer() {
        observer.note_allocated(storage);
    }
}

/// Notes memory whose contents were written by other code than a kernel.
#[inline]
pub fn note_filled(storage: &Storage) {
    if is_active() {
        note_filled_slow(storage);
    }
}

#[cold]
fn note_filled_slow(storage: &Storage) {
    if let Some(observer) = observer() {
        observer.note_filled(storage);
    }
}

/// Notes memory that a kernel is about to use.
#[cold]
pub fn note_used(storage: &Storage) {
    if let Some(observer) = observer() {
        observer.note_used(storage);
    }
}

/// Notes that `element` holds a copy of one element of `memory`.
#[cold]
pub fn note_element_copy(element: &Storage, memory: &Storage) {
    if let Some(observer) = observer() {
        observer.note_element_copy(element, memory);
    }
}

/// How many handles of a storage belong to the observer of this thread.
pub(super) fn count_handles(storage: &Storage) -> u64 {
    if !is_active() {
        return 0;
    }
    observer().map_or(0, |observer| observer.count_handles(storage))
}

/// Checks a read of contents by other code than a kernel.
///
/// # Errors
/// `NotTraceable` if the reader would keep a value that differs in later calls.
#[inline]
pub fn check_read(op: &'static str, storage: &Storage) -> Result<()> {
    if is_active() { check_read_slow(op, storage) } else { Ok(()) }
}

#[cold]
fn check_read_slow(op: &'static str, storage: &Storage) -> Result<()> {
    observer().map_or(Ok(()), |observer| observer.check_read(op, storage))
}

/// Checks a write in place before it happens; `recorded`: autograd records it.
///
/// # Errors
/// `NotTraceable` if the write cannot be repeated or rolled back.
#[inline]
pub fn check_write(storage: &Storage, recorded: bool) -> Result<()> {
    if is_active() { check_write_slow(storage, recorded) } else { Ok(()) }
}

#[cold]
fn check_write_slow(storage: &Storage, recorded: bool) -> Result<()> {
    observer().map_or(Ok(()), |observer| observer.check_write(storage, recorded))
}

/// Whether `check_read` would refuse the contents of a buffer.
pub fn refuses_read(buffer: usize) -> bool {
    observer().is_some_and(|observer| observer.refuses_read(buffer))
}

/// The buffer that contains the address `element`, if the observer has seen it.
pub fn buffer_of(element: usize) -> Option<usize> {
    observer()?.buffer_of(element)
}

/// Whether the contents of a buffer may differ between calls of the observed function.
pub fn varies(buffer: usize) -> bool {
    observer().is_some_and(|observer| observer.varies(buffer))
}

/// Whether the contents at the address `element` may differ between calls of the observed function.
pub fn varies_at(element: usize) -> bool {
    buffer_of(element).is_none_or(varies)
}

/// Notes that the contents of a buffer differ between calls.
pub fn set_varies(buffer: usize) {
    if let Some(observer) = observer() {
        observer.set_varies(buffer);
    }
}

/// Whether a buffer is an argument of the observed function.
pub fn is_argument(buffer: usize) -> bool {
    observer().is_some_and(|observer| observer.is_argument(buffer))
}
