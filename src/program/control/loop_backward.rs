//! The backward loop: the backward program of a body, once per iteration, from the last to the first.
//!
//! Owns: the gradients that one iteration hands to the one before it: those of the carry, and sums for closures.
//! Invariant: a closure's gradient is a left fold over its uses, from the last one to the first: the order in which the
//! engine adds the gradients of a computation that was not folded into a loop.

use smallvec::SmallVec;

use super::iterations::{Around, Segment};
use super::looped::{Handover, Loop, Trace};
use super::placed::{Place, Places, settle, starts};
use crate::array::Storage;
use crate::error::Result;
use crate::kernels::launch::Object;
use crate::kernels::{View, ViewMut};
use crate::program::run::Session;

/// What every iteration reads.
struct Given<'v, 'a> {
    scanned: &'v [View<'a>],
    outside: &'v [View<'a>],
    cotangents: &'v [View<'a>],
}

impl Loop {
    /// Runs the backward program of the body once for each iteration, from the last to the first. `reads` are the scanned
    /// tensors, what the body reads outside, the tape, and the gradients of the results that have a history; `writes`
    /// are the gradients of the arguments and closures that have one.
    ///
    /// # Errors
    /// What a step raises.
    pub fn backward(
        &self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        trace: Option<&Trace>,
    ) -> Result<()> {
        let places: SmallVec<[Place; 16]> = writes.iter_mut().map(|w| w.ptr).collect();
        let (scanned, rest) = reads.split_at(self.parts.scanned);
        let (outside, rest) = rest.split_at(self.parts.outside);
        let given = Given { scanned, outside, cotangents: &rest[1..] };
        let count = trace.map_or(self.parts.length, |trace| trace.count);
        let mut pass = BackwardLoop::begin(self, given.cotangents, count)?;
        let mut segment = if self.parts.every > 1 { Some(Segment::new(self)?) } else { None };
        for k in (0..count).rev() {
            if let Some(segment) = &mut segment {
                let around = Around { scanned, outside };
                let (tape, objects) = segment.at(k, rest[0].ptr, around)?;
                pass.step(k, tape, &given, objects, &places)?;
                continue;
            }
            let own = trace.and_then(|trace| trace.tapes.get(k));
            let tape = match own {
                Some(tape) => tape.ptr(),
                None => rest[0].ptr.cast_mut().wrapping_add(self.element(k) * self.stride),
            };
            let objects = trace.and_then(|trace| trace.objects.get(k));
            pass.step(k, tape, &given, objects.map_or(&[], |objects| &objects[..]), &places)?;
        }
        pass.end(&places);
        Ok(())
    }
}

/// A run of the backward loop.
struct BackwardLoop<'l> {
    of: &'l Loop,
    session: Session<'l>,
    /// The targets, arguments and closures by number, that have a gradient, with its bytes.
    derived: Vec<(usize, usize)>,
    handed: Handover,
    /// For each target, where the next step finds the gradient of the carry that it gave, or the sum so far.
    taken: Vec<*const u8>,
    /// What stands for a gradient that there is none of.
    zeros: Storage,
}

impl<'l> BackwardLoop<'l> {
    fn begin(of: &'l Loop, cotangents: &[View<'_>], count: usize) -> Result<BackwardLoop<'l>> {
        let parts = &of.parts;
        let closures = parts.nothing.iter().map(Vec::len);
        let all: Vec<usize> = parts.argument_bytes.iter().copied().chain(closures).collect();
        let longest = all.iter().copied().max().unwrap_or(0);
        let zeros = Storage::alloc(longest)?;
        // SAFETY: the memory is ours and that long; zeros are numbers of every dtype.
        unsafe { zeros.ptr().write_bytes(0, longest) };
        let mut taken: Vec<*const u8> = vec![zeros.ptr(); all.len()];
        for (result, given) in of.histories().zip(cotangents) {
            if result < parts.carries {
                taken[result] = given.ptr;
            }
        }
        let handed = Handover::new(all.iter().copied())?;
        for (closure, bits) in (parts.argument_bytes.len()..).zip(&parts.nothing) {
            let start = handed.at(closure, count);
            // SAFETY: the buffer is ours and that long.
            unsafe { settle(bits.as_ptr(), start, bits.len()) };
            taken[closure] = start;
        }
        let derived = parts.grads.iter().zip(&all).enumerate();
        let derived =
            derived.filter_map(|(target, (number, &bytes))| number.map(|_| (target, bytes)));
        let session = Session::begin(&parts.body.backward)?;
        Ok(BackwardLoop { of, session, derived: derived.collect(), handed, taken, zeros })
    }

    /// One iteration.
    fn step(
        &mut self,
        k: usize,
        tape: Place,
        given: &Given<'_, '_>,
        objects: &[Option<Object>],
        places: &[Place],
    ) -> Result<()> {
        let (of, element) = (self.of, self.of.element(k));
        let arguments = of.parts.argument_bytes.len();
        let on_tape = |at: &usize| tape.wrapping_add(*at).cast_const();
        let carry = of.kept.iter().map(|at| at.as_ref().map_or(std::ptr::null(), on_tape));
        let cotangents = of.histories().zip(given.cotangents).map(|(result, given)| {
            match result < of.parts.carries {
                true => self.taken[result],
                false => given.ptr.wrapping_add(element * of.parts.result_bytes[result]),
            }
        });
        let inputs: Places = carry
            .chain(of.scanned(given.scanned, element))
            .chain(cotangents)
            .chain(self.taken[arguments..].iter().copied())
            .chain(of.residuals.iter().map(on_tape))
            .chain(starts(given.outside))
            .collect();
        let (derived, handed) = (&self.derived, &self.handed);
        let own = |number: usize| match derived[number] {
            (target, bytes) if of.is_scanned(target) => {
                places[number].wrapping_add(element * bytes)
            }
            (target, _) => handed.at(target, k),
        };
        // SAFETY: all of these hold what the body was recorded with, for this run; what is null is not read.
        let (found, _) =
            unsafe { of.backward.run(&mut self.session, &inputs, objects, tape, own)? };
        let mut next: SmallVec<[*const u8; 16]> = SmallVec::from_slice(&self.taken);
        next[..arguments].fill(self.zeros.ptr());
        for (number, (&from, &(target, bytes))) in found.iter().zip(&self.derived).enumerate() {
            if of.is_scanned(target) {
                // SAFETY: the gradient has room for each element.
                unsafe { settle(from, own(number), bytes) };
            } else {
                next[target] = from;
            }
        }
        self.taken.copy_from_slice(&next);
        Ok(())
    }

    /// Gives the gradients of the first carry and the sums of closures.
    fn end(&self, places: &[Place]) {
        for (&to, &(target, bytes)) in places.iter().zip(&self.derived) {
            if !self.of.is_scanned(target) {
                // SAFETY: both hold the gradient, in buffers of their own.
                unsafe { settle(self.taken[target], to, bytes) };
            }
        }
    }
}
