//! The kernels of `switch`: run the forward or the backward program of the selected branch.
//!
//! Invariant: the backward pass takes the branch that the forward pass took.

use smallvec::SmallVec;

use super::body_backward::BodyBackward;
use super::run_body::{DstPtr, ResultBinding, SrcPtrs, TapeLayout, copy_unless_same, view_ptrs};
use crate::compile::exec::HeldFrame;
use crate::compile::trace::ForwardBackward;
use crate::error::Result;
use crate::kernels::launch::{Object, Objects};
use crate::kernels::{View, ViewMut};

/// The parts from which a branch is built.
pub struct BranchParts {
    /// Its arguments are the operands, its results those of the switch.
    pub body: ForwardBackward,
    /// The number of external buffers that it reads.
    pub external: usize,
    /// The cotangents of the switch that it takes.
    pub cotangents: Vec<usize>,
    /// For each closure the initial value of its gradient sum, which it takes after the cotangents.
    pub initial_sums: Vec<Vec<u8>>,
    /// For each output of its backward program, the index among the gradients of the switch.
    pub gradients: Vec<usize>,
}

/// One branch.
pub struct Branch {
    parts: BranchParts,
    /// Bytes of its tape, and the offsets of the residuals there.
    tape_bytes: usize,
    residuals: Vec<usize>,
    forward: ResultBinding,
    backward: ResultBinding,
}

impl Branch {
    /// Lays out the tape and resolves the pointers.
    pub fn new(parts: BranchParts) -> Branch {
        let body = &parts.body;
        let mut tape = TapeLayout::default();
        let residuals: Vec<usize> =
            body.residuals.iter().map(|&id| tape.reserve(body.forward.nbytes(id))).collect();
        let taped: Vec<(u32, usize)> =
            body.residuals.iter().copied().zip(residuals.iter().copied()).collect();
        let forward = ResultBinding::new(&body.forward, &taped);
        let backward = ResultBinding::new(&body.backward, &[]);
        Branch { tape_bytes: tape.nbytes, residuals, forward, backward, parts }
    }
}

/// The backward program of each branch, for one set of cotangents.
pub struct BranchBackwards(Vec<BodyBackward>);

/// The branches of a `switch` with the sizes of its operands and results.
pub struct BranchSet {
    /// The branches, by index.
    pub branches: Vec<Branch>,
    /// The number of operands.
    pub operands: usize,
    /// Bytes of each result.
    pub result_bytes: Vec<usize>,
    /// Bytes of each gradient.
    pub gradient_bytes: Vec<usize>,
}

impl BranchSet {
    /// Bytes of the largest tape of a branch.
    pub fn tape_bytes(&self) -> usize {
        self.branches.iter().map(|branch| branch.tape_bytes).max().unwrap_or(0)
    }

    /// The backward programs of the branches for these cotangents of the results that require grad; `None` if one of
    /// them has no program.
    pub fn backwards(&self, present: &[bool]) -> Option<BranchBackwards> {
        let of = |branch: &Branch| {
            let present: Vec<bool> = branch.parts.cotangents.iter().map(|&k| present[k]).collect();
            BodyBackward::of(&branch.parts.body, &present)
        };
        self.branches.iter().map(of).collect::<Option<_>>().map(BranchBackwards)
    }

    /// Whether some branch computes this gradient.
    pub fn computes(&self, backwards: &BranchBackwards, gradient: usize) -> bool {
        let computes = |(branch, body_backward): (&Branch, &BodyBackward)| {
            body_backward.results.iter().any(|&n| branch.parts.gradients[n] == gradient)
        };
        self.branches.iter().zip(&backwards.0).any(computes)
    }

    /// For each operand, then for each external buffer of each branch: whether a backward program reads it.
    pub fn read_backward(&self) -> impl Iterator<Item = bool> + '_ {
        let of = |b: &Branch| -> Vec<bool> {
            b.parts.body.read_backward(self.operands, b.parts.external).collect()
        };
        let each: Vec<Vec<bool>> = self.branches.iter().map(of).collect();
        let operands: Vec<bool> =
            (0..self.operands).map(|i| each.iter().any(|read| read[i])).collect();
        let external = each.into_iter().flat_map(|read| read.into_iter().skip(self.operands));
        operands.into_iter().chain(external)
    }

    /// The selected branch, and its external buffers.
    fn select<'v, 'a>(
        &self,
        index: &View<'_>,
        external: &'v [View<'a>],
    ) -> (&Branch, &'v [View<'a>]) {
        // SAFETY: the index is a scalar of int64.
        let number = unsafe { index.ptr.cast::<i64>().read_unaligned() };
        let number = number.clamp(0, self.branches.len() as i64 - 1) as usize;
        let skipped: usize =
            self.branches[..number].iter().map(|branch| branch.parts.external).sum();
        let branch = &self.branches[number];
        (branch, &external[skipped..][..branch.parts.external])
    }

    /// Runs the selected branch. `reads` are the index, the operands and the external buffers of all branches in
    /// order; `writes` are the results and the tape.
    ///
    /// # Errors
    /// What a step raises.
    pub fn forward(&self, reads: &[View<'_>], writes: &mut [ViewMut<'_>]) -> Result<Objects> {
        let dsts: SmallVec<[DstPtr; 8]> = writes.iter_mut().map(|w| w.ptr).collect();
        let tape = dsts[self.result_bytes.len()];
        let (operands, external) = reads[1..].split_at(self.operands);
        let (branch, external) = self.select(&reads[0], external);
        let inputs: SrcPtrs = view_ptrs(operands).chain(view_ptrs(external)).collect();
        let mut held_frame = HeldFrame::begin(&branch.parts.body.forward)?;
        // SAFETY: the views have the dtypes and shapes of the trace and live during this call; the destinations are
        // separate buffers.
        let outcome =
            unsafe { branch.forward.run(&mut held_frame, &inputs, &[], tape, |k| dsts[k]) };
        let (outputs, objects) = outcome?;
        for ((&src, &dst), &bytes) in outputs.iter().zip(&dsts).zip(&self.result_bytes) {
            // SAFETY: source and destination are `bytes` long, in different buffers or the same pointer.
            unsafe { copy_unless_same(src, dst, bytes) };
        }
        Ok(objects)
    }

    /// Runs the backward program of the selected branch. `reads` are those of `forward`, then the tape and the
    /// cotangents; `writes` are the gradients, zero where the branch computes none.
    ///
    /// # Errors
    /// What a step raises.
    pub fn backward(
        &self,
        backwards: &BranchBackwards,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        objects: &[Option<Object>],
    ) -> Result<()> {
        let dsts: SmallVec<[DstPtr; 8]> = writes.iter_mut().map(|w| w.ptr).collect();
        let external_count: usize = self.branches.iter().map(|branch| branch.parts.external).sum();
        let (operands, rest) = reads[1..].split_at(self.operands);
        let (external, rest) = rest.split_at(external_count);
        let (tape, cotangents) = (rest[0].ptr, &rest[1..]);
        let (branch, external) = self.select(&reads[0], external);
        for (dst, &bytes) in dsts.iter().zip(&self.gradient_bytes) {
            // SAFETY: the gradient has this many bytes; all-zero bytes are a zero of every dtype.
            unsafe { dst.write_bytes(0, bytes) };
        }
        let number = self.branches.iter().position(|other| std::ptr::eq(other, branch));
        let (parts, body_backward) =
            (&branch.parts, &backwards.0[number.expect("a branch of ours")]);
        let full = (&parts.body.backward, &branch.backward);
        let Some((program, binding)) = body_backward.program(full) else { return Ok(()) };
        let on_tape = |offset: &usize| tape.wrapping_add(*offset);
        let inputs: SrcPtrs = view_ptrs(operands)
            .chain(parts.cotangents.iter().map(|&k| cotangents[k].ptr))
            .chain(parts.initial_sums.iter().map(|bits| bits.as_ptr()))
            .chain(branch.residuals.iter().map(on_tape))
            .chain(view_ptrs(external))
            .collect();
        let gradient = |number: usize| parts.gradients[body_backward.results[number]];
        let gradient_dst = |number: usize| dsts[gradient(number)];
        let (mut held_frame, tape) = (HeldFrame::begin(program)?, tape.cast_mut());
        // SAFETY: the pointers have the dtypes and shapes of the trace and live during this call; the destinations
        // are separate buffers.
        let (outputs, _) =
            unsafe { binding.run(&mut held_frame, &inputs, objects, tape, gradient_dst)? };
        for (number, &src) in outputs.iter().enumerate() {
            let bytes = self.gradient_bytes[gradient(number)];
            // SAFETY: source and destination are `bytes` long, in different buffers or the same pointer.
            unsafe { copy_unless_same(src, gradient_dst(number), bytes) };
        }
        Ok(())
    }
}
