//! Recording: the launches of this thread become the steps of a program.
//!
//! Owns: the life of a capture, the numbers of buffers, and what refuses a program. Never runs a step.
//! Invariant: when a recording is dropped or finished, this thread captures no more.

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
use crate::kernels::host_call::{Host, TraceMark};
use crate::kernels::launch::{self, Launch, Object, Operand, Tracer, Work};

/// A result of the recorded function: memory, layout, dtype.
pub type Recorded<'a> = (&'a Storage, &'a Layout, DType);

/// A capture of this thread.
pub struct Recording {
    shared: Rc<RefCell<Steps>>,
    /// Whether an input stands for a number, whose dtype gives way to that of arrays.
    weak: bool,
    /// Whether `finish` has ended the capture.
    ended: bool,
    /// Whether this is a part of another program: what it reads outside becomes an input.
    pub(in crate::compile) part: bool,
    /// The recorder of the capture around this one.
    outer: Option<Box<dyn Tracer>>,
}

#[derive(Default)]
pub(in crate::compile) struct Steps {
    /// Steps that give constants, which are written later, their values.
    pub(in crate::compile) before: Vec<Step>,
    pub(in crate::compile) steps: Vec<Step>,
    /// How many of the steps belong to the first of two programs.
    pub(in crate::compile) split: usize,
    pub(in crate::compile) buffers: Vec<Buffer>,
    pub(in crate::compile) numbers: FastMap<usize, Id>,
    pub(in crate::compile) objects: usize,
    pub(in crate::compile) refused: Option<Box<Error>>,
    /// Whether the backward pass serves only where all gradients are there.
    pub(in crate::compile) whole: bool,
    /// Whether somebody keeps values that it computed and that are no results.
    pub(in crate::compile) kept: bool,
    /// An operation that computes otherwise beside some numbers, and met an argument of one element.
    pub(in crate::compile) chosen_by_number: Option<&'static str>,
    /// The memory of the caller's arguments.
    pub(in crate::compile) arguments: Vec<Storage>,
    /// Memory outside that was written, and what it held.
    pub(in crate::compile) outside: Vec<(Storage, Storage)>,
    /// Memory that others may write, and that steps use.
    pub(in crate::compile) lent: BTreeMap<Id, ForeignMemory>,
    /// All host code, also what a step no longer calls by itself.
    pub(in crate::compile) hosts: Vec<Arc<dyn Host>>,
    /// What host code changes besides, as it was.
    pub(in crate::compile) held: Vec<(Arc<dyn Host>, Object)>,
    host_object: Option<Object>,
}

struct Shared(Rc<RefCell<Steps>>);

impl Tracer for Shared {
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

    fn require_all_gradients(&mut self) {
        self.0.borrow_mut().whole = true;
    }

    fn refuse(&mut self, error: Box<Error>) {
        self.0.borrow_mut().refused.get_or_insert(error);
    }

    fn mark(&mut self) -> TraceMark {
        self.0.borrow_mut().mark()
    }

    fn drop_since(&mut self, mark: TraceMark) -> Result<()> {
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
    /// Begins a capture on this thread, of a function of these buffers. The inputs are copies of `arguments`, whose memory
    /// the function must not write.
    ///
    /// # Errors
    /// `Captured` when this thread captures already.
    pub fn begin(inputs: &[&Storage], arguments: &[&Storage], weak: bool) -> Result<Recording> {
        if !capture::begin() {
            return Err(refusal("the function calls itself, or another one, while it is recorded"));
        }
        let arguments = arguments.iter().map(|storage| storage.data_handle()).collect();
        Ok(Recording::started(inputs, arguments, (weak, false)))
    }

    /// Begins a capture of a part of a program, whether or not this thread captures one. What the function reads beside its
    /// inputs become further inputs, and it must not write there.
    pub fn begin_part(inputs: &[&Storage]) -> Recording {
        capture::begin_subprogram();
        Recording::started(inputs, Vec::new(), (false, true))
    }

    fn started(
        inputs: &[&Storage],
        arguments: Vec<Storage>,
        (weak, part): (bool, bool),
    ) -> Recording {
        for (number, storage) in inputs.iter().enumerate() {
            capture::register_input(storage, number);
        }
        let steps = Steps { arguments, objects: launch::HOST_OBJECT + 1, ..Steps::default() };
        let shared = Rc::new(RefCell::new(steps));
        let outer = launch::set_tracer(Some(Box::new(Shared(shared.clone()))));
        Recording { shared, weak, ended: false, part, outer }
    }

    /// Begins the second of two programs: see `finish_joint`.
    pub fn split(&mut self) {
        let mut steps = self.shared.borrow_mut();
        steps.split = steps.steps.len();
    }

    /// Ends the capture and makes the program that computes these results. Where somebody keeps other tensors that were
    /// computed there can be none: then what the call did stays and the answer is `None` if `may_keep`, else an error.
    /// `held` is what the caller has of arguments and results: who else holds those keeps them, too.
    ///
    /// # Errors
    /// What refused the program while it was recorded.
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

    /// Ends the capture: the steps, the results and the numbers that left for the program.
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
        if capture::was_write_refused() {
            steps.refused.get_or_insert_with(capture::write_refused);
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
        let read = capture::take_outside_reads();
        self.end();
        if let Some(error) = steps.refused.take() {
            steps.give_back();
            return Err(error);
        }
        Ok((steps, outputs, read))
    }

    fn end(&mut self) {
        self.ended = true;
        launch::set_tracer(self.outer.take());
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
        // Objects, which are found from indices that vary, come without memory to read.
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

    /// Takes the steps, with those that give constants their values before the others.
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

    /// The number of the buffer at an address.
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
                    // Whoever drops this step again, because host code took it, drops the refusal as well.
                    Origin::Host => {
                        self.refused.get_or_insert_with(|| {
                            refusal("a tensor that host code made is used without being its result")
                        });
                        Source::Temporary
                    }
                    Origin::Input(number) => Source::Input(number),
                    Origin::Outside => Source::Outside(storage),
                    Origin::Constant => Source::Constant(storage),
                    Origin::Allocated => Source::Temporary,
                };
                Buffer { source, nbytes }
            }
        };
        let number = self.buffers.len() as Id;
        self.buffers.push(buffer);
        self.numbers.insert(address, number);
        number
    }

    /// Takes note that a buffer is about to be written.
    fn written(&mut self, address: usize, varies: bool) {
        let read_by_host = capture::with_buffer(address, |buffer| {
            buffer.traced |= varies;
            buffer.read_by_host
        });
        if read_by_host == Some(true) {
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

    /// Makes a constant a temporary that each run fills with its values first.
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

    /// Refuses float32: a number would have been rounded to it, and the input that stands for it was not.
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
        capture::register_outside(storage);
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
