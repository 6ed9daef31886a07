//! The loop kernel behind `scan` and `while_loop`: tape layout and the forward loop.
//!
//! Invariant: an iteration reads the carry that the previous iteration wrote.

use smallvec::SmallVec;

use super::run_body::{DstPtr, ResultBinding, SrcPtrs, TapeLayout, copy_unless_same, view_ptrs};
use super::run_iterations::{Iterations, LoopOperands};
use crate::array::Storage;
use crate::compile::exec::{Executable, HeldFrame};
use crate::compile::trace::ForwardBackward;
use crate::error::Result;
use crate::kernels::launch::Objects;
use crate::kernels::{View, ViewMut};
use crate::threads::signals::SignalPoller;

/// The condition of a `while_loop`.
pub struct Condition {
    /// Takes the carry and the external memory that it reads; returns one boolean.
    pub program: Executable,
}

/// What a forward loop leaves for the backward loop beside the tape.
pub struct LoopResiduals {
    /// How many iterations ran.
    pub(in crate::compile) count: usize,
    /// The objects of each iteration, if forward programs pass objects to backward programs.
    pub(in crate::compile) objects: Vec<Objects>,
    /// The tape of each iteration of a loop of unknown length.
    pub(in crate::compile) tapes: Vec<Storage>,
}

/// The parts from which a loop is built.
pub struct LoopParts {
    /// The condition of a `while_loop`; a `scan` has none and runs `length` iterations.
    pub condition: Option<Condition>,
    /// The body: its arguments are the carry and one element of each scanned tensor; its results are the next carry
    /// and one element of each stacked tensor.
    pub body: ForwardBackward,
    /// The number of external buffers that the body reads.
    pub external: usize,
    /// The number of carried values.
    pub carries: usize,
    /// The number of scanned tensors.
    pub scanned: usize,
    /// The number of iterations.
    pub length: usize,
    /// Whether iteration 0 reads the last elements of the scanned tensors.
    pub reverse: bool,
    /// Gradient checkpointing: the carry is stored every so many iterations, and the backward loop recomputes the
    /// iterations of a segment. 1 stores the residuals of every iteration instead.
    pub checkpoint_interval: usize,
    /// For each result its index among the cotangents, if it requires grad.
    pub cotangents: Vec<Option<usize>>,
    /// For each argument, then each closure: the index of its gradient among the outputs of the backward program.
    pub grads: Vec<Option<usize>>,
    /// Bytes of each argument of the body.
    pub argument_bytes: Vec<usize>,
    /// Bytes of each result.
    pub result_bytes: Vec<usize>,
    /// For each closure the initial value of its gradient sum: minus zeros, the identity element of addition.
    pub initial_sums: Vec<Vec<u8>>,
}

/// The estimated overhead of one iteration, in nanoseconds.
const ITERATION_NS: f32 = 500.0;

/// A loop over a body program.
pub struct LoopProgram {
    pub(in crate::compile) parts: LoopParts,
    /// Bytes of the tape of one iteration.
    pub(in crate::compile) iteration_tape_bytes: usize,
    /// The offsets of the residuals on the tape.
    pub(in crate::compile) residuals: Vec<usize>,
    /// The offset of each carried value on the tape, if the backward program reads it.
    pub(in crate::compile) carry_offsets: Vec<Option<usize>>,
    /// The offset of each carried value in the checkpoint of a segment; then the bytes of a checkpoint.
    pub(in crate::compile) checkpoint_offsets: Vec<usize>,
    pub(in crate::compile) checkpoint_bytes: usize,
    /// Scratch for stacked results of recomputed iterations: their offsets, then the bytes of all.
    pub(in crate::compile) scratch_offsets: Vec<usize>,
    pub(in crate::compile) forward: ResultBinding,
    pub(in crate::compile) backward: ResultBinding,
    condition_binding: Option<ResultBinding>,
}

/// Double buffers for carried values: an iteration reads one and writes the other.
pub(in crate::compile) struct CarryBuffers {
    buffers: Vec<[Storage; 2]>,
}

impl CarryBuffers {
    pub(in crate::compile) fn new(bytes: impl Iterator<Item = usize>) -> Result<CarryBuffers> {
        let pair = |bytes: usize| Ok([Storage::alloc(bytes)?, Storage::alloc(bytes)?]);
        Ok(CarryBuffers { buffers: bytes.map(pair).collect::<Result<_>>()? })
    }

    /// The buffer of a value other than the one at `current`.
    pub(in crate::compile) fn other_than(&self, value: usize, current: *const u8) -> DstPtr {
        let [a, b] = &self.buffers[value];
        if a.ptr().cast_const() == current { b.ptr() } else { a.ptr() }
    }

    pub(in crate::compile) fn of(&self, value: usize, iteration: usize) -> DstPtr {
        self.buffers[value][iteration % 2].ptr()
    }
}

impl LoopProgram {
    /// Lays out tape and checkpoints, and resolves the pointers.
    pub fn new(mut parts: LoopParts) -> LoopProgram {
        if parts.cotangents.iter().all(Option::is_none) {
            // No result requires grad: there is no backward loop.
            parts.checkpoint_interval = 1;
        }
        let LoopParts { body, carries, argument_bytes, condition, .. } = &parts;
        let mut tape = TapeLayout::default();
        let residuals: Vec<usize> =
            body.residuals.iter().map(|&id| tape.reserve(body.forward.nbytes(id))).collect();
        let mut reserve_if_read =
            |i: usize| body.backward.reads_input(i).then(|| tape.reserve(argument_bytes[i]));
        let carry_offsets = (0..*carries).map(&mut reserve_if_read).collect();
        let taped: Vec<(u32, usize)> =
            body.residuals.iter().copied().zip(residuals.iter().copied()).collect();
        let forward = ResultBinding::new(&body.forward, &taped);
        let backward = ResultBinding::new(&body.backward, &[]);
        let condition_binding =
            condition.as_ref().map(|condition| ResultBinding::new(&condition.program, &[]));
        let (mut checkpoint, mut scratch) = (TapeLayout::default(), TapeLayout::default());
        let checkpoint_offsets =
            argument_bytes[..*carries].iter().map(|&bytes| checkpoint.reserve(bytes)).collect();
        let results = &parts.result_bytes[*carries..];
        let mut scratch_offsets: Vec<usize> =
            results.iter().map(|&bytes| scratch.reserve(bytes)).collect();
        scratch_offsets.push(scratch.nbytes);
        let (iteration_tape_bytes, checkpoint_bytes) = (tape.nbytes, checkpoint.nbytes);
        LoopProgram {
            iteration_tape_bytes,
            residuals,
            carry_offsets,
            checkpoint_offsets,
            checkpoint_bytes,
            scratch_offsets,
            forward,
            backward,
            condition_binding,
            parts,
        }
    }

    /// The backward program for all cotangents.
    pub(in crate::compile) fn full(&self) -> (&Executable, &ResultBinding) {
        (&self.parts.body.backward, &self.backward)
    }

    /// The name of the kernel in explanations and graphs.
    pub fn name(&self) -> &'static str {
        if self.parts.condition.is_some() { "while_loop" } else { "scan" }
    }

    /// The estimated duration in nanoseconds; infinite for a `while_loop`.
    pub fn cost(&self) -> f32 {
        match self.parts.condition {
            Some(_) => f32::INFINITY,
            None => {
                let elements = self.parts.body.forward.work() as f32;
                self.parts.length as f32 * (ITERATION_NS + elements)
            }
        }
    }

    /// The number of carried values.
    pub fn carries(&self) -> usize {
        self.parts.carries
    }

    /// The number of run_iterations; `usize::MAX` for a `while_loop`.
    pub fn length(&self) -> usize {
        self.parts.length
    }

    /// The number of external buffers that the body reads.
    pub fn external(&self) -> usize {
        self.parts.external
    }

    /// For each argument, then for each external buffer of the body: whether the backward loop reads it. With
    /// checkpoints it reads all of them.
    pub fn read_backward(&self) -> impl Iterator<Item = bool> + '_ {
        let recomputes = self.parts.checkpoint_interval > 1;
        let read =
            self.parts.body.read_backward(self.parts.argument_bytes.len(), self.parts.external);
        read.map(move |read| read || recomputes)
    }

    /// Bytes of the tape: the residuals of all iterations, or the checkpoints of all segments.
    pub fn tape_bytes(&self) -> usize {
        match (&self.parts.condition, self.parts.checkpoint_interval) {
            (Some(_), _) => 0,
            (None, 1) => self.parts.length * self.iteration_tape_bytes,
            (None, checkpoint_interval) => {
                self.parts.length.div_ceil(checkpoint_interval) * self.checkpoint_bytes
            }
        }
    }

    /// The indices of the results that require grad.
    pub fn grad_results(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).zip(&self.parts.cotangents).filter_map(|(result, number)| number.map(|_| result))
    }

    /// Whether a target is an element of a scanned tensor.
    pub(in crate::compile) fn is_scanned(&self, target: usize) -> bool {
        (self.parts.carries..self.parts.argument_bytes.len()).contains(&target)
    }

    /// The element of the scanned and stacked tensors that iteration `k` uses.
    pub(in crate::compile) fn element(&self, k: usize) -> usize {
        if self.parts.reverse { self.parts.length - 1 - k } else { k }
    }

    /// Pointers to that element of each scanned tensor.
    pub(in crate::compile) fn scanned<'v>(
        &'v self,
        xs: &'v [View<'_>],
        element: usize,
    ) -> impl Iterator<Item = *const u8> + 'v {
        let bytes = &self.parts.argument_bytes[self.parts.carries..];
        xs.iter().zip(bytes).map(move |(x, &bytes)| x.ptr.wrapping_add(element * bytes))
    }

    /// Runs the loop. `reads` are the initial carry, the scanned tensors, and the external buffers of body and
    /// condition; `writes` are the final carry, the stacked tensors and the tape.
    ///
    /// # Errors
    /// What a step raises.
    pub fn forward(&self, reads: &[View<'_>], writes: &mut [ViewMut<'_>]) -> Result<LoopResiduals> {
        let LoopParts {
            carries, scanned, external, length, checkpoint_interval, result_bytes, ..
        } = &self.parts;
        let dsts: SmallVec<[DstPtr; 16]> = writes.iter_mut().map(|w| w.ptr).collect();
        let mut iterations = Iterations::begin(self, view_ptrs(&reads[..*carries]))?;
        let (xs, rest) = reads[*carries..].split_at(*scanned);
        let (external, condition_external) = rest.split_at(*external);
        let operands = LoopOperands { scanned: xs, external };
        let recomputes = *checkpoint_interval > 1;
        let scratch_tape =
            recomputes.then(|| Storage::alloc(self.iteration_tape_bytes)).transpose()?;
        let mut residuals = LoopResiduals { count: 0, objects: Vec::new(), tapes: Vec::new() };
        let mut signals = SignalPoller::default();
        let condition = self.parts.condition.as_ref();
        let mut held_frame = condition.map(|it| HeldFrame::begin(&it.program)).transpose()?;
        while residuals.count < *length
            && self.condition_holds(&mut held_frame, &iterations.carry, condition_external)?
        {
            let k = residuals.count;
            let element = self.element(k);
            let slot = |number: usize, bytes| dsts[result_bytes.len()].wrapping_add(number * bytes);
            let tape = match (&self.parts.condition, &scratch_tape) {
                (Some(_), _) => residuals.tape(self.iteration_tape_bytes)?,
                (None, None) => slot(element, self.iteration_tape_bytes),
                (None, Some(scratch_tape)) => {
                    if k.is_multiple_of(*checkpoint_interval) {
                        iterations
                            .store_checkpoint(slot(k / checkpoint_interval, self.checkpoint_bytes));
                    }
                    scratch_tape.ptr()
                }
            };
            let stacked = |result: usize| dsts[result].wrapping_add(element * result_bytes[result]);
            let objects = iterations.step(k, tape, operands, stacked)?;
            if self.parts.body.forward.has_objects() && scratch_tape.is_none() {
                residuals.objects.push(objects);
            }
            residuals.count += 1;
            signals.check()?;
        }
        for ((&dst, &src), &bytes) in dsts.iter().zip(&iterations.carry).zip(result_bytes) {
            // SAFETY: source and destination hold the carry; the final carry is a separate buffer.
            unsafe { copy_unless_same(src, dst, bytes) };
        }
        Ok(residuals)
    }

    /// Evaluates the condition; true without one.
    fn condition_holds(
        &self,
        held_frame: &mut Option<HeldFrame<'_>>,
        carry: &[*const u8],
        external: &[View<'_>],
    ) -> Result<bool> {
        let (Some(held_frame), Some(binding)) = (held_frame, &self.condition_binding) else {
            return Ok(true);
        };
        let inputs: SrcPtrs = carry.iter().copied().chain(view_ptrs(external)).collect();
        let mut condition_value = 0u64;
        let dst = (&raw mut condition_value).cast::<u8>();
        // SAFETY: the pointers have the dtypes and shapes of the trace and live during this call; the result is one
        // byte.
        let (outputs, _) = unsafe { binding.run(held_frame, &inputs, &[], dst, |_| dst)? };
        // SAFETY: the result is one boolean.
        Ok(unsafe { *outputs[0] } != 0)
    }
}

impl LoopResiduals {
    /// Allocates the tape of another iteration.
    fn tape(&mut self, bytes: usize) -> Result<DstPtr> {
        let tape = Storage::alloc(bytes)?;
        let start = tape.ptr();
        self.tapes.push(tape);
        Ok(start)
    }
}
