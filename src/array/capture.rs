//! The memory side of tracing: the buffers that a traced function uses, where they come from, and a guard that
//! refuses to let traced contents out.
//!
//! A *capture* is an active trace of this thread, as this layer sees it. Invariant: every buffer seen stays alive
//! until the capture ends, so that an address identifies a buffer; without a capture all checks cost one load.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};

use super::Storage;
use super::buffer_index::BufferIndex;
use crate::error::{Error, Result};

/// The origin of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It existed before the capture, or foreign code owns it.
    External,
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
    pub seen_by_host: bool,
    /// External memory with its version, of which this buffer is one element that was read: it may be read as that
    /// memory may.
    element_of: Option<(Storage, u32)>,
    /// How many buffers were seen before it.
    order: usize,
}

/// The buffers that a capture has seen, by base address.
#[derive(Default)]
pub struct Buffers {
    index: BufferIndex,
    /// External memory whose contents were baked into the program, with its version.
    version_guards: Vec<(Storage, u32)>,
    /// The enclosing capture, of which this one traces a subprogram.
    outer: Option<Box<Buffers>>,
    /// The active spans of host code, innermost last.
    host_spans: Vec<HostSpan>,
    /// Whether a read was refused; Python code may have caught the error.
    refused_read: bool,
    /// Whether this traces a subprogram: the body of a loop or a branch.
    is_subprogram: bool,
    /// Whether it began while a transform was differentiating a function.
    in_transform: bool,
    /// Whether a change in place was refused; Python code may have caught the error.
    refused_change: bool,
}

/// A span of a capture during which host code runs that a step may call again.
struct HostSpan {
    /// Buffers from this index on belong to it.
    since: usize,
    /// The addresses of the buffers that it received.
    received: Vec<usize>,
    /// Whether it read traced contents: the host code must be called again by every run.
    reads_traced: bool,
    /// The number of version guards before it.
    guards_before: usize,
}

impl HostSpan {
    /// Whether host code that is called again may read this buffer.
    fn admits(&self, address: usize, buffer: &Buffer) -> bool {
        buffer.order >= self.since
            || matches!(buffer.origin, Origin::External | Origin::Host)
            || self.received.contains(&address)
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
    let is_new = BUFFERS.with_borrow_mut(|buffers| {
        let is_new = buffers.is_none();
        buffers.get_or_insert_default();
        is_new
    });
    if is_new {
        CAPTURES.fetch_add(1, Ordering::Relaxed);
        ACTIVE.set(true);
    }
    is_new
}

/// Begins the capture of a subprogram, nested in that of this thread if there is one.
pub fn begin_subprogram() {
    BUFFERS.with_borrow_mut(|buffers| {
        let outer = buffers.take().map(Box::new);
        *buffers = Some(Buffers { outer, is_subprogram: true, ..Buffers::default() });
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
pub(super) fn with_outer<T>(body: impl FnOnce() -> T) -> Option<T> {
    let mut inner = BUFFERS.take()?;
    let Some(outer) = inner.outer.take() else {
        BUFFERS.set(Some(inner));
        return None;
    };
    BUFFERS.set(Some(*outer));
    let result = body();
    inner.outer = BUFFERS.take().map(Box::new);
    BUFFERS.set(Some(inner));
    Some(result)
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

fn register(storage: &Storage, origin: Origin) {
    let key = storage.ptr().addr();
    BUFFERS.with_borrow_mut(|buffers| {
        let Some(buffers) = buffers else { return };
        let traced = matches!(origin, Origin::Input(_));
        let order = buffers.index.len();
        let new = || Buffer {
            storage: storage.data_handle(),
            origin,
            traced,
            seen_by_host: false,
            element_of: None,
            order,
        };
        let known = buffers.index.get_or_insert(key, new);
        // Foreign memory may be adopted twice, the second time as a larger buffer.
        if known.storage.nbytes() < storage.nbytes() {
            known.storage = storage.data_handle();
        }
    });
}

/// Registers memory that was just allocated.
#[cold]
pub fn register_allocated(storage: &Storage) {
    register(storage, Origin::Made);
}

/// Registers memory that was filled by other means than a kernel: its contents are constants.
#[inline]
pub fn register_filled(storage: &Storage) {
    if active() {
        mark_constant(storage);
    }
}

#[cold]
fn mark_constant(storage: &Storage) {
    register(storage, Origin::Constant);
    with_buffer(storage.ptr().addr(), |buffer| buffer.origin = Origin::Constant);
}

/// Registers that `element` holds one element that was read from `memory`.
#[cold]
pub fn register_element(element: &Storage, memory: &Storage) {
    let external = with_buffer(memory.ptr().addr(), |buffer| {
        buffer.origin == Origin::External && !buffer.traced
    });
    if external == Some(true) {
        let from = (memory.data_handle(), memory.version());
        with_buffer(element.ptr().addr(), |buffer| buffer.element_of = Some(from));
    }
}

/// Registers memory that a kernel is about to use.
#[cold]
pub fn register_used(storage: &Storage) {
    register(storage, Origin::External);
}

/// Registers the memory of an argument.
pub fn register_input(storage: &Storage, number: usize) {
    register(storage, Origin::Input(number));
}

/// The number of handles of a storage that captures of this thread hold.
pub(super) fn handle_count(storage: &Storage) -> u64 {
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
            let known = buffers.index.get(address);
            count += u64::from(known.is_some_and(|buffer| buffer.storage.same(storage)));
            capture = buffers.outer.as_deref();
        }
        count
    })
}

/// Calls `body` with the buffer at an address, if the capture has seen it.
pub fn with_buffer<T>(address: usize, body: impl FnOnce(&mut Buffer) -> T) -> Option<T> {
    BUFFERS.with_borrow_mut(|buffers| buffers.as_mut()?.index.get_mut(address).map(body))
}

/// Refuses reads of traced contents: the program would keep the value of this call for ever.
#[inline]
pub fn check_read(op: &'static str, storage: &Storage) -> Result<()> {
    if active() { refuse_traced(op, storage) } else { Ok(()) }
}

#[cold]
fn refuse_traced(op: &'static str, storage: &Storage) -> Result<()> {
    register_used(storage);
    if !must_refuse_read(storage.ptr().addr()) {
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
        let origin = buffers.index.get(storage.ptr().addr()).map(|buffer| buffer.origin);
        let external = matches!(origin, None | Some(Origin::External)) && storage.nbytes() > 0;
        let refused = external && (buffers.is_subprogram || history)
            || buffers.is_subprogram && matches!(origin, Some(Origin::Input(_)));
        buffers.refused_change |= refused;
        refused
    });
    if refused == Some(true) { Err(change_refused()) } else { Ok(()) }
}

/// The error for a refused change in place.
pub fn change_refused() -> Box<Error> {
    if with_buffers(|buffers| buffers.is_subprogram) == Some(true) {
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
fn add_version_guard(storage: &Storage) {
    BUFFERS.with_borrow_mut(|buffers| {
        if let Some(buffers) = buffers {
            buffers.version_guards.push((storage.data_handle(), storage.version()));
        }
    });
}

/// The same in this and all enclosing captures.
pub fn guard_version(storage: &Storage) {
    add_version_guard(storage);
    with_outer(|| guard_version(storage));
}

/// Takes the version guards: external memory and its version.
pub fn take_version_guards() -> Vec<(Storage, u32)> {
    BUFFERS.with_borrow_mut(|buffers| {
        buffers
            .as_mut()
            .map_or_else(Vec::new, |buffers| std::mem::take(&mut buffers.version_guards))
    })
}

/// Whether contents at an address are traced and must not be read; host code that is called again may read them. A
/// read of other external memory adds a version guard.
pub fn must_refuse_read(address: usize) -> bool {
    let element = with_buffer(address, |buffer| {
        let (memory, version) = buffer.element_of.as_ref()?;
        (memory.version() == *version).then(|| memory.ptr().addr())
    });
    let address = element.flatten().unwrap_or(address);
    let external = with_buffer(address, |buffer| {
        (buffer.traced, (buffer.origin == Origin::External).then(|| buffer.storage.clone()))
    });
    match external {
        Some((true, _)) => return !admits_host_read(address),
        Some((false, Some(storage))) => {
            add_version_guard(&storage);
            let outer = with_outer(|| {
                register_used(&storage);
                must_refuse_read(address)
            });
            return outer == Some(true);
        }
        Some((false, None)) => drop(host_may_read(address)),
        None => {}
    }
    false
}

fn with_buffers<T>(body: impl FnOnce(&mut Buffers) -> T) -> Option<T> {
    BUFFERS.with_borrow_mut(|buffers| buffers.as_mut().map(body))
}

/// Whether a span of host code may read these traced contents; the innermost such span notes it.
fn admits_host_read(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let buffer = buffers.index.get(address)?;
        let mut host_spans = buffers.host_spans.iter_mut().rev();
        host_spans.find(|span| span.admits(address, buffer)).map(|span| span.reads_traced = true)
    });
    found.flatten().is_some()
}

/// Begins a span of host code that received these buffers.
pub fn begin_host_span(received: Vec<usize>) {
    with_buffers(|buffers| {
        let (since, guards_before) = (buffers.index.len(), buffers.version_guards.len());
        buffers.host_spans.push(HostSpan { since, received, reads_traced: false, guards_before });
    });
}

/// Whether this thread captures, and is not inside a span of host code.
pub fn is_outside_host_span() -> bool {
    active() && with_buffers(|buffers| buffers.host_spans.is_empty()) == Some(true)
}

/// Whether the innermost span read traced contents.
pub fn host_span_reads_traced() -> bool {
    with_buffers(|buffers| buffers.host_spans.last().is_some_and(|span| span.reads_traced))
        == Some(true)
}

/// Whether host code of the innermost span may read a buffer: its own memory, what it received, external memory, or
/// an untraced value, which must not be written later.
pub fn host_may_read(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let Some(span) = buffers.host_spans.last() else { return true };
        let Some(buffer) = buffers.index.get_mut(address) else { return true };
        let admitted = span.admits(address, buffer);
        buffer.seen_by_host |= !admitted;
        admitted || !buffer.traced
    });
    found != Some(false)
}

/// Whether host code of the innermost span may write a buffer: it made it, or the memory is external.
pub fn host_may_write(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let (span, buffer) = (buffers.host_spans.last()?, buffers.index.get(address)?);
        Some(buffer.order >= span.since || buffer.origin == Origin::External)
    });
    found.flatten() != Some(false)
}

/// Ends the innermost span. With `again`, a step will call the host code, and the program does not see its buffers
/// and reads.
pub fn end_host_span(again: bool) {
    with_buffers(|buffers| {
        let Some(span) = buffers.host_spans.pop() else { return };
        if !again {
            return;
        }
        buffers.version_guards.truncate(span.guards_before);
        for buffer in buffers.index.values_mut().filter(|b| b.order >= span.since) {
            if buffer.origin != Origin::External {
                (buffer.origin, buffer.traced) = (Origin::Host, true);
            }
        }
    });
}

/// The address of the buffer that contains an element.
pub fn buffer_of(element: usize) -> Option<usize> {
    BUFFERS.with_borrow(|buffers| buffers.as_ref()?.index.containing(element))
}

/// Whether the contents at an element's address may differ between runs.
pub fn varies_at(element: usize) -> bool {
    buffer_of(element).is_none_or(varies)
}

/// Whether the contents of the buffer at an address may differ between runs.
pub fn varies(address: usize) -> bool {
    with_buffer(address, |buffer| buffer.traced || buffer.origin == Origin::External) == Some(true)
}
