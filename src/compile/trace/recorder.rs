//! The tracer: turns the kernel launches of this thread into steps, and restores external state when a trace fails.
//!
//! Invariant: when a tracer is dropped or finished, this thread traces no more.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::foreign_memory::ForeignMemory;
use super::host_span::closed_over;
use crate::array::capture::{self, Origin};
use crate::array::hash::FastMap;
use crate::array::{Layout, Storage};
use crate::compile::exec::program::{Program, ReadOutside};
use crate::compile::ir::{Buffer, Id, Output, Slice, Source, Step};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::host_call::{Host, Mark};
use crate::kernels::launch::{self, Launch, Object, Operand, Recorder, Work};

/// A result of the traced function: memory, layout, dtype.
pub type Recorded<'a> = (&'a Storage, &'a Layout, DType);

/// An active trace of this thread.
pub struct Recording {
    shared: Rc<RefCell<Steps>>,
    /// Whether an input is a Python scalar, whose dtype is weak in promotion.
    weak: bool,
    /// Whether the trace has ended.
    ended: bool,
    /// Whether this traces a subprogram: external memory becomes inputs.
    pub(in crate::compile) part: bool,
    /// The recorder of the enclosing trace.
    outer: Option<Box<dyn Recorder>>,
}

#[derive(Default)]
pub(in crate::compile) struct Steps {
    /// Steps that initialise constants which are written later.
    pub(in crate::compile) before: Vec<Step>,
    pub(in crate::compile) steps: Vec<Step>,
    /// The number of steps of the forward pass.
    pub(in crate::compile) split: usize,
    pub(in crate::compile) buffers: Vec<Buffer>,
    pub(in crate::compile) numbers: FastMap<usize, Id>,
    pub(in crate::compile) objects: usize,
    pub(in crate::compile) refused: Option<Box<Error>>,
    /// Whether the backward pass is valid only if all cotangents are present.
    pub(in crate::compile) whole: bool,
    /// Whether computed values that are no results are still referenced.
    pub(in crate::compile) kept: bool,
    /// An operation that depends on whether an operand is a scalar, and met an argument of one element.
    pub(in crate::compile) chosen_by_number: Option<&'static str>,
    /// The memory of the caller's arguments.
    pub(in crate::compile) arguments: Vec<Storage>,
    /// External memory that was written, and a copy of its contents from before.
    pub(in crate::compile) outside: Vec<(Storage, Storage)>,
    /// Foreign memory that steps use.
    pub(in crate::compile) lent: BTreeMap<Id, ForeignMemory>,
    /// All host callbacks, also those that only other callbacks call.
    pub(in crate::compile) hosts: Vec<Arc<dyn Host>>,
    /// Host callbacks with their states from before the trace.
    pub(in crate::compile) held: Vec<(Arc<dyn Host>, Object)>,
    host_object: Option<Object>,
}

struct Shared(Rc<RefCell<Steps>>);

impl Recorder for Shared {
    fn launch(&mut self, launch: Launch) {
        self.0.borrow_mut().launch(launch);
    }

    fn object(&mut self) -> usize {
        let mut steps = self.0.borrow_mut();
        steps.objects += 1;
        steps.objects - 1
    }

    fn identity(&self) -> usize {
        self.0.as_ptr().addr()
    }

    fn refuse_number(&mut self, op: &'static str) {
        self.0.borrow_mut().chosen_by_number.get_or_insert(op);
    }

    fn keep_whole(&mut self) {
        self.0.borrow_mut().whole = true;
    }

    fn refuse(&mut self, error: Box<Error>) {
        self.0.borrow_mut().refused.get_or_insert(error);
    }

    fn mark(&mut self) -> Mark {
        self.0.borrow_mut().mark()
    }

    fn drop_since(&mut self, mark: Mark) -> Result<()> {
        self.0.borrow_mut().drop_since(mark)
    }

    fn hold(&mut self, host: &Arc<dyn Host>, held: Object) {
        self.0.borrow_mut().held.push((host.clone(), held));
    }

    fn host_object(&mut self, make: &dyn Fn() -> Object) -> Object {
        self.0.borrow_mut().host_object.get_or_insert_with(make).clone()
    }
}

impl Recording {
    /// Starts a trace on this thread. `inputs` are copies of `arguments`, whose memory the function must not write.
    ///
    /// # Errors
    /// `Captured` if this thread is tracing already.
    pub fn begin(inputs: &[&Storage], arguments: &[&Storage], weak: bool) -> Result<Recording> {
        if !capture::begin() {
            return Err(refusal("the function calls itself, or another one, while it is recorded"));
        }
        let arguments = arguments.iter().map(|storage| storage.data_handle()).collect();
        Ok(Recording::started(inputs, arguments, (weak, false)))
    }

    /// Starts the trace of a subprogram, inside another trace or on its own. External memory that it reads becomes
    /// further inputs; writes to it are refused.
    pub fn begin_part(inputs: &[&Storage]) -> Recording {
        capture::begin_part();
        Recording::started(inputs, Vec::new(), (false, true))
    }

    fn started(
        inputs: &[&Storage],
        arguments: Vec<Storage>,
        (weak, part): (bool, bool),
    ) -> Recording {
        for (number, storage) in inputs.iter().enumerate() {
            capture::input(storage, number);
        }
        let steps = Steps { arguments, objects: launch::HOST + 1, ..Steps::default() };
        let shared = Rc::new(RefCell::new(steps));
        let outer = launch::set_recorder(Some(Box::new(Shared(shared.clone()))));
        Recording { shared, weak, ended: false, part, outer }
    }

    /// Starts the backward pass: see `finish_joint`.
    pub fn split(&mut self) {
        let mut steps = self.shared.borrow_mut();
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
        results: &[Recorded<'_>],
        held: &[&Storage],
        may_keep: bool,
    ) -> Result<Option<Program>> {
        let (mut steps, outputs, read) = self.end_with(results, held, may_keep)?;
        if steps.kept {
            return Ok(None);
        }
        let all = steps.with_constants();
        let buffers = std::mem::take(&mut steps.buffers);
        let hosts = std::mem::take(&mut steps.hosts);
        let objects = steps.objects;
        Ok(Some(Program::new(all, buffers, inputs, outputs, objects, read, hosts)))
    }

    /// Ends the trace: the steps, the outputs and the version guards.
    pub(in crate::compile) fn end_with(
        mut self,
        results: &[Recorded<'_>],
        held: &[&Storage],
        may_keep: bool,
    ) -> Result<(Steps, Vec<Output>, ReadOutside)> {
        let mut steps = std::mem::take(&mut *self.shared.borrow_mut());
        if self.weak {
            steps.refuse_narrow();
            if let Some(op) = steps.chosen_by_number {
                steps.refused.get_or_insert_with(|| refusal(&format!("{op} depends on a number")));
            }
        }
        let outputs: Vec<Output> = results.iter().map(|&result| steps.output(result)).collect();
        steps.settle_lent(&outputs);
        steps.find_kept(held, may_keep);
        if !steps.kept {
            steps.watch_kept(held);
        }
        if capture::was_read_refused() {
            steps.refused.get_or_insert_with(|| capture::read_refused("compile"));
        }
        if capture::was_change_refused() {
            steps.refused.get_or_insert_with(capture::change_refused);
        }
        if self.part && !(steps.outside.is_empty() && steps.hosts.is_empty()) {
            let what = "the body of a loop or a branch changes memory outside, or calls Python (random \
                        numbers, callbacks, functions that look at values)";
            steps.refused.get_or_insert_with(|| {
                let remedy =
                    "compute that before the loop or the branch, and pass it as an argument";
                Box::new(Error::Captured { op: "compile".into(), what: what.into(), remedy })
            });
        }
        let read = capture::take_read_outside();
        self.end();
        if let Some(error) = steps.refused.take() {
            steps.give_back();
            return Err(error);
        }
        Ok((steps, outputs, read))
    }

    fn end(&mut self) {
        self.ended = true;
        launch::set_recorder(self.outer.take());
        capture::end();
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.ended {
            self.end();
            let steps = std::mem::take(&mut *self.shared.borrow_mut());
            steps.give_back();
        }
    }
}

impl Steps {
    fn launch(&mut self, launch: Launch) {
        let Launch { name, reads, writes, work } = launch;
        // Objects come without memory to read; they may come from traced indices.
        let foreign = matches!(work, Work::Foreign(_));
        let varies =
            foreign || reads.is_empty() || reads.iter().any(|read| capture::varies(read.buffer));
        let varies = varies && name != "fill";
        if let Work::Foreign(host) = &work {
            self.hosts.push(host.clone());
        }
        let reads: SmallVec<[Slice; 2]> = reads.into_iter().map(|read| self.slice(read)).collect();
        reads.iter().for_each(|read| self.look(read));
        for written in &writes {
            self.written(written.buffer, varies);
        }
        let writes = writes.into_iter().map(|written| self.slice(written)).collect();
        self.steps.push(Step::new(name, reads, writes, work));
    }

    /// Takes the steps, those that initialise constants first.
    pub(super) fn with_constants(&mut self) -> Vec<Step> {
        let mut steps = std::mem::take(&mut self.steps);
        steps.splice(..0, self.before.drain(..));
        steps
    }

    fn slice(&mut self, operand: Operand) -> Slice {
        if operand.buffer == 0 && !operand.dims.contains(&0) {
            self.refused.get_or_insert_with(|| {
                let what = "a kernel reads memory that the recording has not seen".into();
                Box::new(Error::Internal { op: "compile".into(), what })
            });
        }
        let number = self.number(operand.buffer);
        operand.within(number)
    }

    /// The id of the buffer at an address.
    fn number(&mut self, address: usize) -> Id {
        if let Some(&number) = self.numbers.get(&address) {
            return number;
        }
        let known = capture::with_buffer(address, |buffer| (buffer.storage.clone(), buffer.origin));
        let buffer = match known {
            // No elements: there is nothing to read or write.
            None => Buffer { source: Source::Unused, nbytes: 0 },
            Some((storage, origin)) => {
                let nbytes = storage.nbytes();
                let source = match origin {
                    // If host code of a span launched this step, the step and the refusal are dropped together.
                    Origin::Host => {
                        self.refused.get_or_insert_with(|| {
                            refusal("a tensor that host code made is used without being its result")
                        });
                        Source::Temporary
                    }
                    Origin::Input(number) => Source::Input(number),
                    Origin::Outside => Source::Outside(storage),
                    Origin::Constant => Source::Constant(storage),
                    Origin::Made => Source::Temporary,
                };
                Buffer { source, nbytes }
            }
        };
        let number = self.buffers.len() as Id;
        self.buffers.push(buffer);
        self.numbers.insert(address, number);
        number
    }

    /// Notes that a buffer is about to be written.
    fn written(&mut self, address: usize, varies: bool) {
        let settled = capture::with_buffer(address, |buffer| {
            buffer.traced |= varies;
            buffer.settled
        });
        if settled == Some(true) {
            self.refused.get_or_insert_with(|| closed_over("looked at"));
        }
        let number = self.number(address);
        let buffer = self.buffers[number as usize].clone();
        match buffer.source {
            Source::Input(_) => {
                self.refused.get_or_insert_with(|| {
                    refusal("the function changes an argument in place; change a copy of it")
                });
            }
            Source::Constant(storage) => self.unfreeze(number, &storage),
            Source::Outside(storage) => {
                self.lent_is_written(number);
                self.keep_outside(storage);
            }
            _ => {}
        }
    }

    /// Turns a constant into a temporary that each run initialises.
    fn unfreeze(&mut self, number: Id, storage: &Storage) {
        let _paused = capture::Pause::new();
        let nbytes = storage.nbytes();
        let Ok(copy) = storage.copy() else {
            self.refused = Some(Box::new(Error::Memory { bytes: nbytes }));
            return;
        };
        let constant = self.buffers.len() as Id;
        self.buffers.push(Buffer { source: Source::Constant(copy), nbytes });
        self.buffers[number as usize].source = Source::Temporary;
        self.before.push(bytes_copied(constant, number, nbytes));
    }

    /// Refuses float32: a Python scalar would have been rounded to it at trace time, while the float64 input is not.
    fn refuse_narrow(&mut self) {
        let narrow = |step: &Step| {
            step.reads
                .iter()
                .chain(&step.writes)
                .any(|slice| matches!(slice.dtype.real(), DType::F32 | DType::F16))
        };
        if self.steps.iter().any(narrow) {
            let what = "a number meets float32, so that it belongs to the program";
            self.refused.get_or_insert_with(|| refusal(what));
        }
    }

    fn output(&mut self, (storage, layout, dtype): Recorded<'_>) -> Output {
        capture::seen(storage);
        let buffer = if layout.numel() == 0 { 0 } else { storage.ptr().addr() };
        let number = self.number(buffer);
        let buffer = &mut self.buffers[number as usize];
        if matches!(buffer.source, Source::Temporary) {
            buffer.source = Source::Output;
        }
        Output { buffer: number, layout: layout.clone(), dtype }
    }
}

/// A copy of all bytes of a buffer.
pub(super) fn bytes_copied(from: Id, to: Id, nbytes: usize) -> Step {
    let bytes = |buffer| Slice::contiguous(buffer, DType::U8, &[nbytes]);
    Step::new("copy", smallvec![bytes(from)], smallvec![bytes(to)], Work::Copy)
}

pub(in crate::compile) fn refusal(what: &str) -> Box<Error> {
    Box::new(Error::Captured {
        op: "compile".into(),
        what: what.into(),
        remedy: "or leave this function uncompiled",
    })
}
