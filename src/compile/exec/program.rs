//! The executor: a program, its frames, and one run after another.
//!
//! Owns: `Program`, binding of inputs and results, and the walk over the steps. Never allocates anything but results
//! and, for the first run on a thread, a frame. Invariant: runs may go on side by side; each has a frame of its own.

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
use crate::kernels::launch::{HOST_OBJECT, Object, Objects};
use crate::threads::{Mutex, MutexGuard};

/// The launches of a function, to be run again.
pub struct Program {
    deferred: Deferred,
    inputs: usize,
    outputs: Vec<Output>,
    objects: usize,
    /// Memory outside, and how often tensors over it had begun or ceased to require a gradient.
    outside: Vec<(u16, Storage)>,
    read_outside: ReadOutside,
    /// The host code that steps call, or that such code calls.
    hosts: Vec<Arc<dyn Host>>,
    frames: Mutex<Vec<Frame>>,
    /// Another one for every program.
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
        let outside =
            outside.map(|storage| (storage.requires_grad_switches(), storage.clone())).collect();
        let (deferred, frames) = (Deferred::new(steps, buffers), Mutex::default());
        let number = PROGRAMS.fetch_add(1, Ordering::Relaxed);
        Program { deferred, inputs, outputs, objects, outside, read_outside, hosts, frames, number }
    }

    #[inline]
    fn planned(&self) -> &Planned {
        self.deferred.get(self.inputs, &self.outputs)
    }

    /// The steps, in the order in which they run.
    pub fn steps(&self) -> &[Step] {
        &self.planned().steps
    }

    /// The steps as texts: name, what is read, what is written.
    pub fn described(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        let texts = |slices: &[Slice]| slices.iter().map(ToString::to_string).collect();
        let steps = self.steps().iter();
        steps.map(|step| (step.name, texts(&step.reads), texts(&step.writes))).collect()
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many of the inputs are arguments of the recorded function.
    pub(super) fn arguments(&self) -> usize {
        self.inputs - self.planned().uses.taken
    }

    /// The results, in the order in which `run` gives their memory.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Bytes of the block of temporaries of one run.
    pub fn temporary_bytes(&self) -> usize {
        self.planned().plan.nbytes
    }

    /// Memory outside that the program writes to.
    pub fn written_outside(&self) -> impl Iterator<Item = &Storage> {
        self.planned().uses.written.iter()
    }

    /// The elements of memory outside that the program writes to.
    pub fn elements_written_outside(&self) -> &[(Storage, Layout, DType)] {
        &self.planned().uses.elements_written
    }

    /// Whether numbers that were read while the function was recorded have changed since, or which memory requires
    /// gradients.
    pub fn is_stale(&self) -> bool {
        self.outside.iter().any(|(switches, storage)| storage.requires_grad_switches() != *switches)
            || self.read_outside.iter().any(|(storage, version)| storage.version() != *version)
    }

    /// Whether the program reads or writes this memory where it lies.
    pub fn touches(&self, outside: &Storage) -> bool {
        self.planned().buffers.iter().any(
            |buffer| matches!(&buffer.source, Source::Outside(storage) if storage.same(outside)),
        )
    }

    /// Makes memory outside another input, which runs take after the others, and may write to; whether they do. `None`
    /// where it must be this memory: numbers were read of it, or it is a result.
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

    /// Where the memory of a buffer comes from.
    pub fn source(&self, buffer: Id) -> &Source {
        &self.planned().buffers[buffer as usize].source
    }

    /// Whether a step reads input `number`.
    pub fn reads_input(&self, number: usize) -> bool {
        self.planned().uses.reads_input[number]
    }

    /// Memory outside that steps read.
    pub fn read_where_it_lies(&self) -> &[Storage] {
        &self.planned().uses.read
    }

    /// How many elements the steps of a run read and write.
    pub fn work(&self) -> usize {
        let slices = self.steps().iter().flat_map(|step| step.reads.iter().chain(&step.writes));
        slices.map(Slice::numel).sum()
    }

    /// Memory for the results of one run: one storage for each buffer that is a result.
    ///
    /// # Errors
    /// `Memory` when the system refuses it.
    pub fn allocate(&self) -> Result<Results> {
        let Planned { uses, buffers, .. } = self.planned();
        uses.results.iter().map(|&b| Storage::alloc(buffers[b as usize].nbytes)).collect()
    }

    /// The memory of a buffer among those of a run.
    ///
    /// # Panics
    /// When the buffer is no result: a bug of the caller.
    pub fn result<'a>(&self, buffer: Id, results: &'a [Storage]) -> &'a Storage {
        let at = self.results().iter().position(|&b| b == buffer).expect("a buffer of a result");
        &results[at]
    }

    /// The buffers that are results, in the order in which `run` takes their memory.
    pub fn results(&self) -> &[Id] {
        &self.planned().uses.results
    }

    /// The length of a buffer.
    pub fn nbytes(&self, buffer: Id) -> usize {
        self.planned().buffers[buffer as usize].nbytes
    }

    /// Runs the program. `inputs` has those that were recorded, in the same dtypes and shapes; `results` the memory
    /// of each buffer that is a result.
    ///
    /// # Errors
    /// What a step raises.
    ///
    /// # Panics
    /// When the numbers of inputs or results are not the program's: a bug of the caller.
    pub fn run(&self, inputs: &[Elements<'_>], results: &mut [ElementsMut<'_>]) -> Result<()> {
        let mut frame = self.frame()?;
        self.bind(&mut frame, inputs, results);
        // SAFETY: the elements are borrowed until the run ends.
        let done = unsafe { self.run_in(&mut frame) };
        self.give_back(frame);
        done
    }

    /// Runs the program with new memory for its results.
    ///
    /// # Errors
    /// As `run`.
    pub fn compute(&self, inputs: &[Elements<'_>]) -> Result<Results> {
        let results = self.allocate()?;
        self.run(inputs, &mut places(&results))?;
        Ok(results)
    }

    /// The same for one of two programs that were recorded together: takes the objects that the first one made, and
    /// gives those that it leaves, if steps hand objects to one another.
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
        // SAFETY: the elements are borrowed until the run ends.
        let done = unsafe { self.run_in(&mut frame) };
        let objects = frame.objects.clone();
        self.give_back(frame);
        done.map(|()| objects)
    }

    /// Whether steps hand objects to one another.
    pub fn has_objects(&self) -> bool {
        self.objects > HOST_OBJECT + 1
    }

    /// Gives the memory of temporaries back; the next run takes new memory.
    pub fn trim(&self) {
        let frames = std::mem::take(&mut *self.frames());
        drop(frames);
    }

    /// A frame for runs.
    pub(super) fn frame(&self) -> Result<Frame> {
        let kept = self.frames().pop();
        kept.map_or_else(|| self.new_frame(), Ok)
    }

    /// Takes a frame back.
    pub(super) fn give_back(&self, mut frame: Frame) {
        frame.objects.fill(None);
        self.frames().push(frame);
    }

    /// Memory for runs.
    pub(in crate::compile) fn new_frame(&self) -> Result<Frame> {
        let Planned { plan, buffers, .. } = self.planned();
        Frame::new(plan, buffers, self.objects)
    }

    /// Tells a frame where inputs and results lie.
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

    /// The same, where inputs and results begin.
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

    /// Runs the program in a frame that knows where inputs and results lie.
    ///
    /// # Safety
    /// They lie there still.
    pub(in crate::compile) unsafe fn run_in(&self, frame: &mut Frame) -> Result<()> {
        let (held, states) = self.held(frame)?;
        let Planned { steps, code, .. } = self.planned();
        let done = code.iter().try_for_each(|code| {
            let addresses = &frame.addresses[..];
            // SAFETY: operands lie inside their buffers, whose addresses the frame has; results and temporaries belong to
            // this run, and memory outside is what eager code would write to as well.
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

    /// What memory outside holds that the program writes, and the states that host code changes, if the program may find
    /// that it must not run.
    fn held(&self, frame: &Frame) -> Result<(Vec<Held>, States)> {
        let Planned { uses, buffers, .. } = self.planned();
        if !uses.decides {
            return Ok((Vec::new(), Vec::new()));
        }
        let outside = self.written_outside().map(|storage| (storage.ptr(), storage.nbytes()));
        let given = uses.written_inputs.iter().map(|&id| id as usize);
        let given = given.map(|id| (frame.addresses[id], buffers[id].nbytes));
        // SAFETY: the memory is there until the run ends.
        let held = outside.chain(given).map(|(at, nbytes)| unsafe { Held::of(at, nbytes) });
        Ok((held.collect::<Result<_>>()?, self.states()?))
    }

    /// What host code changes beside its results, as it is now.
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

    /// The host code that steps call, or that such code calls.
    pub fn hosts(&self) -> &[Arc<dyn Host>] {
        &self.hosts
    }

    fn frames(&self) -> MutexGuard<'_, Vec<Frame>> {
        self.frames.lock()
    }
}

/// Memory outside that was read as numbers, with the version that it had.
pub(in crate::compile) type ReadOutside = Vec<(Storage, u32)>;
/// What host code changes besides, as it was.
pub type States = Vec<(Arc<dyn Host>, Object)>;

/// The memory of the results of one run.
pub type Results = SmallVec<[Storage; 4]>;

/// Where results lie.
pub fn places(results: &[Storage]) -> SmallVec<[ElementsMut<'_>; 4]> {
    results.iter().map(ElementsMut::of).collect()
}
