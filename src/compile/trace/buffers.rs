//! The buffers of a trace: where each came from, and which contents may not be read or written.
//!
//! The state is per thread. Invariant: every buffer seen stays alive until the trace ends, so an address identifies one buffer.

use std::cell::RefCell;

use super::buffer_index::BufferIndex;
use crate::array::Storage;
use crate::array::observer::{self, MemoryObserver};
use crate::error::{Error, Result};
use crate::graph::{Mode, TRANSFORM};

/// Where a buffer came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// It existed before the trace, or belongs to another library.
    Outside,
    /// An operation allocated it during the trace.
    Allocated,
    /// It was filled from Python values (numbers, lists, NumPy arrays), which are constants of the program.
    Constant,
    /// It holds an argument of the traced function.
    Input(usize),
    /// Host code of a host-call step made it: each run of the program makes it anew.
    Host,
}

/// A buffer seen by the trace.
pub(crate) struct Buffer {
    /// Keeps the memory alive, and so its address unique.
    pub(crate) storage: Storage,
    /// Where it came from.
    pub(crate) origin: Origin,
    /// Whether the contents depend on the arguments, or on memory that may change between calls.
    pub(crate) traced: bool,
    /// Host code reads it although it is not one of its arguments: no later step may write to it.
    pub(crate) read_by_host: bool,
    /// For a copy of one element of outside memory: that memory and its version. Reading the copy counts as reading the memory.
    element_of: Option<(Storage, u32)>,
    /// How many buffers were known before this one.
    number: usize,
}

/// The state of one trace.
#[derive(Default)]
pub(crate) struct Buffers {
    index: BufferIndex,
    /// Outside memory whose contents became constants of the program, with its version then.
    outside_reads: Vec<(Storage, u32)>,
    /// The enclosing trace, if this is the trace of a subprogram.
    outer: Option<Box<Buffers>>,
    /// The host calls that are running, the innermost last.
    host_spans: Vec<TraceHostSpan>,
    /// Whether a read was refused; the caller may have caught the error.
    refused_read: bool,
    /// Whether this traces a subprogram (the body of a loop or branch).
    is_subprogram: bool,
    /// Whether a transform (`grad`, `vjp`, …) was differentiating when the trace began.
    in_transform: bool,
    /// Whether an in-place write was refused; the caller may have caught the error.
    refused_write: bool,
}

/// A span of the trace in which host code runs; a host-call step of the program may run that code again.
struct TraceHostSpan {
    /// Buffers with this number or a later one were made in the span.
    first_buffer: usize,
    /// The addresses of the buffers passed to the host code.
    arguments: Vec<usize>,
    /// Whether it read traced contents: then it cannot be executed once and dropped.
    reads_traced: bool,
    /// The length of `outside_reads` before the span.
    outside_reads: usize,
}

impl TraceHostSpan {
    /// Whether the host code finds the same buffer here when it is called again.
    fn admits(&self, address: usize, buffer: &Buffer) -> bool {
        buffer.number >= self.first_buffer
            || matches!(buffer.origin, Origin::Outside | Origin::Host)
            || self.arguments.contains(&address)
    }
}

thread_local! {
    static BUFFERS: RefCell<Option<Buffers>> = const { RefCell::new(None) };
}

/// Begins a trace on this thread; `false` if there is one already.
pub(crate) fn begin() -> bool {
    let begun = BUFFERS.with_borrow_mut(|buffers| {
        let begun = buffers.is_none();
        buffers.get_or_insert_default();
        begun
    });
    if begun {
        observer::attach(&TraceObserver);
    }
    begun
}

/// Begins the trace of a subprogram; the enclosing trace of this thread, if any, is suspended until `end`.
pub(crate) fn begin_subprogram() {
    BUFFERS.with_borrow_mut(|buffers| {
        let outer = buffers.take().map(Box::new);
        *buffers = Some(Buffers { outer, is_subprogram: true, ..Buffers::default() });
    });
    observer::attach(&TraceObserver);
}

/// Ends this thread's trace and resumes the enclosing one.
pub(crate) fn end() {
    let Some(ended) = BUFFERS.take() else { return };
    observer::detach(ended.outer.is_some().then_some(&TraceObserver));
    BUFFERS.set(ended.outer.map(|outer| *outer));
}

/// Calls `body` in the enclosing trace; `None` if there is none.
fn in_enclosing<T>(body: impl FnOnce() -> T) -> Option<T> {
    let mut inner = BUFFERS.take()?;
    let Some(outer) = inner.outer.take() else {
        BUFFERS.set(Some(inner));
        return None;
    };
    BUFFERS.set(Some(*outer));
    let done = body();
    inner.outer = BUFFERS.take().map(Box::new);
    BUFFERS.set(Some(inner));
    Some(done)
}

fn register(storage: &Storage, origin: Origin) {
    let key = storage.ptr().addr();
    BUFFERS.with_borrow_mut(|buffers| {
        let Some(buffers) = buffers else { return };
        let traced = matches!(origin, Origin::Input(_));
        let number = buffers.index.len();
        let new = || Buffer {
            storage: storage.data_handle(),
            origin,
            traced,
            read_by_host: false,
            element_of: None,
            number,
        };
        let known = buffers.index.get_or_insert(key, new);
        // Foreign memory may be adopted twice, the second time with a larger range.
        if known.storage.nbytes() < storage.nbytes() {
            known.storage = storage.data_handle();
        }
    });
}

/// Registers memory as argument `number` of the traced function.
pub(crate) fn register_input(storage: &Storage, number: usize) {
    register(storage, Origin::Input(number));
}

/// Calls `body` with the buffer at `address`, if the trace has seen it.
pub(crate) fn with_buffer<T>(address: usize, body: impl FnOnce(&mut Buffer) -> T) -> Option<T> {
    BUFFERS.with_borrow_mut(|buffers| buffers.as_mut()?.index.get_mut(address).map(body))
}

/// The error of a refused read.
pub(crate) fn read_refused(op: &'static str) -> Box<Error> {
    Box::new(Error::NotTraceable {
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

/// Whether a read was refused since the trace began.
pub(crate) fn was_read_refused() -> bool {
    with_buffers(|buffers| buffers.refused_read) == Some(true)
}

/// Notes whether a transform was differentiating when the trace began.
pub(crate) fn set_began_in_transform(in_transform: bool) {
    with_buffers(|buffers| buffers.in_transform = in_transform);
}

/// The error of a refused in-place write.
pub(crate) fn write_refused() -> Box<Error> {
    if with_buffers(|buffers| buffers.is_subprogram) == Some(true) {
        return Box::new(Error::NotTraceable {
            op: "compile".into(),
            what: "the body of a loop or a branch changes a tensor in place that it did not make"
                .into(),
            remedy: "carry it: return what it becomes, or change a copy of it",
        });
    }
    Box::new(Error::NotTraceable {
        op: "compile".into(),
        what: "the function writes what requires grad to a tensor that it closes over".into(),
        remedy: "return it, or detach it",
    })
}

/// Whether an in-place write was refused since the trace began.
pub(crate) fn was_write_refused() -> bool {
    with_buffers(|buffers| buffers.refused_write) == Some(true)
}

/// Notes that contents of outside memory became constants of the program, which is valid for this version of the memory.
fn note_outside_read(storage: &Storage) {
    BUFFERS.with_borrow_mut(|buffers| {
        if let Some(buffers) = buffers {
            buffers.outside_reads.push((storage.data_handle(), storage.version()));
        }
    });
}

/// As `outside_reads`, here and in all enclosing traces, for memory that the program already knows.
pub(crate) fn require_version(storage: &Storage) {
    note_outside_read(storage);
    in_enclosing(|| require_version(storage));
}

/// Takes the list of outside memory that was read, with the versions.
pub(crate) fn take_outside_reads() -> Vec<(Storage, u32)> {
    BUFFERS.with_borrow_mut(|buffers| {
        buffers.as_mut().map_or_else(Vec::new, |buffers| std::mem::take(&mut buffers.outside_reads))
    })
}

/// Whether a read of the contents at `address` must be refused: they depend on an argument, and no host call may read them.
/// Contents of outside memory become constants of the program, and their version is noted.
pub(crate) fn is_forbidden_read(address: usize) -> bool {
    let element = with_buffer(address, |buffer| {
        let (memory, version) = buffer.element_of.as_ref()?;
        (memory.version() == *version).then(|| memory.ptr().addr())
    });
    let address = element.flatten().unwrap_or(address);
    let outside = with_buffer(address, |buffer| {
        (buffer.traced, (buffer.origin == Origin::Outside).then(|| buffer.storage.clone()))
    });
    match outside {
        Some((true, _)) => return !admitted_by_host_span(address),
        Some((false, Some(storage))) => {
            note_outside_read(&storage);
            let outer = in_enclosing(|| {
                register(&storage, Origin::Outside);
                is_forbidden_read(address)
            });
            return outer == Some(true);
        }
        Some((false, None)) => drop(host_read_is_repeatable(address)),
        None => {}
    }
    false
}

fn with_buffers<T>(body: impl FnOnce(&mut Buffers) -> T) -> Option<T> {
    BUFFERS.with_borrow_mut(|buffers| buffers.as_mut().map(body))
}

/// Whether traced contents are read by a host call that may read them; the innermost such span notes it.
fn admitted_by_host_span(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let buffer = buffers.index.get(address)?;
        let mut host_spans = buffers.host_spans.iter_mut().rev();
        host_spans.find(|span| span.admits(address, buffer)).map(|span| span.reads_traced = true)
    });
    found.flatten().is_some()
}

/// Begins a host-call span with these argument buffers.
pub(crate) fn begin_host_span(arguments: Vec<usize>) {
    with_buffers(|buffers| {
        let (first_buffer, outside_reads) = (buffers.index.len(), buffers.outside_reads.len());
        buffers.host_spans.push(TraceHostSpan {
            first_buffer,
            arguments,
            reads_traced: false,
            outside_reads,
        });
    });
}

/// Whether this thread traces, outside any host call.
#[cfg(feature = "python")]
pub(crate) fn is_tracing_outside_host_code() -> bool {
    observer::is_active() && with_buffers(|buffers| buffers.host_spans.is_empty()) == Some(true)
}

/// Whether the innermost host-call span read traced contents.
pub(crate) fn host_span_reads_traced() -> bool {
    with_buffers(|buffers| buffers.host_spans.last().is_some_and(|span| span.reads_traced))
        == Some(true)
}

/// Whether host code called again would read the same at `address`: its own memory, an argument, outside memory, or a
/// value that every run computes alike (which no later step may overwrite, so it is marked).
pub(crate) fn host_read_is_repeatable(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let Some(span) = buffers.host_spans.last() else { return true };
        let Some(buffer) = buffers.index.get_mut(address) else { return true };
        let admitted = span.admits(address, buffer);
        buffer.read_by_host |= !admitted;
        admitted || !buffer.traced
    });
    found != Some(false)
}

/// Whether host code of the innermost span may write to a buffer: it made it, or the memory is outside.
pub(crate) fn host_may_write(address: usize) -> bool {
    let found = with_buffers(|buffers| {
        let (span, buffer) = (buffers.host_spans.last()?, buffers.index.get(address)?);
        Some(buffer.number >= span.first_buffer || buffer.origin == Origin::Outside)
    });
    found.flatten() != Some(false)
}

/// Ends the innermost host-call span. `will_repeat`: a step will call the host code, which makes and reads its own buffers.
pub(crate) fn end_host_span(will_repeat: bool) {
    with_buffers(|buffers| {
        let Some(span) = buffers.host_spans.pop() else { return };
        if !will_repeat {
            return;
        }
        buffers.outside_reads.truncate(span.outside_reads);
        for buffer in buffers.index.values_mut().filter(|b| b.number >= span.first_buffer) {
            if buffer.origin != Origin::Outside {
                (buffer.origin, buffer.traced) = (Origin::Host, true);
            }
        }
    });
}

/// Registers the buffers of this thread's trace.
struct TraceObserver;

impl MemoryObserver for TraceObserver {
    fn note_allocated(&self, storage: &Storage) {
        register(storage, Origin::Allocated);
    }

    fn note_filled(&self, storage: &Storage) {
        register(storage, Origin::Constant);
        with_buffer(storage.ptr().addr(), |buffer| buffer.origin = Origin::Constant);
    }

    fn note_used(&self, storage: &Storage) {
        register(storage, Origin::Outside);
    }

    fn note_element_copy(&self, element: &Storage, memory: &Storage) {
        let outside = with_buffer(memory.ptr().addr(), |buffer| {
            buffer.origin == Origin::Outside && !buffer.traced
        });
        if outside == Some(true) {
            let from = (memory.data_handle(), memory.version());
            with_buffer(element.ptr().addr(), |buffer| buffer.element_of = Some(from));
        }
    }

    fn count_handles(&self, storage: &Storage) -> u64 {
        let address = storage.ptr().addr();
        // A handle may be dropped while `BUFFERS` is borrowed.
        BUFFERS.with(|buffers| {
            let Ok(buffers) = buffers.try_borrow() else { return 0 };
            let mut trace = buffers.as_ref();
            let mut count = 0;
            while let Some(buffers) = trace {
                let known = buffers.index.get(address);
                count += u64::from(known.is_some_and(|buffer| buffer.storage.same(storage)));
                trace = buffers.outer.as_deref();
            }
            count
        })
    }

    fn check_read(&self, op: &'static str, storage: &Storage) -> Result<()> {
        register(storage, Origin::Outside);
        if !is_forbidden_read(storage.ptr().addr()) {
            return Ok(());
        }
        with_buffers(|buffers| buffers.refused_read = true);
        Err(read_refused(op))
    }

    /// Refuses, in a subprogram, writes to memory that it did not allocate; in a function, recorded writes to outside memory.
    fn check_write(&self, storage: &Storage, recorded: bool) -> Result<()> {
        let refused = with_buffers(|buffers| {
            // The history of a transform that is traced as a whole ends with it.
            let lasts = recorded && (buffers.in_transform || !Mode::current().has(TRANSFORM));
            let origin = buffers.index.get(storage.ptr().addr()).map(|buffer| buffer.origin);
            let outside = matches!(origin, None | Some(Origin::Outside)) && storage.nbytes() > 0;
            let refused = outside && (buffers.is_subprogram || lasts)
                || buffers.is_subprogram && matches!(origin, Some(Origin::Input(_)));
            buffers.refused_write |= refused;
            refused
        });
        if refused == Some(true) { Err(write_refused()) } else { Ok(()) }
    }

    fn refuses_read(&self, buffer: usize) -> bool {
        is_forbidden_read(buffer)
    }

    fn buffer_of(&self, element: usize) -> Option<usize> {
        BUFFERS.with_borrow(|buffers| buffers.as_ref()?.index.containing(element))
    }

    fn varies(&self, buffer: usize) -> bool {
        with_buffer(buffer, |buffer| buffer.traced || buffer.origin == Origin::Outside)
            == Some(true)
    }

    fn set_varies(&self, buffer: usize) {
        with_buffer(buffer, |buffer| buffer.traced = true);
    }

    fn is_argument(&self, buffer: usize) -> bool {
        with_buffer(buffer, |buffer| matches!(buffer.origin, Origin::Input(_))) == Some(true)
    }
}
