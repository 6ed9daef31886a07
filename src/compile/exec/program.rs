//! `Executable`: binds inputs and results, and runs the steps. A run allocates only its results, and a frame if no
//! free one is left.
//!
//! Invariant: runs may be concurrent; each has a frame of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::frame::{Frame, Held};
use super::lazy_plan::{Deferred, Planned};
use crate::array::{Elements, ElementsMut, Layout, Storage};
use crate::compile::ir::execute::run_step;
use crate::compile::ir::lowered::Code;
use crate::compile::ir::{Buffer, Id, Output, Slice, Source, Step};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::host_call::Host;
use crate::kernels::launch::{HOST, Object, Objects};
use crate::threads::{Mutex, MutexGuard};

/// A traced and optimised list of kernels, ready to run.
pub struct Program {
    deferred: Deferred,
    inputs: usize,
    outputs: Vec<Output>,
    objects: usize,
    /// External memory, and how often tensors over it had been switched to or from requiring grad.
    outside: Vec<(u16, Storage)>,
    read_outside: ReadOutside,
    /// The host callbacks that steps call, directly or inside another callback.
    hosts: Vec<Arc<dyn Host>>,
    frames: Mutex<Vec<Frame>>,
    /// Identifies the executable.
    pub(in crate::compile) number: usize,
}

static PROGRAMS: AtomicUsize = AtomicUsize::new(0);

impl Program {
    pub(in crate::compile) fn new(
        steps: Vec<Step>,
        buffers: Vec<Buffer>,
        inputs: usize,
        outputs: Vec<Output>,
        objects: usize,
        read_outside: ReadOutside,
        hosts: Vec<Arc<dyn Host>>,
    ) -> Program {
        let outside = buffers.iter().filter_map(|buffer| buffer.source.outside());
        let outside = outside.map(|storage| (storage.switches(), storage.clone())).collect();
        let (deferred, frames) = (Deferred::new(steps, buffers), Mutex::default());
        let number = PROGRAMS.fetch_add(1, Ordering::Relaxed);
        Program { deferred, inputs, outputs, objects, outside, read_outside, hosts, frames, number }
    }

    #[inline]
    fn planned(&self) -> &Planned {
        self.deferred.get(self.inputs, &self.outputs)
    }

    /// The steps in the order of execution.
    pub fn steps(&self) -> &[Step] {
        &self.planned().steps
    }

    /// The steps as texts: kernel, operands read, operands written.
    pub fn described(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        let texts = |slices: &[Slice]| slices.iter().map(ToString::to_string).collect();
        let steps = self.steps().iter();
        steps.map(|step| (step.name, texts(&step.reads), texts(&step.writes))).collect()
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many of the inputs are arguments of the traced function.
    pub(super) fn arguments(&self) -> usize {
        self.inputs - self.planned().uses.taken
    }

    /// The outputs, in the order of the function's results.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Bytes of the block of temporaries of one run.
    pub fn temporary_bytes(&self) -> usize {
        self.planned().plan.nbytes
    }

    /// External memory that steps write.
    pub fn written_outside(&self) -> impl Iterator<Item = &Storage> {
        self.planned().uses.written.iter()
    }

    /// The slices of external memory that steps write.
    pub fn elements_written_outside(&self) -> &[(Storage, Layout, DType)] {
        &self.planned().uses.elements_written
    }

    /// Whether a guard fails: external memory whose contents were baked in has changed, or other memory requires
    /// grad.
    pub fn is_stale(&self) -> bool {
        self.outside.iter().any(|(switches, storage)| storage.switches() != *switches)
            || self.read_outside.iter().any(|(storage, version)| storage.version() != *version)
    }

    /// Whether steps access this external memory directly.
    pub fn touches(&self, outside: &Storage) -> bool {
        self.planned().buffers.iter().any(
            |buffer| matches!(&buffer.source, Source::Outside(storage) if storage.same(outside)),
        )
    }

    /// Turns an external buffer into a further input, which steps may write; returns whether they do. `None` if it
    /// must stay: its contents were baked in, or it is an output.
    pub fn take_as_input(&mut self, outside: &Storage) -> Option<bool> {
        let is_it = |buffer: &Buffer| buffer.source.outside().is_some_and(|s| s.same(outside));
        let buffer = self.planned().buffers.iter().position(is_it)?;
        let id = buffer as Id;
        if self.outputs.iter().any(|output| output.buffer == id)
            || self.read_outside.iter().any(|(storage, _)| storage.same(outside))
        {
            return None;
        }
        let number = self.inputs;
        let planned = self.deferred.get_mut(number, &self.outputs);
        planned.buffers[buffer].source = Source::Input(number);
        let written = planned.uses.become_input(id, number, outside);
        self.outside.retain(|(_, storage)| !storage.same(outside));
        self.inputs += 1;
        Some(written)
    }

    /// The source of a buffer's memory.
    pub fn source(&self, buffer: Id) -> &Source {
        &self.planned().buffers[buffer as usize].source
    }

    /// Whether a step reads this input.
    pub fn reads_input(&self, number: usize) -> bool {
        self.planned().uses.reads_input[number]
    }

    /// External memory that steps read.
    pub fn read_where_it_lies(&self) -> &[Storage] {
        &self.planned().uses.read
    }

    /// The number of elements that the steps of a run read and write.
    pub fn work(&self) -> usize {
        let slices = self.steps().iter().flat_map(|step| step.reads.iter().chain(&step.writes));
        slices.map(Slice::numel).sum()
    }

    /// Allocates the result buffers of one run.
    ///
    /// # Errors
    /// `Memory` if the system refuses it.
    pub fn allocate(&self) -> Result<Results> {
        let Planned { uses, buffers, .. } = self.planned();
        uses.results.iter().map(|&b| Storage::alloc(buffers[b as usize].nbytes)).collect()
    }

    /// The storage of a result buffer.
    ///
    /// # Panics
    /// If the buffer is no result: a bug of the caller.
    pub fn result<'a>(&self, buffer: Id, results: &'a [Storage]) -> &'a Storage {
        let at = self.results().iter().position(|&b| b == buffer).expect("a buffer of a result");
        &results[at]
    }

    /// The result buffers, in the order in which `run` takes their memory.
    pub fn results(&self) -> &[Id] {
        &self.planned().uses.results
    }

    /// The length of a buffer in bytes.
    pub fn nbytes(&self, buffer: Id) -> usize {
        self.planned().buffers[buffer as usize].nbytes
    }

    /// Runs the program. `inputs` have the dtypes and shapes of the trace; `results` is the memory of the result
    /// buffers.
    ///
    /// # Errors
    /// What a step raises.
    ///
    /// # Panics
    /// If the number of inputs or results is wrong: a bug of the caller.
    pub fn run(&self, inputs: &[Elements<'_>], results: &mut [ElementsMut<'_>]) -> Result<()> {
        let mut frame = self.frame()?;
        self.bind(&mut frame, inputs, results);
        // SAFETY: `inputs` and `results` are borrowed until the run ends.
        let done = unsafe { self.run_in(&mut frame) };
        self.give_back(frame);
        done
    }

    /// Runs the program and allocates the memory of its results.
    ///
    /// # Errors
    /// As `run`.
    pub fn compute(&self, inputs: &[Elements<'_>]) -> Result<Results> {
        let results = self.allocate()?;
        self.run(inputs, &mut places(&results))?;
        Ok(results)
    }

    /// Runs a forward or a backward program: takes the objects that the forward run left, and returns those that this
    /// run leaves.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_part(
        &self,
        inputs: &[Elements<'_>],
        results: &mut [ElementsMut<'_>],
        objects: &[Option<Object>],
    ) -> Result<Objects> {
        let mut frame = self.frame()?;
        for (own, object) in frame.objects.iter_mut().zip(objects) {
            own.clone_from(object);
        }
        self.bind(&mut frame, inputs, results);
        // SAFETY: `inputs` and `results` are borrowed until the run ends.
        let done = unsafe { self.run_in(&mut frame) };
        let objects = frame.objects.clone();
        self.give_back(frame);
        done.map(|()| objects)
    }

    /// Whether steps pass objects to later steps.
    pub fn has_objects(&self) -> bool {
        self.objects > HOST + 1
    }

    /// Frees the memory of temporaries; the next run allocates it again.
    pub fn trim(&self) {
        let frames = std::mem::take(&mut *self.frames());
        drop(frames);
    }

    /// A free frame, or a new one.
    pub(super) fn frame(&self) -> Result<Frame> {
        let kept = self.frames().pop();
        kept.map_or_else(|| self.new_frame(), Ok)
    }

    /// Returns a frame to the free list.
    pub(super) fn give_back(&self, mut frame: Frame) {
        frame.objects.fill(None);
        self.frames().push(frame);
    }

    /// Allocates a frame.
    pub(in crate::compile) fn new_frame(&self) -> Result<Frame> {
        let Planned { plan, buffers, .. } = self.planned();
        Frame::new(plan, buffers, self.objects)
    }

    /// Writes the addresses of inputs and results into a frame.
    pub(in crate::compile) fn bind(
        &self,
        frame: &mut Frame,
        inputs: &[Elements<'_>],
        results: &mut [ElementsMut<'_>],
    ) {
        assert!(inputs.len() == self.inputs);
        let places: SmallVec<[*mut u8; 8]> = results.iter_mut().map(|r| r.ptr()).collect();
        self.bind_places(frame, |number| inputs[number].ptr().cast_mut(), &places);
    }

    /// The same, for raw pointers.
    pub(super) fn bind_places(
        &self,
        frame: &mut Frame,
        input: impl Fn(usize) -> *mut u8,
        results: &[*mut u8],
    ) {
        let uses = &self.planned().uses;
        assert!(results.len() == uses.results.len());
        for &(buffer, number) in &uses.bound {
            frame.addresses[buffer as usize] = input(number);
        }
        for (&buffer, &result) in uses.results.iter().zip(results) {
            frame.addresses[buffer as usize] = result;
        }
    }

    /// Runs the steps in a bound frame.
    ///
    /// # Safety
    /// The memory of inputs and results that was bound is still alive.
    pub(in crate::compile) unsafe fn run_in(&self, frame: &mut Frame) -> Result<()> {
        let (held, states) = self.held(frame)?;
        let Planned { steps, code, .. } = self.planned();
        let done = code.iter().try_for_each(|code| {
            let addresses = &frame.addresses[..];
            // SAFETY: operands lie inside their buffers, whose addresses are in the frame; results and temporaries
            // belong to this run alone, and external memory is written as the eager function would write it.
            unsafe {
                match code {
                    Code::Arithmetic(arithmetic) => arithmetic.run(addresses),
                    Code::Row(row) => row.run(addresses),
                    Code::Rows(rows) => rows.run(addresses),
                    Code::Copied(copied) => copied.run(addresses),
                    Code::Filled(filled) => filled.run(addresses),
                    Code::Leaf(leaf) => leaf.run(addresses),
                    Code::Gathered(gathered) => gathered.run(addresses),
                    Code::Step(number) => {
                        return run_step(&steps[*number], addresses, &mut frame.objects);
                    }
                }
            }
            Ok(())
        });
        if done.is_err() {
            held.iter().for_each(Held::give_back);
            states.iter().for_each(|(host, state)| host.give_back(state));
        }
        done
    }

    /// Copies of the external memory that steps write, and the states of host callbacks, if a decision may diverge
    /// after them.
    fn held(&self, frame: &Frame) -> Result<(Vec<Held>, States)> {
        let Planned { uses, buffers, .. } = self.planned();
        if !uses.decides {
            return Ok((Vec::new(), Vec::new()));
        }
        let outside = self.written_outside().map(|storage| (storage.ptr(), storage.nbytes()));
        let given = uses.written_inputs.iter().map(|&id| id as usize);
        let given = given.map(|id| (frame.addresses[id], buffers[id].nbytes));
        // SAFETY: the memory is alive until the run ends.
        let held = outside.chain(given).map(|(at, nbytes)| unsafe { Held::of(at, nbytes) });
        Ok((held.collect::<Result<_>>()?, self.states()?))
    }

    /// The current states of the host callbacks (random generators).
    ///
    /// # Errors
    /// What the host raises.
    pub fn states(&self) -> Result<States> {
        let mut states = States::new();
        for host in &self.hosts {
            states.extend(host.hold()?.map(|state| (host.clone(), state)));
        }
        Ok(states)
    }

    /// The host callbacks that steps call, directly or inside another callback.
    pub fn hosts(&self) -> &[Arc<dyn Host>] {
        &self.hosts
    }

    fn frames(&self) -> MutexGuard<'_, Vec<Frame>> {
        self.frames.lock()
    }
}

/// Guards: external memory whose contents were baked into the program, with its version at trace time.
pub(in crate::compile) type ReadOutside = Vec<(Storage, u32)>;
/// Host callbacks with their saved states.
pub type States = Vec<(Arc<dyn Host>, Object)>;

/// The memory of the results of one run.
pub type Results = SmallVec<[Storage; 4]>;

/// Mutable views of result memory.
pub fn places(results: &[Storage]) -> SmallVec<[ElementsMut<'_>; 4]> {
    results.iter().map(ElementsMut::of).collect()
}
