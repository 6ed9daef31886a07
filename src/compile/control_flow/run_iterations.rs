//! Runs iterations of a loop's forward program, also when the backward loop recomputes them (rematerialisation).
//!
//! Invariant: a recomputed iteration reads the same carry as the first time.

use smallvec::SmallVec;

use super::run_body::{DstPtr, SrcPtrs, copy_unless_same, view_ptrs};
use super::run_loop::{CarryBuffers, LoopProgram};
use crate::array::Storage;
use crate::compile::exec::HeldFrame;
use crate::error::Result;
use crate::kernels::View;
use crate::kernels::launch::{Object, Objects};

/// What every iteration reads beside the carry.
#[derive(Clone, Copy)]
pub(in crate::compile) struct LoopOperands<'v, 'a> {
    pub(in crate::compile) scanned: &'v [View<'a>],
    pub(in crate::compile) external: &'v [View<'a>],
}

/// Iterations that run one after the other.
pub(in crate::compile) struct Iterations<'l> {
    loop_program: &'l LoopProgram,
    held_frame: HeldFrame<'l>,
    carry_buffers: CarryBuffers,
    /// Pointers to the current carry.
    pub(in crate::compile) carry: SmallVec<[*const u8; 8]>,
}

impl<'l> Iterations<'l> {
    /// Starts with this carry.
    pub(in crate::compile) fn begin(
        loop_program: &'l LoopProgram,
        carry: impl Iterator<Item = *const u8>,
    ) -> Result<Iterations<'l>> {
        let bytes = loop_program.parts.result_bytes[..loop_program.parts.carries].iter().copied();
        let held_frame = HeldFrame::begin(&loop_program.parts.body.forward)?;
        Ok(Iterations {
            loop_program,
            held_frame,
            carry_buffers: CarryBuffers::new(bytes)?,
            carry: carry.collect(),
        })
    }

    /// Runs iteration `k`. Stores residuals, and the carry if the backward program reads it, on `tape`; writes
    /// stacked result `i` to `stacked(i)`. Returns the objects that the run left.
    pub(in crate::compile) fn step(
        &mut self,
        k: usize,
        tape: DstPtr,
        operands: LoopOperands<'_, '_>,
        stacked: impl Fn(usize) -> DstPtr,
    ) -> Result<Objects> {
        let (loop_program, carries) = (self.loop_program, self.loop_program.parts.carries);
        self.store_read_carry(tape);
        let scanned = loop_program.scanned(operands.scanned, loop_program.element(k));
        let inputs: SrcPtrs =
            self.carry.iter().copied().chain(scanned).chain(view_ptrs(operands.external)).collect();
        let carry_buffers = &self.carry_buffers;
        let result_dst = |result: usize| match result < carries {
            true => carry_buffers.of(result, k),
            false => stacked(result),
        };
        // SAFETY: the pointers have the dtypes and shapes of the trace and live during this call; the destinations
        // are separate buffers.
        let (outputs, objects) = unsafe {
            loop_program.forward.run(&mut self.held_frame, &inputs, &[], tape, result_dst)?
        };
        for (result, (&src, &bytes)) in
            outputs.iter().zip(&loop_program.parts.result_bytes).enumerate()
        {
            match self.carry.get_mut(result) {
                Some(carry) => *carry = src,
                // SAFETY: the stacked result has room for one element per iteration.
                None => unsafe { copy_unless_same(src, result_dst(result), bytes) },
            }
        }
        Ok(objects)
    }

    /// Stores the carried values that the backward program reads on the tape.
    fn store_read_carry(&self, tape: DstPtr) {
        let bytes = &self.loop_program.parts.argument_bytes;
        for ((&src, offset), &bytes) in
            self.carry.iter().zip(&self.loop_program.carry_offsets).zip(bytes)
        {
            if let Some(offset) = offset {
                // SAFETY: the tape reserves these bytes at this offset, and no other reference to it exists.
                unsafe { copy_unless_same(src, tape.wrapping_add(*offset), bytes) };
            }
        }
    }

    /// Stores the whole carry, as a checkpoint from which the segment can be recomputed.
    pub(in crate::compile) fn store_checkpoint(&self, slot: DstPtr) {
        let bytes = &self.loop_program.parts.argument_bytes;
        for ((&src, &offset), &bytes) in
            self.carry.iter().zip(&self.loop_program.checkpoint_offsets).zip(bytes)
        {
            // SAFETY: the checkpoint reserves these bytes at this offset, and no other reference to it exists.
            unsafe { copy_unless_same(src, slot.wrapping_add(offset), bytes) };
        }
    }
}

/// The recomputed tapes of one segment of iterations.
pub(in crate::compile) struct Segment<'l> {
    loop_program: &'l LoopProgram,
    /// The first iteration of the segment, once it was computed.
    first_iteration: Option<usize>,
    tapes: Storage,
    objects: Vec<Objects>,
    /// Scratch for stacked results: the real ones are already written.
    scratch: Storage,
}

impl<'l> Segment<'l> {
    pub(in crate::compile) fn new(loop_program: &'l LoopProgram) -> Result<Segment<'l>> {
        let tapes = Storage::alloc(
            loop_program.parts.checkpoint_interval.min(loop_program.parts.length)
                * loop_program.iteration_tape_bytes,
        )?;
        let scratch =
            Storage::alloc(loop_program.scratch_offsets.iter().copied().max().unwrap_or(0))?;
        Ok(Segment { loop_program, first_iteration: None, tapes, objects: Vec::new(), scratch })
    }

    /// The tape and the objects of iteration `k`. The caller asks from the last iteration to the first. `slots` holds
    /// the carry at the start of each segment.
    pub(in crate::compile) fn tape_of(
        &mut self,
        k: usize,
        slots: *const u8,
        operands: LoopOperands<'_, '_>,
    ) -> Result<(DstPtr, &[Option<Object>])> {
        let (loop_program, checkpoint_interval) =
            (self.loop_program, self.loop_program.parts.checkpoint_interval);
        let first_iteration = k - k % checkpoint_interval;
        let tape = |k: usize| {
            self.tapes.ptr().wrapping_add((k - first_iteration) * loop_program.iteration_tape_bytes)
        };
        if self.first_iteration != Some(first_iteration) {
            let slot = slots.wrapping_add(
                first_iteration / checkpoint_interval * loop_program.checkpoint_bytes,
            );
            let carry =
                loop_program.checkpoint_offsets.iter().map(|&offset| slot.wrapping_add(offset));
            let mut iterations = Iterations::begin(loop_program, carry)?;
            let scratch = |result: usize| {
                self.scratch
                    .ptr()
                    .wrapping_add(loop_program.scratch_offsets[result - loop_program.parts.carries])
            };
            self.objects.clear();
            for k in first_iteration..=k {
                self.objects.push(iterations.step(k, tape(k), operands, scratch)?);
            }
            self.first_iteration = Some(first_iteration);
        }
        Ok((tape(k), &self.objects[k - first_iteration]))
    }
}
