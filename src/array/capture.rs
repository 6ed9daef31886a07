//! What a capture of this thread knows of memory: which buffers there are, and whose contents may not be read.
//!
//! Owns: the note that this thread captures, the buffers seen since the capture began, and the guard of their contents.
//! Never knows a kernel or a program: `kernels::launch` and `program` stand above. Invariant: every buffer seen is kept
//! alive until the capture ends, so that an address means one buffer; outside a capture all of this is one load.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};

use super::Storage;
use super::buffer_index::Seen;
use crate::error::{Error, Result};

/// Where a buffer of a capture came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It was there before the capture, or belongs to somebody else.
    Outside,
    /// An operation of the capture allocated it.
    Made,
    /// It was filled with values of the program (numbers, lists, NumPy arrays), which count as constants.
    Constant,
    /// It holds an argument of the captured function.
    Input(usize),
    /// Host code made it, which a step of the program calls again: what it holds is nobody else's business.
    Host,
}

/// A buffer of a capture.
pub struct Buffer {
    /// Keeps the memory, and so the address.
    pub storage: Storage,
    /// Where it came from.
    pub origin: Origin,
    /// Whether its contents depend on the arguments, or on memory that may change between calls.
    pub traced: bool,
    /// Whether host code looks at it without having been given it: then nothing may write to it later.
    pub settled: bool,
    /// Memory outside, and its version, of which this is one element that was read: it may leave as that memory may.
    element_of: Option<(Storage, u32)>,
    /// How many buffers were known before it.
    born: usize,
}

/// The buffers that a capture has seen, by the address of their first byte.
#[derive(Default)]
pub struct Buffers {
    seen: Seen,
    /// Memory outside whose contents left for the program, with the version that it had.
    read_outside: Vec<(Storage, u32)>,
    /// The capture around this one, of which this one records a part.
    outer: Option<Box<Buffers>>,
    /// The stretches of host code that are running, the innermost last.
    stretches: Vec<Stretch>,
    /// Whether contents were refused to a reader, who may have gone on without them.
    refused_read: bool,
    /// Whether this is a part of another program, or of a loop or a branch by itself.
    part: bool,
    /// Whether it began while a transform differentiated a function.
    in_transform: bool,
    /// Whether a change in place was refused, which its author may have ignored.
    refused_change: bool,
}

/// A part of a capture in which host code runs that a step of the program may call again.
struct Stretch {
    /// Buffers that are born from here on are its own.
    since: usize,
    /// The addresses of the buffers that it was given.
    given: Vec<usize>,
    /// Whether it read contents that vary: then it is no part of the program itself.
    reads: bool,
    /// How much memory outside had been read before.
    read_outside: usize,
}

impl Stretch {
    /// Whether host code that is called again finds there what it finds now.
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
/// How many captures run in this process: no thread looks at its own note while there is none.
static CAPTURES: AtomicU32 = AtomicU32::new(0);

/// Whether this thread captures and is not inside a kernel. Its own note is looked for only where there is a capture.
#[inline(always)]
pub fn active() -> bool {
    CAPTURES.load(Ordering::Relaxed) != 0 && active_here()
}

#[cold]
#[inline(never)]
fn active_here() -> bool {
    ACTIVE.get()
}

/// Begins a capture on this thread; `false` if one is going on.
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

/// Begins a capture of a part of what this thread captures, if it does: the other capture waits for its end.
pub fn begin_part() {
    BUFFERS.with_borrow_mut(|buffers| {
        let outer = buffers.take().map(Box::new);
        *buffers = Some(Buffers { outer, part: true, ..Buffers::default() });
    });
    CAPTURES.fetch_add(1, Ordering::Relaxed);
    ACTIVE.set(true);
}

/// Ends the capture of this thread; one that waited for it goes on.
pub fn end() {
    let ended = BUFFERS.take();
    if ended.is_some() {
        CAPTURES.fetch_sub(1, Ordering::Relaxed);
    }
    let outer = ended.and_then(|ended| ended.outer);
    ACTIVE.set(outer.is_some());
    BUFFERS.set(outer.map(|outer| *outer));
}

/// Calls `body` in the capture around this one; `None` if there is none.
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

/// Suspends the capture of this thread until it is dropped: what a kernel does inside belongs to the kernel.
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
        // Memory of somebody else may be adopted twice, the second time more of it.
        if known.storage.nbytes() < storage.nbytes() {
            known.storage = storage.data_handle();
        }
    });
}

/// Tells of new memory.
#[cold]
pub fn made(storage: &Storage) {
    note(storage, Origin::Made);
}

/// Tells that memory was filled by other means than a kernel: its contents are constants.
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

/// Tells that memory holds an element that was read from other memory.
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

/// Tells of memory that a kernel is about to see.
#[cold]
pub fn seen(storage: &Storage) {
    note(storage, Origin::Outside);
}

/// Makes memory the argument of this number.
pub fn input(storage: &Storage, number: usize) {
    note(storage, Origin::Input(number));
}

/// How many of the handles of a storage belong to captures of this thread.
pub(super) fn handles_of(storage: &Storage) -> u64 {
    if !active() {
        return 0;
    }
    let address = storage.ptr().addr();
    // A handle may be dropped while the list of buffers is changed.
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

/// Refuses to let contents out that depend on an argument: the program would keep them for ever.
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

/// Why contents were refused to a reader.
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

/// Whether contents were refused to a reader since the capture began.
pub fn was_read_refused() -> bool {
    with_buffers(|buffers| buffers.refused_read) == Some(true)
}

/// Takes note that a transform differentiates the function around the capture.
pub fn begins_in_transform(in_transform: bool) {
    with_buffers(|buffers| buffers.in_transform = in_transform);
}

/// Whether one did so when the capture began.
pub fn began_in_transform() -> bool {
    with_buffers(|buffers| buffers.in_transform) == Some(true)
}

/// Refuses a change in place, before anything is written, that a program cannot repeat, and the recording of which could not be
/// taken back: in a part, of memory that the part did not make; in a function, one of memory outside with a `history`.
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

/// Why a change in place was refused.
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

/// Takes note that contents of memory outside became part of the program: it serves while they have this version.
fn read_outside(storage: &Storage) {
    BUFFERS.with_borrow_mut(|buffers| {
        if let Some(buffers) = buffers {
            buffers.read_outside.push((storage.data_handle(), storage.version()));
        }
    });
}

/// The same for memory that the program knows already, here and in the captures around this one.
pub fn serve_version(storage: &Storage) {
    read_outside(storage);
    in_outer(|| serve_version(storage));
}

/// Memory outside whose contents became part of the program, with the version that it had.
pub fn take_read_outside() -> Vec<(Storage, u32)> {
    BUFFERS.with_borrow_mut(|buffers| {
        buffers.as_mut().map_or_else(Vec::new, |buffers| std::mem::take(&mut buffers.read_outside))
    })
}

/// Whether contents at an address depend on an argument, and are read by the function itself: host code that is called
/// again may read them. Contents of memory outside become part of the program, which takes note of their version.
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

/// Whether varying contents are read by a stretch of host code that may; the innermost such stretch takes note of it.
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

/// Begins a stretch of host code that was given these buffers.
pub fn begin_stretch(given: Vec<usize>) {
    with_buffers(|buffers| {
        let (since, read_outside) = (buffers.seen.len(), buffers.read_outside.len());
        buffers.stretches.push(Stretch { since, given, reads: false, read_outside });
    });
}

/// Whether this thread captures, and no host code runs that a step may call again.
pub fn is_function_itself() -> bool {
    active() && with_buffers(|buffers| buffers.stretches.is_empty()) == Some(true)
}

/// Whether the innermost stretch read contents that vary.
pub fn stretch_reads() -> bool {
    with_buffers(|buffers| buffers.stretches.last().is_some_and(|stretch| stretch.reads))
        == Some(true)
}

/// Whether host code of the innermost stretch, called again, finds at an address what it found: its own memory, what it
/// was given, memory outside, or a value that is the same in every run, which is settled by this.
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

/// Whether the innermost stretch may write to a buffer: it made it, or the memory is outside.
pub fn host_may_write(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let (stretch, buffer) = (buffers.stretches.last()?, buffers.seen.get(address)?);
        Some(buffer.born >= stretch.since || buffer.origin == Origin::Outside)
    });
    found.flatten() != Some(false)
}

/// Ends the innermost stretch. With `again`, a step will call the host code: what it made and read is its own.
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

/// The address of the buffer in which an element lies.
pub fn buffer_of(element: usize) -> Option<usize> {
    BUFFERS.with_borrow(|buffers| buffers.as_ref()?.seen.holding(element))
}

/// Whether the contents where an element lies may differ from run to run.
pub fn varies_at(element: usize) -> bool {
    buffer_of(element).is_none_or(varies)
}

/// Whether contents of the buffer at an address may differ from run to run.
pub fn varies(address: usize) -> bool {
    with_buffer(address, |buffer| buffer.traced || buffer.origin == Origin::Outside) == Some(true)
}
