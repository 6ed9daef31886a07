//! The backward loop: runs the backward program of the body once per iteration, from the last to the first.
//!
//! Invariant: a closure's gradient is a left fold over its uses, from the last iteration to the first, which is the
//! order in which the engine adds the gradients of an unrolled loop.

use smallvec::SmallVec;

use super::backward_plan::BackwardPlan;
use super::run_body::{DstPtr, SrcPtrs, copy_unless_same, view_ptrs};
use super::run_iterations::{LoopOperands, Segment};
use super::run_loop::{CarryBuffers, LoopProgram, LoopResiduals};
use crate::array::Storage;
use crate::compile::exec::HeldFrame;
use crate::error::Result;
use crate::kernels::launch::Object;
use crate::kernels::{View, ViewMut};

/// What every iteration of the backward loop reads.
struct BackwardOperands<'v, 'a> {
    scanned: &'v [View<'a>],
    external: &'v [View<'a>],
    cotangents: &'v [View<'a>],
}

impl LoopProgram {
    /// Runs the backward program of the body once per iteration, from the last to the first. `reads` are the scanned
    /// tensors, the external buffers of the body, the tape, and the cotangents of the results that require grad;
    /// `writes` are the gradients of the plan.
    ///
    /// # Errors
    /// What a step raises.
    pub fn backward(
        &self,
        plan: &BackwardPlan,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        loop_residuals: Option<&LoopResiduals>,
    ) -> Result<()> {
        let gradient_dsts: SmallVec<[DstPtr; 16]> = writes.iter_mut().map(|w| w.ptr).collect();
        let (scanned, rest) = reads.split_at(self.parts.scanned);
        let (external, rest) = rest.split_at(self.parts.external);
        let operands = BackwardOperands { scanned, external, cotangents: &rest[1..] };
        let count = loop_residuals.map_or(self.parts.length, |loop_residuals| loop_residuals.count);
        let mut backward_loop =
            BackwardLoop::begin((self, plan), operands.cotangents, &gradient_dsts, count)?;
        let mut segment =
            if self.parts.checkpoint_interval > 1 { Some(Segment::new(self)?) } else { None };
        for k in (0..count).rev() {
            if let Some(segment) = &mut segment {
                let loop_operands = LoopOperands { scanned, external };
                let (tape, objects) = segment.tape_of(k, rest[0].ptr, loop_operands)?;
                backward_loop.step(k, tape, &operands, objects)?;
                continue;
            }
            let own_tape = loop_residuals.and_then(|loop_residuals| loop_residuals.tapes.get(k));
            let tape = match own_tape {
                Some(tape) => tape.ptr(),
                None => {
                    rest[0].ptr.cast_mut().wrapping_add(self.element(k) * self.iteration_tape_bytes)
                }
            };
            let objects = loop_residuals.and_then(|loop_residuals| loop_residuals.objects.get(k));
            backward_loop.step(k, tape, &operands, objects.map_or(&[], |objects| &objects[..]))?;
        }
        backward_loop.end();
        Ok(())
    }
}

/// The state of one run of the backward loop.
struct BackwardLoop<'l> {
    loop_program: &'l LoopProgram,
    plan: &'l BackwardPlan,
    /// A held_frame for each variant of the plan.
    sessions: SmallVec<[Option<HeldFrame<'l>>; 1]>,
    /// The variant of the next iteration.
    variant: usize,
    /// Bytes of the gradient of each target (arguments, then closures), and its destination if the loop computes it.
    gradient_bytes: Vec<usize>,
    gradient_dsts: Vec<Option<DstPtr>>,
    carry_buffers: CarryBuffers,
    /// For each target a pointer to the current gradient of the carry, or to the sum of a closure's gradients.
    current: Vec<*const u8>,
    /// Stands for a missing gradient.
    zeros: Storage,
}

impl<'l> BackwardLoop<'l> {
    fn begin(
        (loop_program, plan): (&'l LoopProgram, &'l BackwardPlan),
        cotangents: &[View<'_>],
        gradient_dsts: &[DstPtr],
        count: usize,
    ) -> Result<BackwardLoop<'l>> {
        let parts = &loop_program.parts;
        let closures = parts.initial_sums.iter().map(Vec::len);
        let gradient_bytes: Vec<usize> =
            parts.argument_bytes.iter().copied().chain(closures).collect();
        let longest = gradient_bytes.iter().copied().max().unwrap_or(0);
        let zeros = Storage::alloc(longest)?;
        // SAFETY: the buffer was allocated with this length; all-zero bytes are a zero of every dtype.
        unsafe { zeros.ptr().write_bytes(0, longest) };
        let mut current: Vec<*const u8> = vec![zeros.ptr(); gradient_bytes.len()];
        for (result, cotangent) in loop_program.grad_results().zip(cotangents) {
            // A missing cotangent is an empty view.
            if result < parts.carries && !cotangent.dims.contains(&0) {
                current[result] = cotangent.ptr;
            }
        }
        let carry_buffers = CarryBuffers::new(gradient_bytes.iter().copied())?;
        for (closure, bits) in (parts.argument_bytes.len()..).zip(&parts.initial_sums) {
            let start = carry_buffers.of(closure, count);
            // SAFETY: the buffer was allocated with this length.
            unsafe { copy_unless_same(bits.as_ptr(), start, bits.len()) };
            current[closure] = start;
        }
        let sessions = BackwardLoop::sessions(loop_program, plan)?;
        let gradient_dsts: Vec<Option<DstPtr>> = plan
            .gradient_indices
            .iter()
            .map(|index| index.map(|index| gradient_dsts[index]))
            .collect();
        clear_partial_gradients((loop_program, plan), &gradient_dsts, &gradient_bytes, count);
        Ok(BackwardLoop {
            loop_program,
            plan,
            sessions,
            variant: 0,
            gradient_bytes,
            gradient_dsts,
            carry_buffers,
            current,
            zeros,
        })
    }

    /// A held_frame for each backward program of the plan.
    fn sessions(
        loop_program: &'l LoopProgram,
        plan: &'l BackwardPlan,
    ) -> Result<SmallVec<[Option<HeldFrame<'l>>; 1]>> {
        let programs =
            plan.variants.iter().map(|variant| variant.body_backward.program(loop_program.full()));
        programs.map(|it| it.map(|(program, _)| HeldFrame::begin(program)).transpose()).collect()
    }

    /// Runs one iteration.
    fn step(
        &mut self,
        k: usize,
        tape: DstPtr,
        operands: &BackwardOperands<'_, '_>,
        objects: &[Option<Object>],
    ) -> Result<()> {
        let (loop_program, plan, element) =
            (self.loop_program, self.plan, self.loop_program.element(k));
        let arguments = loop_program.parts.argument_bytes.len();
        let inputs = self.inputs(element, tape, operands);
        let variant = &plan.variants[self.variant];
        let held_frame = self.sessions[self.variant].as_mut();
        self.variant = variant.next;
        let Some((held_frame, (_, binding))) =
            held_frame.zip(variant.body_backward.program(loop_program.full()))
        else {
            self.current[..arguments].fill(self.zeros.ptr());
            return Ok(());
        };
        let (current, carry_buffers, gradient_dsts, gradient_bytes) =
            (&self.current, &self.carry_buffers, &self.gradient_dsts, &self.gradient_bytes);
        let gradient_dst = |number: usize| match variant.targets[number] {
            target if loop_program.is_scanned(target) => {
                let start = gradient_dsts[target].expect("the plan gives what an iteration gives");
                start.wrapping_add(element * gradient_bytes[target])
            }
            target if target < arguments => carry_buffers.of(target, k),
            target => carry_buffers.other_than(target, current[target]),
        };
        // SAFETY: the pointers have the dtypes and shapes of the trace and live during this call; a null input is
        // never read.
        let (outputs, _) =
            unsafe { binding.run(held_frame, &inputs, objects, tape, gradient_dst)? };
        let mut next: SmallVec<[*const u8; 16]> = SmallVec::from_slice(current);
        next[..arguments].fill(self.zeros.ptr());
        for (number, (&src, &target)) in outputs.iter().zip(&variant.targets).enumerate() {
            if loop_program.is_scanned(target) {
                // SAFETY: the gradient has one element per iteration.
                unsafe { copy_unless_same(src, gradient_dst(number), gradient_bytes[target]) };
            } else {
                next[target] = src;
            }
        }
        self.current.copy_from_slice(&next);
        Ok(())
    }

    /// The inputs of the body's backward program: carry, elements, cotangents, gradient sums, residuals, external
    /// memory.
    fn inputs(&self, element: usize, tape: DstPtr, operands: &BackwardOperands<'_, '_>) -> SrcPtrs {
        let loop_program = self.loop_program;
        let on_tape = |offset: &usize| tape.wrapping_add(*offset).cast_const();
        let carry = loop_program
            .carry_offsets
            .iter()
            .map(|offset| offset.as_ref().map_or(std::ptr::null(), on_tape));
        let cotangents =
            loop_program.grad_results().zip(operands.cotangents).map(|(result, cotangent)| {
                match result < loop_program.parts.carries {
                    true => self.current[result],
                    false => cotangent
                        .ptr
                        .wrapping_add(element * loop_program.parts.result_bytes[result]),
                }
            });
        carry
            .chain(loop_program.scanned(operands.scanned, element))
            .chain(cotangents)
            .chain(self.current[loop_program.parts.argument_bytes.len()..].iter().copied())
            .chain(loop_program.residuals.iter().map(on_tape))
            .chain(view_ptrs(operands.external))
            .collect()
    }

    /// Copies the gradients of the initial carry and the sums of the closures to their destinations.
    fn end(&self) {
        for (target, dst) in self.gradient_dsts.iter().enumerate() {
            if let Some(dst) = dst.filter(|_| !self.loop_program.is_scanned(target)) {
                // SAFETY: source and destination are as long as the gradient, in different buffers or the same
                // pointer.
                unsafe { copy_unless_same(self.current[target], dst, self.gradient_bytes[target]) };
            }
        }
    }
}

/// Zeroes the gradients of scanned tensors of which some iteration writes no element.
fn clear_partial_gradients(
    (loop_program, plan): (&LoopProgram, &BackwardPlan),
    gradient_dsts: &[Option<DstPtr>],
    gradient_bytes: &[usize],
    count: usize,
) {
    for (target, dst) in gradient_dsts.iter().enumerate() {
        let is_partial = loop_program.is_scanned(target) && plan.may_miss(target);
        if let Some(dst) = dst.filter(|_| is_partial) {
            // SAFETY: the gradient has one element per iteration.
            unsafe { dst.write_bytes(0, gradient_bytes[target] * count) };
        }
    }
}
