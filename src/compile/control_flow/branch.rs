//! A choice: the programs of several branches, of which one runs.
//!
//! Owns: where the values of the branch that runs lie, and what it leaves for its backward program (the tape). Never knows
//! how a branch was recorded. Invariant: the backward pass takes the branch that the forward pass took.

use smallvec::SmallVec;

use super::binding::{Place, Placement, Places, Tape, settle, starts};
use super::partial_backward::Way;
use crate::compile::exec::Session;
use crate::compile::trace::Joint;
use crate::error::Result;
use crate::kernels::launch::{Object, Objects};
use crate::kernels::{View, ViewMut};

/// What a branch is made of.
pub struct BranchParts {
    /// Its arguments are the operands, its results those of the choice.
    pub body: Joint,
    /// How many buffers it reads outside.
    pub outside: usize,
    /// Which cotangents of the choice it takes.
    pub cotangents: Vec<usize>,
    /// For each cotangent that it takes after those: the first gradient of a closure, to which it adds.
    pub nothing: Vec<Vec<u8>>,
    /// For each result of its backward program, the number of the gradient among those of the choice.
    pub derived: Vec<usize>,
}

/// One branch.
pub struct Branch {
    parts: BranchParts,
    /// Bytes of what it leaves, and where residuals lie there.
    tape_bytes: usize,
    residuals: Vec<usize>,
    forward: Placement,
    backward: Placement,
}

impl Branch {
    /// Finds out where everything lies.
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

/// How gradients go through the branches.
pub struct Ways(Vec<Way>);

/// Several branches.
pub struct Choice {
    /// The branches by their number.
    pub branches: Vec<Branch>,
    /// How many operands there are.
    pub operands: usize,
    /// Bytes of each result.
    pub result_bytes: Vec<usize>,
    /// Bytes of each gradient.
    pub derived_bytes: Vec<usize>,
}

impl Choice {
    /// Bytes of the tape of any branch.
    pub fn tape_bytes(&self) -> usize {
        self.branches.iter().map(|branch| branch.tape_bytes).max().unwrap_or(0)
    }

    /// The ways through the branches where those results with a history have a gradient that `given` says; none where there
    /// is no program for them.
    pub fn ways(&self, given: &[bool]) -> Option<Ways> {
        let of = |branch: &Branch| {
            let given: Vec<bool> = branch.parts.cotangents.iter().map(|&k| given[k]).collect();
            Way::of(&branch.parts.body, &given)
        };
        self.branches.iter().map(of).collect::<Option<_>>().map(Ways)
    }

    /// Whether some branch gives this one of the gradients.
    pub fn gives(&self, ways: &Ways, gradient: usize) -> bool {
        let gives = |(branch, way): (&Branch, &Way)| {
            way.numbers.iter().any(|&n| branch.parts.derived[n] == gradient)
        };
        self.branches.iter().zip(&ways.0).any(gives)
    }

    /// For each operand, then for each buffer that a branch reads outside, whether a backward program reads it.
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

    /// The branch of this index, and what it reads among the buffers outside.
    fn chosen<'v, 'a>(
        &self,
        index: &View<'_>,
        outside: &'v [View<'a>],
    ) -> (&Branch, &'v [View<'a>]) {
        // SAFETY: the index is one element of int64.
        let number = unsafe { index.ptr.cast::<i64>().read_unaligned() };
        let number = number.clamp(0, self.branches.len() as i64 - 1) as usize;
        let before: usize = self.branches[..number].iter().map(|branch| branch.parts.outside).sum();
        let branch = &self.branches[number];
        (branch, &outside[before..][..branch.parts.outside])
    }

    /// Runs a branch. `reads` are the index, the operands and what the branches read outside, one after the other; `writes`
    /// are the results and the tape.
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
        // SAFETY: all of these hold what the branch was recorded with, for this run.
        let ran = unsafe { branch.forward.run(&mut session, &given, &[], tape, |k| places[k]) };
        let (found, objects) = ran?;
        for ((&from, &to), &bytes) in found.iter().zip(&places).zip(&self.result_bytes) {
            // SAFETY: both hold the result, in buffers of their own.
            unsafe { settle(from, to, bytes) };
        }
        Ok(objects)
    }

    /// Runs the backward program of the branch that ran, for the gradients that come to it. `reads` are those of `forward`, the tape, and the cotangents;
    /// `writes` are the gradients, which are zero where the branch gives none.
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
            // SAFETY: the gradient is that long; zeros are numbers of every dtype.
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
        // SAFETY: all of these hold what the branch was recorded with, for this run.
        let (found, _) = unsafe { placement.run(&mut session, &taken, objects, tape, own)? };
        for (number, &from) in found.iter().enumerate() {
            let bytes = self.derived_bytes[gradient(number)];
            // SAFETY: both hold the gradient, in buffers of their own.
            unsafe { settle(from, own(number), bytes) };
        }
        Ok(())
    }
}
