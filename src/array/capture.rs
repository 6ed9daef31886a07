//! The memory side of tracing: the buffers that a traced function uses, where they come from, and a guard that
//! refuses to let traced contents out.
//!
//! A *capture* is an active trace of this thread, as this layer sees it. Invariant: every buffer seen stays alive
//! until the capture ends, so that an address identifies a buffer; without a capture all checks cost one load.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};

use super::Storage;
use super::buffer_index::Seen;
use crate::error::{Error, Result};

/// The origin of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It existed before the capture, or foreign code owns it.
    Outside,
    /// An operation of the capture allocated it.
    Made,
    /// It was filled with values (numbers, lists, NumPy arrays), which are constants of the program.
    Constant,
    /// It holds an argument of the traced function.
    Input(usize),
    /// Host code made it, and a step of the program calls that code again: the program does not see it.
    Host,
}

/// A buffer that a capture has seen.
pub struct Buffer {
    /// Keeps the memory alive, and so the address unique.
    pub storage: Storage,
    /// Its origin.
    pub origin: Origin,
    /// Whether its contents depend on arguments, or on memory that may change between calls.
    pub traced: bool,
    /// Whether host code has read it without receiving it as an argument: it must not be written later.
    pub settled: bool,
    /// External memory with its version, of which this buffer is one element that was read: it may be read as that
    /// memory may.
    element_of: Option<(Storage, u32)>,
    /// How many buffers were seen before it.
    born: usize,
}

/// The buffers that a capture has seen, by base address.
#[derive(Default)]
pub struct Buffers {
    seen: Seen,
    /// External memory whose contents were baked into the program, with its version.
    read_outside: Vec<(Storage, u32)>,
    /// The enclosing capture, of which this one traces a subprogram.
    outer: Option<Box<Buffers>>,
    /// The active spans of host code, innermost last.
    stretches: Vec<Stretch>,
    /// Whether a read was refused; Python code may have caught the error.
    refused_read: bool,
    /// Whether this traces a subprogram: the body of a loop or a branch.
    part: bool,
    /// Whether it began while a transform was differentiating a function.
    in_transform: bool,
    /// Whether a change in place was refused; Python code may have caught the error.
    refused_change: bool,
}

/// A span of a capture during which host code runs that a step may call again.
struct Stretch {
    /// Buffers from this index on belong to it.
    since: usize,
    /// The addresses of the buffers that it received.
    given: Vec<usize>,
    /// Whether it read traced contents: the host code must be called again by every run.
    reads: bool,
    /// The number of version guards before it.
    read_outside: usize,
}

impl Stretch {
    /// Whether host code that is called again may read this buffer.
    fn admits(&self, address: usize, buffer: &Buffer) -> bool {
        buffer.born >= self.since
            || matches!(buffer.origin, Origin::Outside | Origin::Host)
            || self.given.contains(&address)
    }
}

thread_local! {
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    static BUFFERS: RefCell<Option<Buffers>> = const { RefCell::new(None) };
}
/// The number of captures in this process: no thread reads its own flag while it is zero.
static CAPTURES: AtomicU32 = AtomicU32::new(0);

/// Whether this thread captures and is not inside a kernel.
#[inline(always)]
pub fn active() -> bool {
    CAPTURES.load(Ordering::Relaxed) != 0 && active_here()
}

#[cold]
#[inline(never)]
fn active_here() -> bool {
    ACTIVE.get()
}

/// Begins a capture on this thread; `false` if one is active.
pub fn begin() -> bool {
    let begun = BUFFERS.with_borrow_mut(|buffers| {
        let begun = buffers.is_none();
        buffers.get_or_insert_default();
        begun
    });
    if begun {
        CAPTURES.fetch_add(1, Ordering::Relaxed);
        ACTIVE.set(true);
    }
    begun
}

/// Begins the capture of a subprogram, nested in that of this thread if there is one.
pub fn begin_part() {
    BUFFERS.with_borrow_mut(|buffers| {
        let outer = buffers.take().map(Box::new);
        *buffers = Some(Buffers { outer, part: true, ..Buffers::default() });
    });
    CAPTURES.fetch_add(1, Ordering::Relaxed);
    ACTIVE.set(true);
}

/// Ends the capture of this thread; an enclosing one becomes active again.
pub fn end() {
    let ended = BUFFERS.take();
    if ended.is_some() {
        CAPTURES.fetch_sub(1, Ordering::Relaxed);
    }
    let outer = ended.and_then(|ended| ended.outer);
    ACTIVE.set(outer.is_some());
    BUFFERS.set(outer.map(|outer| *outer));
}

/// Calls `body` in the enclosing capture; `None` if there is none.
pub(super) fn in_outer<T>(body: impl FnOnce() -> T) -> Option<T> {
    let mut part = BUFFERS.take()?;
    let Some(outer) = part.outer.take() else {
        BUFFERS.set(Some(part));
        return None;
    };
    BUFFERS.set(Some(*outer));
    let done = body();
    part.outer = BUFFERS.take().map(Box::new);
    BUFFERS.set(Some(part));
    Some(done)
}

/// Suspends the capture of this thread until it is dropped: the launches of a kernel's implementation are not traced.
#[must_use = "the capture goes on when this is dropped"]
pub struct Pause(bool);

impl Pause {
    /// Suspends the capture, if there is one.
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

fn note(storage: &Storage, origin: Origin) {
    let key = storage.ptr().addr();
    BUFFERS.with_borrow_mut(|buffers| {
        let Some(buffers) = buffers else { return };
        let traced = matches!(origin, Origin::Input(_));
        let born = buffers.seen.len();
        let new = || Buffer {
            storage: storage.data_handle(),
            origin,
            traced,
            settled: false,
            element_of: None,
            born,
        };
        let known = buffers.seen.get_or_insert(key, new);
        // Foreign memory may be adopted twice, the second time as a larger buffer.
        if known.storage.nbytes() < storage.nbytes() {
            known.storage = storage.data_handle();
        }
    });
}

/// Registers memory that was just allocated.
#[cold]
pub fn made(storage: &Storage) {
    note(storage, Origin::Made);
}

/// Registers memory that was filled by other means than a kernel: its contents are constants.
#[inline]
pub fn filled(storage: &Storage) {
    if active() {
        mark_constant(storage);
    }
}

#[cold]
fn mark_constant(storage: &Storage) {
    note(storage, Origin::Constant);
    with_buffer(storage.ptr().addr(), |buffer| buffer.origin = Origin::Constant);
}

/// Registers that `element` holds one element that was read from `memory`.
#[cold]
pub fn element_of(element: &Storage, memory: &Storage) {
    let outside = with_buffer(memory.ptr().addr(), |buffer| {
        buffer.origin == Origin::Outside && !buffer.traced
    });
    if outside == Some(true) {
        let from = (memory.data_handle(), memory.version());
        with_buffer(element.ptr().addr(), |buffer| buffer.element_of = Some(from));
    }
}

/// Registers memory that a kernel is about to use.
#[cold]
pub fn seen(storage: &Storage) {
    note(storage, Origin::Outside);
}

/// Registers the memory of an argument.
pub fn input(storage: &Storage, number: usize) {
    note(storage, Origin::Input(number));
}

/// The number of handles of a storage that captures of this thread hold.
pub(super) fn handles_of(storage: &Storage) -> u64 {
    if !active() {
        return 0;
    }
    let address = storage.ptr().addr();
    // A handle may be dropped while the buffers are borrowed.
    BUFFERS.with(|buffers| {
        let Ok(buffers) = buffers.try_borrow() else { return 0 };
        let mut capture = buffers.as_ref();
        let mut count = 0;
        while let Some(buffers) = capture {
            let known = buffers.seen.get(address);
            count += u64::from(known.is_some_and(|buffer| buffer.storage.same(storage)));
            capture = buffers.outer.as_deref();
        }
        count
    })
}

/// Calls `body` with the buffer at an address, if the capture has seen it.
pub fn with_buffer<T>(address: usize, body: impl FnOnce(&mut Buffer) -> T) -> Option<T> {
    BUFFERS.with_borrow_mut(|buffers| buffers.as_mut()?.seen.get_mut(address).map(body))
}

/// Refuses reads of traced contents: the program would keep the value of this call for ever.
#[inline]
pub fn check_read(op: &'static str, storage: &Storage) -> Result<()> {
    if active() { refuse_traced(op, storage) } else { Ok(()) }
}

#[cold]
fn refuse_traced(op: &'static str, storage: &Storage) -> Result<()> {
    seen(storage);
    if !leaves_for_program(storage.ptr().addr()) {
        return Ok(());
    }
    with_buffers(|buffers| buffers.refused_read = true);
    Err(read_refused(op))
}

/// The error for a refused read.
pub fn read_refused(op: &'static str) -> Box<Error> {
    Box::new(Error::Captured {
        op: op.into(),
        what:
            "Python reads a value (by if, bool, float, item, print or NumPy) that depends on the \
               arguments of a function that fg.compile is recording, and would be the same in \
               every later call"
                .into(),
        remedy: "choose with fg.where, return the value, or make the argument static \
                 (static_argnums=, static_argnames=)",
    })
}

/// Whether a read was refused since the capture began.
pub fn was_read_refused() -> bool {
    with_buffers(|buffers| buffers.refused_read) == Some(true)
}

/// Notes whether a transform is differentiating the function around the capture.
pub fn begins_in_transform(in_transform: bool) {
    with_buffers(|buffers| buffers.in_transform = in_transform);
}

/// Whether a transform was active when the capture began.
pub fn began_in_transform() -> bool {
    with_buffers(|buffers| buffers.in_transform) == Some(true)
}

/// Refuses a change in place that a program cannot repeat, before anything is written: in a subprogram, of memory
/// that the subprogram did not make; in a function, of external memory with a `history`.
///
/// # Errors
/// `Captured`.
#[cold]
pub fn admit_change(storage: &Storage, history: bool) -> Result<()> {
    let refused = with_buffers(|buffers| {
        let origin = buffers.seen.get(storage.ptr().addr()).map(|buffer| buffer.origin);
        let outside = matches!(origin, None | Some(Origin::Outside)) && storage.nbytes() > 0;
        let refused = outside && (buffers.part || history)
            || buffers.part && matches!(origin, Some(Origin::Input(_)));
        buffers.refused_change |= refused;
        refused
    });
    if refused == Some(true) { Err(change_refused()) } else { Ok(()) }
}

/// The error for a refused change in place.
pub fn change_refused() -> Box<Error> {
    if with_buffers(|buffers| buffers.part) == Some(true) {
        return Box::new(Error::Captured {
            op: "compile".into(),
            what: "the body of a loop or a branch changes a tensor in place that it did not make"
                .into(),
            remedy: "carry it: return what it becomes, or change a copy of it",
        });
    }
    Box::new(Error::Captured {
        op: "compile".into(),
        what: "the function writes what requires grad to a tensor that it closes over".into(),
        remedy: "return it, or detach it",
    })
}

/// Whether a change in place was refused since the capture began.
pub fn was_change_refused() -> bool {
    with_buffers(|buffers| buffers.refused_change) == Some(true)
}

/// Adds a version guard: contents of external memory were baked into the program.
fn read_outside(storage: &Storage) {
    BUFFERS.with_borrow_mut(|buffers| {
        if let Some(buffers) = buffers {
            buffers.read_outside.push((storage.data_handle(), storage.version()));
        }
    });
}

/// The same in this and all enclosing captures.
pub fn serve_version(storage: &Storage) {
    read_outside(storage);
    in_outer(|| serve_version(storage));
}

/// Takes the version guards: external memory and its version.
pub fn take_read_outside() -> Vec<(Storage, u32)> {
    BUFFERS.with_borrow_mut(|buffers| {
        buffers.as_mut().map_or_else(Vec::new, |buffers| std::mem::take(&mut buffers.read_outside))
    })
}

/// Whether contents at an address are traced and must not be read; host code that is called again may read them. A
/// read of other external memory adds a version guard.
pub fn leaves_for_program(address: usize) -> bool {
    let element = with_buffer(address, |buffer| {
        let (memory, version) = buffer.element_of.as_ref()?;
        (memory.version() == *version).then(|| memory.ptr().addr())
    });
    let address = element.flatten().unwrap_or(address);
    let outside = with_buffer(address, |buffer| {
        (buffer.traced, (buffer.origin == Origin::Outside).then(|| buffer.storage.clone()))
    });
    match outside {
        Some((true, _)) => return !read_by_host(address),
        Some((false, Some(storage))) => {
            read_outside(&storage);
            let outer = in_outer(|| {
                seen(&storage);
                leaves_for_program(address)
            });
            return outer == Some(true);
        }
        Some((false, None)) => drop(host_finds(address)),
        None => {}
    }
    false
}

fn with_buffers<T>(body: impl FnOnce(&mut Buffers) -> T) -> Option<T> {
    BUFFERS.with_borrow_mut(|buffers| buffers.as_mut().map(body))
}

/// Whether a span of host code may read these traced contents; the innermost such span notes it.
fn read_by_host(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let buffer = buffers.seen.get(address)?;
        let mut stretches = buffers.stretches.iter_mut().rev();
        stretches
            .find(|stretch| stretch.admits(address, buffer))
            .map(|stretch| stretch.reads = true)
    });
    found.flatten().is_some()
}

/// Begins a span of host code that received these buffers.
pub fn begin_stretch(given: Vec<usize>) {
    with_buffers(|buffers| {
        let (since, read_outside) = (buffers.seen.len(), buffers.read_outside.len());
        buffers.stretches.push(Stretch { since, given, reads: false, read_outside });
    });
}

/// Whether this thread captures, and is not inside a span of host code.
pub fn is_function_itself() -> bool {
    active() && with_buffers(|buffers| buffers.stretches.is_empty()) == Some(true)
}

/// Whether the innermost span read traced contents.
pub fn stretch_reads() -> bool {
    with_buffers(|buffers| buffers.stretches.last().is_some_and(|stretch| stretch.reads))
        == Some(true)
}

/// Whether host code of the innermost span may read a buffer: its own memory, what it received, external memory, or
/// an untraced value, which must not be written later.
pub fn host_finds(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let Some(stretch) = buffers.stretches.last() else { return true };
        let Some(buffer) = buffers.seen.get_mut(address) else { return true };
        let admitted = stretch.admits(address, buffer);
        buffer.settled |= !admitted;
        admitted || !buffer.traced
    });
    found != Some(false)
}

/// Whether host code of the innermost span may write a buffer: it made it, or the memory is external.
pub fn host_may_write(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let (stretch, buffer) = (buffers.stretches.last()?, buffers.seen.get(address)?);
        Some(buffer.born >= stretch.since || buffer.origin == Origin::Outside)
    });
    found.flatten() != Some(false)
}

/// Ends the innermost span. With `again`, a step will call the host code, and the program does not see its buffers
/// and reads.
pub fn end_stretch(again: bool) {
    with_buffers(|buffers| {
        let Some(stretch) = buffers.stretches.pop() else { return };
        if !again {
            return;
        }
        buffers.read_outside.truncate(stretch.read_outside);
        for buffer in buffers.seen.values_mut().filter(|b| b.born >= stretch.since) {
            if buffer.origin != Origin::Outside {
                (buffer.origin, buffer.traced) = (Origin::Host, true);
            }
        }
    });
}

/// The address of the buffer that contains an element.
pub fn buffer_of(element: usize) -> Option<usize> {
    BUFFERS.with_borrow(|buffers| buffers.as_ref()?.seen.holding(element))
}

/// Whether the contents at an element's address may differ between runs.
pub fn varies_at(element: usize) -> bool {
    buffer_of(element).is_none_or(varies)
}

/// Whether the contents of the buffer at an address may differ between runs.
pub fn varies(address: usize) -> bool {
    with_buffer(address, |buffer| buffer.traced || buffer.origin == Origin::Outside) == Some(true)
}
