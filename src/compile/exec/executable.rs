//! `Executable`: binds inputs and results, and runs the steps. A run allocates only its results, and a frame if no
//! free one is left.
//!
//! Invariant: runs may be concurrent; each has a frame of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::frame::{Frame, MemorySnapshot};
use super::lazy_plan::{ExecutionPlan, LazyPlan};
use crate::array::{Elements, ElementsMut, Layout, Storage};
use crate::compile::ir::execute::run_step;
use crate::compile::ir::lowered::LoweredStep;
use crate::compile::ir::{Buffer, BufferId, BufferView, Output, Source, Step};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::launch::HostFunction;
use crate::kernels::launch::{HOST_OBJECT, Object, Objects};
use crate::threads::{Mutex, MutexGuard};

/// A traced and optimised list of kernels, ready to run.
pub struct Executable {
    lazy_plan: LazyPlan,
    inputs: usize,
    outputs: Vec<Output>,
    objects: usize,
    /// External memory, and how often tensors over it had been switched to or from requiring grad.
    external: Vec<(u16, Storage)>,
    guards: VersionGuards,
    /// The host callbacks that steps call, directly or inside another callback.
    hosts: Vec<Arc<dyn HostFunction>>,
    frames: Mutex<Vec<Frame>>,
    /// Identifies the executable.
    pub(in crate::compile) number: usize,
}

static NEXT_NUMBER: AtomicUsize = AtomicUsize::new(0);

impl Executable {
    pub(in crate::compile) fn new(
        steps: Vec<Step>,
        buffers: Vec<Buffer>,
        inputs: usize,
        outputs: Vec<Output>,
        objects: usize,
        guards: VersionGuards,
        hosts: Vec<Arc<dyn HostFunction>>,
    ) -> Executable {
        let external = buffers.iter().filter_map(|buffer| buffer.source.external());
        let external =
            external.map(|storage| (storage.requires_grad_switches(), storage.clone())).collect();
        let (lazy_plan, frames) = (LazyPlan::new(steps, buffers), Mutex::default());
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        Executable { lazy_plan, inputs, outputs, objects, external, guards, hosts, frames, number }
    }

    #[inline]
    fn plan(&self) -> &ExecutionPlan {
        self.lazy_plan.get(self.inputs, &self.outputs)
    }

    /// The steps in the order of execution.
    pub fn steps(&self) -> &[Step] {
        &self.plan().steps
    }

    /// The steps as texts: kernel, operands read, operands written.
    pub fn describe_steps(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        let texts = |slices: &[BufferView]| slices.iter().map(ToString::to_string).collect();
        let steps = self.steps().iter();
        steps.map(|step| (step.name, texts(&step.reads), texts(&step.writes))).collect()
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many of the inputs are arguments of the traced function.
    pub(super) fn arguments(&self) -> usize {
        self.inputs - self.plan().lists.promoted
    }

    /// The outputs, in the order of the function's results.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Bytes of the block of temporaries of one run.
    pub fn temporary_bytes(&self) -> usize {
        self.plan().memory_plan.nbytes
    }

    /// External memory that steps write.
    pub fn external_written(&self) -> impl Iterator<Item = &Storage> {
        self.plan().lists.external_written.iter()
    }

    /// The slices of external memory that steps write.
    pub fn external_slices_written(&self) -> &[(Storage, Layout, DType)] {
        &self.plan().lists.external_slices_written
    }

    /// Whether a guard fails: external memory whose contents were baked in has changed, or other memory requires
    /// grad.
    pub fn is_stale(&self) -> bool {
        self.external.iter().any(|(requires_grad_switches, storage)| {
            storage.requires_grad_switches() != *requires_grad_switches
        }) || self.guards.iter().any(|(storage, version)| storage.version() != *version)
    }

    /// Whether steps access this external memory directly.
    pub fn uses_memory(&self, external: &Storage) -> bool {
        self.plan().buffers.iter().any(
            |buffer| matches!(&buffer.source, Source::External(storage) if storage.same(external)),
        )
    }

    /// Turns an external buffer into a further input, which steps may write; returns whether they do. `None` if it
    /// must stay: its contents were baked in, or it is an output.
    pub fn promote_to_input(&mut self, external: &Storage) -> Option<bool> {
        let is_it = |buffer: &Buffer| buffer.source.external().is_some_and(|s| s.same(external));
        let buffer = self.plan().buffers.iter().position(is_it)?;
        let id = buffer as BufferId;
        if self.outputs.iter().any(|output| output.buffer == id)
            || self.guards.iter().any(|(storage, _)| storage.same(external))
        {
            return None;
        }
        let number = self.inputs;
        let plan = self.lazy_plan.get_mut(number, &self.outputs);
        plan.buffers[buffer].source = Source::Input(number);
        let written = plan.lists.promote_to_input(id, number, external);
        self.external.retain(|(_, storage)| !storage.same(external));
        self.inputs += 1;
        Some(written)
    }

    /// The source of a buffer's memory.
    pub fn source(&self, buffer: BufferId) -> &Source {
        &self.plan().buffers[buffer as usize].source
    }

    /// Whether a step reads this input.
    pub fn reads_input(&self, number: usize) -> bool {
        self.plan().lists.reads_input[number]
    }

    /// External memory that steps read.
    pub fn external_read(&self) -> &[Storage] {
        &self.plan().lists.external_read
    }

    /// The number of elements that the steps of a run read and write.
    pub fn work(&self) -> usize {
        let slices = self.steps().iter().flat_map(|step| step.reads.iter().chain(&step.writes));
        slices.map(BufferView::numel).sum()
    }

    /// Allocates the result buffers of one run.
    ///
    /// # Errors
    /// `Memory` if the system refuses it.
    pub fn allocate(&self) -> Result<ResultMemory> {
        let ExecutionPlan { lists, buffers, .. } = self.plan();
        lists.result_buffers.iter().map(|&b| Storage::alloc(buffers[b as usize].nbytes)).collect()
    }

    /// The storage of a result buffer.
    ///
    /// # Panics
    /// If the buffer is no result: a bug of the caller.
    pub fn result<'a>(&self, buffer: BufferId, results: &'a [Storage]) -> &'a Storage {
        let index = self.results().iter().position(|&b| b == buffer).expect("a buffer of a result");
        &results[index]
    }

    /// The result buffers, in the order in which `run` takes their memory.
    pub fn results(&self) -> &[BufferId] {
        &self.plan().lists.result_buffers
    }

    /// The length of a buffer in bytes.
    pub fn nbytes(&self, buffer: BufferId) -> usize {
        self.plan().buffers[buffer as usize].nbytes
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
        let mut frame = self.acquire_frame()?;
        self.bind(&mut frame, inputs, results);
        // SAFETY: `inputs` and `results` are borrowed until the run ends.
        let result = unsafe { self.run_in(&mut frame) };
        self.release_frame(frame);
        result
    }

    /// Runs the program and allocates the memory of its results.
    ///
    /// # Errors
    /// As `run`.
    pub fn compute(&self, inputs: &[Elements<'_>]) -> Result<ResultMemory> {
        let results = self.allocate()?;
        self.run(inputs, &mut elements_mut(&results))?;
        Ok(results)
    }

    /// Runs a forward or a backward program: takes the objects that the forward run left, and returns those that this
    /// run leaves.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_with_objects(
        &self,
        inputs: &[Elements<'_>],
        results: &mut [ElementsMut<'_>],
        objects: &[Option<Object>],
    ) -> Result<Objects> {
        let mut frame = self.acquire_frame()?;
        for (slot, object) in frame.objects.iter_mut().zip(objects) {
            slot.clone_from(object);
        }
        self.bind(&mut frame, inputs, results);
        // SAFETY: `inputs` and `results` are borrowed until the run ends.
        let result = unsafe { self.run_in(&mut frame) };
        let objects = frame.objects.clone();
        self.release_frame(frame);
        result.map(|()| objects)
    }

    /// Whether steps pass objects to later steps.
    pub fn has_objects(&self) -> bool {
        self.objects > HOST_OBJECT + 1
    }

    /// Frees the memory of temporaries; the next run allocates it again.
    pub fn trim(&self) {
        let frames = std::mem::take(&mut *self.frames());
        drop(frames);
    }

    /// A free frame, or a new one.
    pub(super) fn acquire_frame(&self) -> Result<Frame> {
        let free = self.frames().pop();
        free.map_or_else(|| self.new_frame(), Ok)
    }

    /// Returns a frame to the free list.
    pub(super) fn release_frame(&self, mut frame: Frame) {
        frame.objects.fill(None);
        self.frames().push(frame);
    }

    /// Allocates a frame.
    pub(in crate::compile) fn new_frame(&self) -> Result<Frame> {
        let ExecutionPlan { memory_plan, buffers, .. } = self.plan();
        Frame::new(memory_plan, buffers, self.objects)
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
        let lists = &self.plan().lists;
        assert!(results.len() == lists.result_buffers.len());
        for &(buffer, number) in &lists.input_buffers {
            frame.addresses[buffer as usize] = input(number);
        }
        for (&buffer, &result) in lists.result_buffers.iter().zip(results) {
            frame.addresses[buffer as usize] = result;
        }
    }

    /// Runs the steps in a bound frame.
    ///
    /// # Safety
    /// The memory of inputs and results that was bound is still alive.
    pub(in crate::compile) unsafe fn run_in(&self, frame: &mut Frame) -> Result<()> {
        let (snapshots, host_states) = self.snapshot(frame)?;
        let ExecutionPlan { steps, lowered, .. } = self.plan();
        let result = lowered.iter().try_for_each(|lowered| {
            let addresses = &frame.addresses[..];
            // SAFETY: operands lie inside their buffers, whose addresses are in the frame; results and temporaries
            // belong to this run alone, and external memory is written as the eager function would write it.
            unsafe {
                match lowered {
                    LoweredStep::ScalarArithmetic(arithmetic) => arithmetic.run(addresses),
                    LoweredStep::RowLoop(row) => row.run(addresses),
                    LoweredStep::RowsLoop(rows) => rows.run(addresses),
                    LoweredStep::CopyRows(copied) => copied.run(addresses),
                    LoweredStep::FillRow(filled) => filled.run(addresses),
                    LoweredStep::BlockReduction(leaf) => leaf.run(addresses),
                    LoweredStep::GatheredLoop(gathered) => gathered.run(addresses),
                    LoweredStep::Unlowered(number) => {
                        return run_step(&steps[*number], addresses, &mut frame.objects);
                    }
                }
            }
            Ok(())
        });
        if result.is_err() {
            snapshots.iter().for_each(MemorySnapshot::restore);
            host_states.iter().for_each(|(host, state)| host.restore_state(state));
        }
        result
    }

    /// Copies of the external memory that steps write, and the states of host callbacks, if a decision may diverge
    /// after them.
    fn snapshot(&self, frame: &Frame) -> Result<(Vec<MemorySnapshot>, HostStates)> {
        let ExecutionPlan { lists, buffers, .. } = self.plan();
        if !lists.may_diverge_late {
            return Ok((Vec::new(), Vec::new()));
        }
        let external = self.external_written().map(|storage| (storage.ptr(), storage.nbytes()));
        let written_inputs = lists.written_inputs.iter().map(|&id| id as usize);
        let written_inputs = written_inputs.map(|id| (frame.addresses[id], buffers[id].nbytes));
        // SAFETY: the memory is alive until the run ends.
        let snapshots = external
            .chain(written_inputs)
            .map(|(address, nbytes)| unsafe { MemorySnapshot::take(address, nbytes) });
        Ok((snapshots.collect::<Result<_>>()?, self.host_states()?))
    }

    /// The current states of the host callbacks (random generators).
    ///
    /// # Errors
    /// What the host raises.
    pub fn host_states(&self) -> Result<HostStates> {
        let mut host_states = HostStates::new();
        for host in &self.hosts {
            host_states.extend(host.save_state()?.map(|state| (host.clone(), state)));
        }
        Ok(host_states)
    }

    /// The host callbacks that steps call, directly or inside another callback.
    pub fn hosts(&self) -> &[Arc<dyn HostFunction>] {
        &self.hosts
    }

    fn frames(&self) -> MutexGuard<'_, Vec<Frame>> {
        self.frames.lock()
    }
}

/// Guards: external memory whose contents were baked into the program, with its version at trace time.
pub(in crate::compile) type VersionGuards = Vec<(Storage, u32)>;
/// Host callbacks with their saved states.
pub type HostStates = Vec<(Arc<dyn HostFunction>, Object)>;

/// The memory of the results of one run.
pub type ResultMemory = SmallVec<[Storage; 4]>;

/// Mutable views of result memory.
pub fn elements_mut(results: &[Storage]) -> SmallVec<[ElementsMut<'_>; 4]> {
    results.iter().map(ElementsMut::of).collect()
}
