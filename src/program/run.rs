//! The executor: a program, its frames, and one run after another.
//!
//! Owns: `Program`, binding of inputs and results, and the walk over the steps. Never allocates anything but results
//! and, for the first run on a thread, a frame. Invariant: runs may go on side by side; each has a frame of its own.

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::frame::Frame;
use super::plan::{self, Plan};
use super::step::{Action, Argument, Buffer, Id, Map, Output, Slice, Source, Step};
use super::{chain, copies};
use crate::array::{Elements, Storage};
use crate::error::Result;
use crate::kernels::elementwise::{self, MAX_OPERANDS, Operand, OutOperand};
use crate::kernels::host::Host;
use crate::kernels::launch::{Object, Objects};
use crate::kernels::{View, ViewMut};

/// The launches of a function, to be run again.
pub struct Program {
    steps: Vec<Step>,
    buffers: Vec<Buffer>,
    inputs: usize,
    outputs: Vec<Output>,
    objects: usize,
    /// The buffers that are inputs, and their numbers among the inputs.
    bound: Vec<(Id, usize)>,
    /// The buffers that each run allocates for its results.
    results: Vec<Id>,
    read_outside: ReadOutside,
    /// Memory outside that steps write.
    written: Vec<Storage>,
    /// Whether a step may find that the recorded function would have decided otherwise.
    decides: bool,
    /// The host code that steps call, or that such code calls.
    hosts: Vec<Arc<dyn Host>>,
    plan: Plan,
    frames: Mutex<Vec<Frame>>,
}

impl Program {
    pub(super) fn new(
        mut steps: Vec<Step>,
        buffers: Vec<Buffer>,
        inputs: usize,
        outputs: Vec<Output>,
        objects: usize,
        read_outside: ReadOutside,
        hosts: Vec<Arc<dyn Host>>,
    ) -> Program {
        if plan::pass_is_on("dead") {
            plan::remove_dead(&mut steps, &buffers, &outputs);
        }
        if plan::pass_is_on("copy") {
            copies::remove(&mut steps, &buffers);
        }
        if plan::pass_is_on("chain") {
            steps = chain::join(steps, &buffers);
        }
        let plan = plan::place(&steps, &buffers);
        let numbered = || (0..).zip(&buffers);
        let input = |(id, buffer): (Id, &Buffer)| match buffer.source {
            Source::Input(number) => Some((id, number)),
            _ => None,
        };
        let is_result = |(_, buffer): &(Id, &Buffer)| matches!(buffer.source, Source::Output);
        let bound = numbered().filter_map(input).collect();
        let results = numbered().filter(is_result).map(|(id, _)| id).collect();
        let writes = |id| steps.iter().flat_map(|step| &step.writes).any(|w| w.buffer == id);
        let outside = |(id, buffer): (Id, &Buffer)| match &buffer.source {
            Source::Outside(storage) if writes(id) => Some(storage.clone()),
            _ => None,
        };
        let written = numbered().filter_map(outside).collect();
        let decides = steps.iter().any(|step| matches!(step.action, Action::Decision(_)));
        Program {
            steps,
            buffers,
            inputs,
            outputs,
            objects,
            bound,
            results,
            read_outside,
            written,
            decides,
            hosts,
            plan,
            frames: Mutex::default(),
        }
    }

    /// The steps, in the order in which they run.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The steps as texts: name, what is read, what is written.
    pub fn described(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        let texts = |slices: &[Slice]| slices.iter().map(ToString::to_string).collect();
        let steps = self.steps.iter();
        steps.map(|step| (step.name, texts(&step.reads), texts(&step.writes))).collect()
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The results, in the order in which `run` gives their memory.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Bytes of the block of temporaries of one run.
    pub fn temporary_bytes(&self) -> usize {
        self.plan.nbytes
    }

    /// Memory outside that the program writes to.
    pub fn written_outside(&self) -> impl Iterator<Item = &Storage> {
        self.written.iter()
    }

    /// Whether numbers that were read while the function was recorded have changed since.
    pub fn is_stale(&self) -> bool {
        self.read_outside.iter().any(|(storage, version)| storage.version() != *version)
    }

    /// Whether the program reads or writes this memory where it lies.
    pub fn touches(&self, outside: &Storage) -> bool {
        self.buffers.iter().any(
            |buffer| matches!(&buffer.source, Source::Outside(storage) if storage.same(outside)),
        )
    }

    /// Where the memory of a buffer comes from.
    pub fn source(&self, buffer: Id) -> &Source {
        &self.buffers[buffer as usize].source
    }

    /// Whether a step reads input `number`.
    pub fn reads_input(&self, number: usize) -> bool {
        let bound = self.bound.iter().filter(|(_, n)| *n == number);
        bound
            .clone()
            .any(|(id, _)| self.steps.iter().flat_map(|s| &s.reads).any(|r| r.buffer == *id))
    }

    /// Memory outside that steps read.
    pub fn read_where_it_lies(&self) -> impl Iterator<Item = &Storage> {
        let read = |id| self.steps.iter().flat_map(|step| &step.reads).any(|r| r.buffer == id);
        (0..).zip(&self.buffers).filter_map(move |(id, buffer)| match &buffer.source {
            Source::Outside(storage) if read(id) => Some(storage),
            _ => None,
        })
    }

    /// Memory for the results of one run: one storage for each buffer that is a result.
    ///
    /// # Errors
    /// `Memory` when the system refuses it.
    pub fn allocate(&self) -> Result<Results> {
        self.results.iter().map(|&b| Storage::alloc(self.buffers[b as usize].nbytes)).collect()
    }

    /// The memory of a buffer among those of a run.
    ///
    /// # Panics
    /// When the buffer is no result: a bug of the caller.
    pub fn result<'a>(&self, buffer: Id, results: &'a [Storage]) -> &'a Storage {
        let at = self.results.iter().position(|&b| b == buffer).expect("a buffer of a result");
        &results[at]
    }

    /// Runs the program. `inputs` has those that were recorded, in the same dtypes and shapes; `results` the memory
    /// that `allocate` gave.
    ///
    /// # Errors
    /// What a step raises.
    ///
    /// # Panics
    /// When the numbers of inputs or results are not the program's: a bug of the caller.
    pub fn run(&self, inputs: &[Elements<'_>], results: &[Storage]) -> Result<()> {
        let mut frame = self.frame()?;
        let done = self.run_in(&mut frame, inputs, results);
        frame.objects.fill(None);
        self.frames().push(frame);
        done
    }

    /// The same for one of two programs that were recorded together: takes the objects that the first one made, and
    /// gives those that it leaves.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_part(
        &self,
        inputs: &[Elements<'_>],
        results: &[Storage],
        objects: &[Option<Object>],
    ) -> Result<Objects> {
        let mut frame = self.frame()?;
        for (own, object) in frame.objects.iter_mut().zip(objects) {
            own.clone_from(object);
        }
        let done = self.run_in(&mut frame, inputs, results);
        let objects = frame.objects.clone();
        frame.objects.fill(None);
        self.frames().push(frame);
        done.map(|()| objects)
    }

    fn frame(&self) -> Result<Frame> {
        match self.frames().pop() {
            Some(frame) => Ok(frame),
            None => Frame::new(&self.plan, &self.buffers, self.objects),
        }
    }

    #[inline]
    fn run_in(
        &self,
        frame: &mut Frame,
        inputs: &[Elements<'_>],
        results: &[Storage],
    ) -> Result<()> {
        assert!(inputs.len() == self.inputs && results.len() == self.results.len());
        for &(buffer, number) in &self.bound {
            frame.addresses[buffer as usize] = inputs[number].ptr().cast_mut();
        }
        for (&buffer, storage) in self.results.iter().zip(results) {
            frame.addresses[buffer as usize] = storage.ptr();
        }
        let (held, states) = self.held()?;
        let done = self.steps.iter().try_for_each(|step| run_step(step, frame));
        if done.is_err() {
            held.iter().for_each(|(storage, held)| storage.overwrite(held));
            states.iter().for_each(|(host, state)| host.give_back(state));
        }
        done
    }

    /// What memory outside holds that the program writes, and the states that host code changes, if the program may find
    /// that it must not run.
    fn held(&self) -> Result<(Vec<(&Storage, Storage)>, States)> {
        if !self.decides {
            return Ok((Vec::new(), Vec::new()));
        }
        let copy = |storage| Ok((storage, Storage::copy(storage)?));
        Ok((self.written_outside().map(copy).collect::<Result<_>>()?, self.states()?))
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

    fn frames(&self) -> std::sync::MutexGuard<'_, Vec<Frame>> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory outside that was read as numbers, with the version that it had.
pub(super) type ReadOutside = Vec<(Storage, u32)>;
/// What host code changes besides, as it was.
pub type States = Vec<(Arc<dyn Host>, Object)>;

/// The memory of the results of one run.
pub type Results = SmallVec<[Storage; 4]>;

#[inline]
fn run_step(step: &Step, frame: &mut Frame) -> Result<()> {
    match &step.action {
        // SAFETY: operands lie inside their buffers, whose addresses the frame has.
        Action::Map(map) => unsafe { run_map(map, &frame.addresses) },
        // SAFETY: as above.
        Action::Chain(chain) => unsafe { chain.run(&frame.addresses) },
        Action::Sequence(steps) => return steps.iter().try_for_each(|step| run_step(step, frame)),
        Action::Kernel(run) | Action::Decision(run) => {
            let addresses = &frame.addresses;
            let reads: SmallVec<[View<'_>; 4]> =
                step.reads.iter().map(|slice| view(slice, addresses)).collect();
            let mut writes: SmallVec<[ViewMut<'_>; 3]> =
                step.writes.iter().map(|slice| view_mut(slice, addresses)).collect();
            return run(&reads, &mut writes, &mut frame.objects);
        }
        Action::Foreign(host) => return run_host(step, host.as_ref(), frame),
    }
    Ok(())
}

#[inline(never)]
fn run_host(step: &Step, host: &dyn Host, frame: &mut Frame) -> Result<()> {
    let addresses = &frame.addresses;
    let reads: Vec<View<'_>> = step.reads.iter().map(|slice| view(slice, addresses)).collect();
    let writes = step.writes.iter().map(|slice| view_mut(slice, addresses));
    host.run(&reads, &mut writes.collect::<Vec<_>>(), &mut frame.objects)
}

#[inline(always)]
fn address(slice: &Slice, addresses: &[*mut u8]) -> *mut u8 {
    addresses[slice.buffer as usize].wrapping_offset(slice.offset)
}

fn view<'a>(slice: &'a Slice, addresses: &[*mut u8]) -> View<'a> {
    // SAFETY: the slice lies inside its buffer.
    unsafe { View::from_raw(slice.dtype, address(slice, addresses), &slice.dims, &slice.strides) }
}

fn view_mut<'a>(slice: &'a Slice, addresses: &[*mut u8]) -> ViewMut<'a> {
    // SAFETY: the slice lies inside its buffer, which belongs to this run, or which eager code would write to as well.
    unsafe {
        ViewMut::from_raw(slice.dtype, address(slice, addresses), &slice.dims, &slice.strides)
    }
}

/// Above this many elements the driver's splitting and padding are worth their cost.
const FEW: usize = 256;

/// # Safety
/// The operands lie inside their buffers, which have these addresses.
#[inline]
unsafe fn run_map(map: &Map, addresses: &[*mut u8]) {
    let mut ptrs = [std::ptr::null::<u8>(); MAX_OPERANDS];
    for (argument, ptr) in map.ins.iter().zip(&mut ptrs) {
        *ptr = match argument {
            Argument::Slice(slice) => address(slice, addresses),
            Argument::Number(bits) => (&raw const *bits).cast(),
        };
    }
    let out = address(&map.out, addresses);
    match map.flat {
        Some(0) => {}
        // SAFETY: everything is contiguous and holds `n` elements.
        Some(n) if n <= FEW => unsafe { (map.table)(ptrs.as_ptr(), out, n, map.params.as_ptr()) },
        // SAFETY: the caller's contract.
        _ => unsafe { run_strided(map, &ptrs, out) },
    }
}

const ZERO_STRIDES: [isize; 64] = [0; 64];

/// # Safety
/// As `run_map`.
#[inline(never)]
unsafe fn run_strided(map: &Map, ptrs: &[*const u8; MAX_OPERANDS], out: *mut u8) {
    let dims = &map.out.dims;
    let size = map.ins.iter().find_map(|argument| match argument {
        Argument::Slice(slice) => Some(slice.dtype.size()),
        Argument::Number(_) => None,
    });
    let size = size.unwrap_or(map.out.dtype.size());
    let mut operands: SmallVec<[Operand<'_>; 5]> = SmallVec::new();
    for (argument, &ptr) in map.ins.iter().zip(ptrs) {
        operands.push(match argument {
            Argument::Slice(slice) => {
                debug_assert_eq!(slice.dims, *dims, "operands of one shape");
                Operand { ptr, strides: &slice.strides, itemsize: slice.dtype.size() }
            }
            Argument::Number(_) => {
                Operand { ptr, strides: &ZERO_STRIDES[..dims.len()], itemsize: size }
            }
        });
    }
    let target = OutOperand { ptr: out, strides: &map.out.strides, itemsize: map.out.dtype.size() };
    // SAFETY: the caller's contract; the operands have the result's dims.
    unsafe { elementwise::run(map.table, &operands, target, dims, &map.params, map.cost) }
}
