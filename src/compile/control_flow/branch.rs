//! The kernels of `switch`: run the forward or the backward program of the selected branch.
//!
//! Invariant: the backward pass takes the branch that the forward pass took.

use smallvec::SmallVec;

use super::binding::{Place, Placement, Places, Tape, settle, starts};
use super::partial_backward::Way;
use crate::compile::exec::Session;
use crate::compile::trace::Joint;
use crate::error::Result;
use crate::kernels::launch::{Object, Objects};
use crate::kernels::{View, ViewMut};

/// The parts from which a branch is built.
pub struct BranchParts {
    /// Its arguments are the operands, its results those of the switch.
    pub body: Joint,
    /// The number of external buffers that it reads.
    pub outside: usize,
    /// The cotangents of the switch that it takes.
    pub cotangents: Vec<usize>,
    /// For each closure the initial value of its gradient sum, which it takes after the cotangents.
    pub nothing: Vec<Vec<u8>>,
    /// For each output of its backward program, the index among the gradients of the switch.
    pub derived: Vec<usize>,
}

/// One branch.
pub struct Branch {
    parts: BranchParts,
    /// Bytes of its tape, and the offsets of the residuals there.
    tape_bytes: usize,
    residuals: Vec<usize>,
    forward: Placement,
    backward: Placement,
}

impl Branch {
    /// Lays out the tape and resolves the pointers.
    pub fn new(parts: BranchParts) -> Branch {
        let body = &parts.body;
        let mut tape = Tape::default();
        let residuals: Vec<usize> =
            body.residuals.iter().map(|&id| tape.add(body.forward.nbytes(id))).collect();
        let taped: Vec<(u32, usize)> =
            body.residuals.iter().copied().zip(residuals.iter().copied()).collect();
        let forward = Placement::new(&body.forward, &taped);
        let backward = Placement::new(&body.backward, &[]);
        Branch { tape_bytes: tape.nbytes, residuals, forward, backward, parts }
    }
}

/// The backward program of each branch, for one set of cotangents.
pub struct Ways(Vec<Way>);

/// The branches of a `switch` with the sizes of its operands and results.
pub struct Choice {
    /// The branches, by index.
    pub branches: Vec<Branch>,
    /// The number of operands.
    pub operands: usize,
    /// Bytes of each result.
    pub result_bytes: Vec<usize>,
    /// Bytes of each gradient.
    pub derived_bytes: Vec<usize>,
}

impl Choice {
    /// Bytes of the largest tape of a branch.
    pub fn tape_bytes(&self) -> usize {
        self.branches.iter().map(|branch| branch.tape_bytes).max().unwrap_or(0)
    }

    /// The backward programs of the branches for these cotangents of the results that require grad; `None` if one of
    /// them has no program.
    pub fn ways(&self, given: &[bool]) -> Option<Ways> {
        let of = |branch: &Branch| {
            let given: Vec<bool> = branch.parts.cotangents.iter().map(|&k| given[k]).collect();
            Way::of(&branch.parts.body, &given)
        };
        self.branches.iter().map(of).collect::<Option<_>>().map(Ways)
    }

    /// Whether some branch computes this gradient.
    pub fn gives(&self, ways: &Ways, gradient: usize) -> bool {
        let gives = |(branch, way): (&Branch, &Way)| {
            way.numbers.iter().any(|&n| branch.parts.derived[n] == gradient)
        };
        self.branches.iter().zip(&ways.0).any(gives)
    }

    /// For each operand, then for each external buffer of each branch: whether a backward program reads it.
    pub fn read_backward(&self) -> impl Iterator<Item = bool> + '_ {
        let of = |b: &Branch| -> Vec<bool> {
            b.parts.body.read_backward(self.operands, b.parts.outside).collect()
        };
        let each: Vec<Vec<bool>> = self.branches.iter().map(of).collect();
        let operands: Vec<bool> =
            (0..self.operands).map(|i| each.iter().any(|read| read[i])).collect();
        let outside = each.into_iter().flat_map(|read| read.into_iter().skip(self.operands));
        operands.into_iter().chain(outside)
    }

    /// The selected branch, and its external buffers.
    fn chosen<'v, 'a>(
        &self,
        index: &View<'_>,
        outside: &'v [View<'a>],
    ) -> (&Branch, &'v [View<'a>]) {
        // SAFETY: the index is a scalar of int64.
        let number = unsafe { index.ptr.cast::<i64>().read_unaligned() };
        let number = number.clamp(0, self.branches.len() as i64 - 1) as usize;
        let before: usize = self.branches[..number].iter().map(|branch| branch.parts.outside).sum();
        let branch = &self.branches[number];
        (branch, &outside[before..][..branch.parts.outside])
    }

    /// Runs the selected branch. `reads` are the index, the operands and the external buffers of all branches in
    /// order; `writes` are the results and the tape.
    ///
    /// # Errors
    /// What a step raises.
    pub fn forward(&self, reads: &[View<'_>], writes: &mut [ViewMut<'_>]) -> Result<Objects> {
        let places: SmallVec<[Place; 8]> = writes.iter_mut().map(|w| w.ptr).collect();
        let tape = places[self.result_bytes.len()];
        let (operands, outside) = reads[1..].split_at(self.operands);
        let (branch, outside) = self.chosen(&reads[0], outside);
        let given: Places = starts(operands).chain(starts(outside)).collect();
        let mut session = Session::begin(&branch.parts.body.forward)?;
        // SAFETY: the views have the dtypes and shapes of the trace and live during this call; the destinations are
        // separate buffers.
        let ran = unsafe { branch.forward.run(&mut session, &given, &[], tape, |k| places[k]) };
        let (found, objects) = ran?;
        for ((&from, &to), &bytes) in found.iter().zip(&places).zip(&self.result_bytes) {
            // SAFETY: source and destination are `bytes` long, in different buffers or the same pointer.
            unsafe { settle(from, to, bytes) };
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
        ways: &Ways,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        objects: &[Option<Object>],
    ) -> Result<()> {
        let places: SmallVec<[Place; 8]> = writes.iter_mut().map(|w| w.ptr).collect();
        let all: usize = self.branches.iter().map(|branch| branch.parts.outside).sum();
        let (operands, rest) = reads[1..].split_at(self.operands);
        let (outside, rest) = rest.split_at(all);
        let (tape, given) = (rest[0].ptr, &rest[1..]);
        let (branch, outside) = self.chosen(&reads[0], outside);
        for (place, &bytes) in places.iter().zip(&self.derived_bytes) {
            // SAFETY: the gradient has this many bytes; all-zero bytes are a zero of every dtype.
            unsafe { place.write_bytes(0, bytes) };
        }
        let number = self.branches.iter().position(|other| std::ptr::eq(other, branch));
        let (parts, way) = (&branch.parts, &ways.0[number.expect("a branch of ours")]);
        let whole = (&parts.body.backward, &branch.backward);
        let Some((program, placement)) = way.program(whole) else { return Ok(()) };
        let on_tape = |at: &usize| tape.wrapping_add(*at);
        let taken: Places = starts(operands)
            .chain(parts.cotangents.iter().map(|&k| given[k].ptr))
            .chain(parts.nothing.iter().map(|bits| bits.as_ptr()))
            .chain(branch.residuals.iter().map(on_tape))
            .chain(starts(outside))
            .collect();
        let gradient = |number: usize| parts.derived[way.numbers[number]];
        let own = |number: usize| places[gradient(number)];
        let (mut session, tape) = (Session::begin(program)?, tape.cast_mut());
        // SAFETY: the pointers have the dtypes and shapes of the trace and live during this call; the destinations
        // are separate buffers.
        let (found, _) = unsafe { placement.run(&mut session, &taken, objects, tape, own)? };
        for (number, &from) in found.iter().enumerate() {
            let bytes = self.derived_bytes[gradient(number)];
            // SAFETY: source and destination are `bytes` long, in different buffers or the same pointer.
            unsafe { settle(from, own(number), bytes) };
        }
        Ok(())
    }
}
