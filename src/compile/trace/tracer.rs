//! The tracer: turns the kernel launches of this thread into steps, and restores external state when a trace fails.
//!
//! Invariant: when a tracer is dropped or finished, this thread traces no more.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::buffers::{self, Origin};
use super::foreign_memory::ForeignMemory;
use super::host_span::closure_error;
use crate::array::hash::FastMap;
use crate::array::observer;
use crate::array::{Layout, Storage};
use crate::compile::exec::executable::{Executable, VersionGuards};
use crate::compile::ir::{Buffer, BufferId, BufferView, Output, Source, Step};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::launch::{self, HostFunction, Launch, LaunchKind, Object, Operand};

/// A result of the traced function: memory, layout, dtype.
pub type TracedResult<'a> = (&'a Storage, &'a Layout, DType);

/// An active trace of this thread.
pub struct Tracer {
    steps: Rc<RefCell<TracedSteps>>,
    /// Whether an input is a Python scalar, whose dtype is weak in promotion.
    has_scalars: bool,
    /// Whether the trace has ended.
    ended: bool,
    /// Whether this traces a subprogram: external memory becomes inputs.
    pub(in crate::compile) is_subprogram: bool,
    /// The steps of the enclosing trace.
    outer: Option<Rc<RefCell<TracedSteps>>>,
}

#[derive(Default)]
pub(in crate::compile) struct TracedSteps {
    /// Steps that initialise constants which are written later.
    pub(in crate::compile) constant_inits: Vec<Step>,
    pub(in crate::compile) steps: Vec<Step>,
    /// The number of steps of the forward pass.
    pub(in crate::compile) split: usize,
    pub(in crate::compile) buffers: Vec<Buffer>,
    pub(in crate::compile) buffer_ids: FastMap<usize, BufferId>,
    pub(in crate::compile) objects: usize,
    pub(in crate::compile) error: Option<Box<Error>>,
    /// Whether the backward pass is valid only if all cotangents are present.
    pub(in crate::compile) needs_all_cotangents: bool,
    /// Whether computed values that are no results are still referenced.
    pub(in crate::compile) values_escape: bool,
    /// An operation that depends on whether an operand is a scalar, and met an argument of one element.
    pub(in crate::compile) scalar_dependent_op: Option<&'static str>,
    /// The memory of the caller's arguments.
    pub(in crate::compile) arguments: Vec<Storage>,
    /// External memory that was written, and a copy of its contents from before.
    pub(in crate::compile) external_snapshots: Vec<(Storage, Storage)>,
    /// Foreign memory that steps use.
    pub(in crate::compile) foreign: BTreeMap<BufferId, ForeignMemory>,
    /// All host callbacks, also those that only other callbacks call.
    pub(in crate::compile) hosts: Vec<Arc<dyn HostFunction>>,
    /// Host callbacks with their states from before the trace.
    pub(in crate::compile) host_states: Vec<(Arc<dyn HostFunction>, Object)>,
    pub(in crate::compile) host_object: Option<Object>,
}

thread_local! {
    /// The steps of the innermost trace of this thread.
    static STEPS: RefCell<Option<Rc<RefCell<TracedSteps>>>> = const { RefCell::new(None) };
}

/// Calls `body` with the steps of this thread's trace, if there is one.
pub(in crate::compile) fn with_steps<T>(body: impl FnOnce(&mut TracedSteps) -> T) -> Option<T> {
    let steps = STEPS.with_borrow(Clone::clone)?;
    let mut steps = steps.borrow_mut();
    Some(body(&mut steps))
}

/// Turns the launches of this thread into steps.
struct StepTracer;

impl launch::Tracer for StepTracer {
    fn launch(&self, launch: Launch) {
        with_steps(|steps| steps.launch(launch));
    }

    fn new_object(&self) -> usize {
        let number = with_steps(|steps| {
            steps.objects += 1;
            steps.objects - 1
        });
        number.unwrap_or(launch::HOST_OBJECT)
    }

    fn identity(&self) -> usize {
        STEPS.with_borrow(|steps| steps.as_ref().map_or(0, |steps| steps.as_ptr().addr()))
    }

    fn refuse_number(&self, op: &'static str) {
        with_steps(|steps| {
            steps.scalar_dependent_op.get_or_insert(op);
        });
    }

    fn require_all_gradients(&self) {
        with_steps(|steps| steps.needs_all_cotangents = true);
    }
}

impl Tracer {
    /// Starts a trace on this thread. `inputs` are copies of `arguments`, whose memory the function must not write.
    ///
    /// # Errors
    /// `NotTraceable` if this thread is tracing already.
    pub fn begin(inputs: &[&Storage], arguments: &[&Storage], has_scalars: bool) -> Result<Tracer> {
        if !buffers::begin() {
            return Err(refusal("the function calls itself, or another one, while it is recorded"));
        }
        let arguments = arguments.iter().map(|storage| storage.data_handle()).collect();
        Ok(Tracer::start(inputs, arguments, (has_scalars, false)))
    }

    /// Starts the trace of a subprogram, inside another trace or on its own. External memory that it reads becomes
    /// further inputs; writes to it are refused.
    pub fn begin_subprogram(inputs: &[&Storage]) -> Tracer {
        buffers::begin_subprogram();
        Tracer::start(inputs, Vec::new(), (false, true))
    }

    fn start(
        inputs: &[&Storage],
        arguments: Vec<Storage>,
        (has_scalars, is_subprogram): (bool, bool),
    ) -> Tracer {
        for (number, storage) in inputs.iter().enumerate() {
            buffers::register_input(storage, number);
        }
        let steps =
            TracedSteps { arguments, objects: launch::HOST_OBJECT + 1, ..TracedSteps::default() };
        let steps = Rc::new(RefCell::new(steps));
        let outer = STEPS.replace(Some(steps.clone()));
        launch::set_tracer(Some(&StepTracer));
        Tracer { steps, has_scalars, ended: false, is_subprogram, outer }
    }

    /// Starts the backward pass: see `finish_with_backward`.
    pub fn split(&mut self) {
        let mut steps = self.steps.borrow_mut();
        steps.split = steps.steps.len();
    }

    /// Ends the trace and makes the executable for these results. If computed values escape, there is none: `None` if
    /// `may_keep`, and the call's effects stay, else an error. `held` are the caller's handles of arguments and
    /// results; any other handle is an escape.
    ///
    /// # Errors
    /// What refused the program during the trace.
    pub fn finish(
        self,
        inputs: usize,
        results: &[TracedResult<'_>],
        held: &[&Storage],
        may_keep: bool,
    ) -> Result<Option<Executable>> {
        let (mut steps, outputs, guards) = self.finish_steps(results, held, may_keep)?;
        if steps.values_escape {
            return Ok(None);
        }
        let all_steps = steps.with_constants();
        let buffers = std::mem::take(&mut steps.buffers);
        let hosts = std::mem::take(&mut steps.hosts);
        let objects = steps.objects;
        Ok(Some(Executable::new(all_steps, buffers, inputs, outputs, objects, guards, hosts)))
    }

    /// Ends the trace: the steps, the outputs and the version guards.
    pub(in crate::compile) fn finish_steps(
        mut self,
        results: &[TracedResult<'_>],
        held: &[&Storage],
        may_keep: bool,
    ) -> Result<(TracedSteps, Vec<Output>, VersionGuards)> {
        let mut steps = std::mem::take(&mut *self.steps.borrow_mut());
        if self.has_scalars {
            steps.refuse_float32();
            if let Some(op) = steps.scalar_dependent_op {
                steps.error.get_or_insert_with(|| refusal(&format!("{op} depends on a number")));
            }
        }
        let outputs: Vec<Output> = results.iter().map(|&result| steps.output(result)).collect();
        steps.finalize_foreign(&outputs);
        steps.find_escapes(held, may_keep);
        if !steps.values_escape {
            steps.guard_escapes(held);
        }
        if buffers::was_read_refused() {
            steps.error.get_or_insert_with(|| buffers::read_refused("compile"));
        }
        if buffers::was_write_refused() {
            steps.error.get_or_insert_with(buffers::write_refused);
        }
        if self.is_subprogram && !(steps.external_snapshots.is_empty() && steps.hosts.is_empty()) {
            let what = "the body of a loop or a branch changes memory outside, or calls Python (random \
                        numbers, callbacks, functions that look at values)";
            steps.error.get_or_insert_with(|| {
                let remedy =
                    "compute that before the loop or the branch, and pass it as an argument";
                Box::new(Error::NotTraceable { op: "compile".into(), what: what.into(), remedy })
            });
        }
        let guards = buffers::take_outside_reads();
        self.end();
        if let Some(error) = steps.error.take() {
            steps.roll_back();
            return Err(error);
        }
        Ok((steps, outputs, guards))
    }

    fn end(&mut self) {
        self.ended = true;
        launch::set_tracer(self.outer.is_some().then_some(&StepTracer as &dyn launch::Tracer));
        STEPS.set(self.outer.take());
        buffers::end();
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        if !self.ended {
            self.end();
            let steps = std::mem::take(&mut *self.steps.borrow_mut());
            steps.roll_back();
        }
    }
}

impl TracedSteps {
    pub(in crate::compile) fn launch(&mut self, launch: Launch) {
        let Launch { name, reads, writes, work } = launch;
        // Objects come without memory to read; they may come from traced indices.
        let foreign = matches!(work, LaunchKind::Host(_));
        let varies =
            foreign || reads.is_empty() || reads.iter().any(|read| observer::varies(read.buffer));
        let varies = varies && name != "fill";
        if let LaunchKind::Host(host) = &work {
            self.hosts.push(host.clone());
        }
        let reads: SmallVec<[BufferView; 2]> =
            reads.into_iter().map(|read| self.slice(read)).collect();
        reads.iter().for_each(|read| self.check_foreign_read(read));
        for written in &writes {
            self.note_write(written.buffer, varies);
        }
        let writes = writes.into_iter().map(|written| self.slice(written)).collect();
        self.steps.push(Step::new(name, reads, writes, work));
    }

    /// Takes the steps, those that initialise constants first.
    pub(super) fn with_constants(&mut self) -> Vec<Step> {
        let mut steps = std::mem::take(&mut self.steps);
        steps.splice(..0, self.constant_inits.drain(..));
        steps
    }

    fn slice(&mut self, operand: Operand) -> BufferView {
        if operand.buffer == 0 && !operand.dims.contains(&0) {
            self.error.get_or_insert_with(|| {
                let what = "a kernel reads memory that the recording has not seen".into();
                Box::new(Error::Internal { op: "compile".into(), what })
            });
        }
        let number = self.buffer_id(operand.buffer);
        operand.within(number)
    }

    /// The id of the buffer at an address.
    fn buffer_id(&mut self, address: usize) -> BufferId {
        if let Some(&number) = self.buffer_ids.get(&address) {
            return number;
        }
        let known = buffers::with_buffer(address, |buffer| (buffer.storage.clone(), buffer.origin));
        let buffer = match known {
            // No elements: there is nothing to read or write.
            None => Buffer { source: Source::Unused, nbytes: 0 },
            Some((storage, origin)) => {
                let nbytes = storage.nbytes();
                let source = match origin {
                    // If host code of a span launched this step, the step and the refusal are dropped together.
                    Origin::Host => {
                        self.error.get_or_insert_with(|| {
                            refusal("a tensor that host code made is used without being its result")
                        });
                        Source::Temporary
                    }
                    Origin::Input(number) => Source::Input(number),
                    Origin::Outside => Source::External(storage),
                    Origin::Constant => Source::Constant(storage),
                    Origin::Allocated => Source::Temporary,
                };
                Buffer { source, nbytes }
            }
        };
        let number = self.buffers.len() as BufferId;
        self.buffers.push(buffer);
        self.buffer_ids.insert(address, number);
        number
    }

    /// Notes that a buffer is about to be written.
    fn note_write(&mut self, address: usize, varies: bool) {
        let read_by_host = buffers::with_buffer(address, |buffer| {
            buffer.traced |= varies;
            buffer.read_by_host
        });
        if read_by_host == Some(true) {
            self.error.get_or_insert_with(|| closure_error("looked at"));
        }
        let number = self.buffer_id(address);
        let buffer = self.buffers[number as usize].clone();
        match buffer.source {
            Source::Input(_) => {
                self.error.get_or_insert_with(|| {
                    refusal("the function changes an argument in place; change a copy of it")
                });
            }
            Source::Constant(storage) => self.thaw_constant(number, &storage),
            Source::External(storage) => {
                self.note_foreign_write(number);
                self.snapshot_external(storage);
            }
            _ => {}
        }
    }

    /// Turns a constant into a temporary that each run initialises.
    fn thaw_constant(&mut self, number: BufferId, storage: &Storage) {
        let _paused = observer::Pause::new();
        let nbytes = storage.nbytes();
        let Ok(copy) = storage.copy() else {
            self.error = Some(Box::new(Error::Memory { bytes: nbytes }));
            return;
        };
        let constant = self.buffers.len() as BufferId;
        self.buffers.push(Buffer { source: Source::Constant(copy), nbytes });
        self.buffers[number as usize].source = Source::Temporary;
        self.constant_inits.push(copy_buffer(constant, number, nbytes));
    }

    /// Refuses float32: a Python scalar would have been rounded to it at trace time, while the float64 input is not.
    fn refuse_float32(&mut self) {
        let is_float32 = |step: &Step| {
            step.reads
                .iter()
                .chain(&step.writes)
                .any(|slice| matches!(slice.dtype.real(), DType::F32 | DType::F16))
        };
        if self.steps.iter().any(is_float32) {
            let what = "a number meets float32, so that it belongs to the program";
            self.error.get_or_insert_with(|| refusal(what));
        }
    }

    fn output(&mut self, (storage, layout, dtype): TracedResult<'_>) -> Output {
        observer::note_used(storage);
        let buffer = if layout.numel() == 0 { 0 } else { storage.ptr().addr() };
        let number = self.buffer_id(buffer);
        let buffer = &mut self.buffers[number as usize];
        if matches!(buffer.source, Source::Temporary) {
            buffer.source = Source::Output;
        }
        Output { buffer: number, layout: layout.clone(), dtype }
    }

    /// Undoes the side effects of a failed trace.
    pub(in crate::compile) fn roll_back(&self) {
        self.external_snapshots.iter().for_each(|(storage, held)| storage.overwrite(held));
        self.host_states.iter().rev().for_each(|(host, held)| host.restore_state(held));
    }

    /// Copies external memory that is about to be written, for `roll_back`.
    pub(in crate::compile) fn snapshot_external(&mut self, storage: Storage) {
        if self.arguments.iter().any(|argument| argument.same(&storage)) {
            let what = "an argument is memory that the function changes; pass a copy of it";
            self.error.get_or_insert_with(|| refusal(what));
        }
        if self.external_snapshots.iter().any(|(kept, _)| kept.same(&storage)) {
            return;
        }
        let _paused = observer::Pause::new();
        match storage.copy() {
            Ok(copy) => self.external_snapshots.push((storage, copy)),
            Err(error) => self.error = Some(error),
        }
    }
}

/// A copy of all bytes of a buffer.
pub(super) fn copy_buffer(from: BufferId, to: BufferId, nbytes: usize) -> Step {
    let bytes = |buffer| BufferView::contiguous(buffer, DType::U8, &[nbytes]);
    Step::new("copy", smallvec![bytes(from)], smallvec![bytes(to)], LaunchKind::Copy)
}

pub(in crate::compile) fn refusal(what: &str) -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: "compile".into(),
        what: what.into(),
        remedy: "or leave this function uncompiled",
    })
}
