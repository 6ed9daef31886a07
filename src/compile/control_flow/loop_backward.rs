//! The backward loop: runs the backward program of the body once per iteration, from the last to the first.
//!
//! Invariant: a closure's gradient is a left fold over its uses, from the last iteration to the first, which is the
//! order in which the engine adds the gradients of an unrolled loop.

use smallvec::SmallVec;

use super::backward_plan::BackwardPlan;
use super::binding::{Place, Places, settle, starts};
use super::iterations::{Around, Segment};
use super::loop_forward::{Handover, Loop, Trace};
use crate::array::Storage;
use crate::compile::exec::Session;
use crate::error::Result;
use crate::kernels::launch::Object;
use crate::kernels::{View, ViewMut};

/// What every iteration of the backward loop reads.
struct Given<'v, 'a> {
    scanned: &'v [View<'a>],
    outside: &'v [View<'a>],
    cotangents: &'v [View<'a>],
}

impl Loop {
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
        trace: Option<&Trace>,
    ) -> Result<()> {
        let places: SmallVec<[Place; 16]> = writes.iter_mut().map(|w| w.ptr).collect();
        let (scanned, rest) = reads.split_at(self.parts.scanned);
        let (outside, rest) = rest.split_at(self.parts.outside);
        let given = Given { scanned, outside, cotangents: &rest[1..] };
        let count = trace.map_or(self.parts.length, |trace| trace.count);
        let mut pass = BackwardLoop::begin((self, plan), given.cotangents, &places, count)?;
        let mut segment = if self.parts.every > 1 { Some(Segment::new(self)?) } else { None };
        for k in (0..count).rev() {
            if let Some(segment) = &mut segment {
                let around = Around { scanned, outside };
                let (tape, objects) = segment.at(k, rest[0].ptr, around)?;
                pass.step(k, tape, &given, objects)?;
                continue;
            }
            let own = trace.and_then(|trace| trace.tapes.get(k));
            let tape = match own {
                Some(tape) => tape.ptr(),
                None => rest[0].ptr.cast_mut().wrapping_add(self.element(k) * self.stride),
            };
            let objects = trace.and_then(|trace| trace.objects.get(k));
            pass.step(k, tape, &given, objects.map_or(&[], |objects| &objects[..]))?;
        }
        pass.end();
        Ok(())
    }
}

/// The state of one run of the backward loop.
struct BackwardLoop<'l> {
    of: &'l Loop,
    plan: &'l BackwardPlan,
    /// A session for each variant of the plan.
    sessions: SmallVec<[Option<Session<'l>>; 1]>,
    /// The variant of the next iteration.
    at: usize,
    /// Bytes of the gradient of each target (arguments, then closures), and its destination if the loop computes it.
    bytes: Vec<usize>,
    places: Vec<Option<Place>>,
    handed: Handover,
    /// For each target a pointer to the current gradient of the carry, or to the sum of a closure's gradients.
    taken: Vec<*const u8>,
    /// Stands for a missing gradient.
    zeros: Storage,
}

impl<'l> BackwardLoop<'l> {
    fn begin(
        (of, plan): (&'l Loop, &'l BackwardPlan),
        cotangents: &[View<'_>],
        places: &[Place],
        count: usize,
    ) -> Result<BackwardLoop<'l>> {
        let parts = &of.parts;
        let closures = parts.nothing.iter().map(Vec::len);
        let bytes: Vec<usize> = parts.argument_bytes.iter().copied().chain(closures).collect();
        let longest = bytes.iter().copied().max().unwrap_or(0);
        let zeros = Storage::alloc(longest)?;
        // SAFETY: the buffer was allocated with this length; all-zero bytes are a zero of every dtype.
        unsafe { zeros.ptr().write_bytes(0, longest) };
        let mut taken: Vec<*const u8> = vec![zeros.ptr(); bytes.len()];
        for (result, given) in of.histories().zip(cotangents) {
            // A missing cotangent is an empty view.
            if result < parts.carries && !given.dims.contains(&0) {
                taken[result] = given.ptr;
            }
        }
        let handed = Handover::new(bytes.iter().copied())?;
        for (closure, bits) in (parts.argument_bytes.len()..).zip(&parts.nothing) {
            let start = handed.at(closure, count);
            // SAFETY: the buffer was allocated with this length.
            unsafe { settle(bits.as_ptr(), start, bits.len()) };
            taken[closure] = start;
        }
        let programs = plan.variants.iter().map(|variant| variant.way.program(of.whole()));
        let sessions =
            programs.map(|it| it.map(|(program, _)| Session::begin(program)).transpose());
        let sessions = sessions.collect::<Result<_>>()?;
        let places: Vec<Option<Place>> =
            plan.places.iter().map(|place| place.map(|place| places[place])).collect();
        for (target, place) in
            places.iter().enumerate().filter(|(target, _)| of.is_scanned(*target))
        {
            if let Some(place) = place.filter(|_| plan.misses(target)) {
                // SAFETY: the gradient has one element per iteration.
                unsafe { place.write_bytes(0, bytes[target] * count) };
            }
        }
        Ok(BackwardLoop { of, plan, sessions, at: 0, bytes, places, handed, taken, zeros })
    }

    /// Runs one iteration.
    fn step(
        &mut self,
        k: usize,
        tape: Place,
        given: &Given<'_, '_>,
        objects: &[Option<Object>],
    ) -> Result<()> {
        let (of, plan, element) = (self.of, self.plan, self.of.element(k));
        let arguments = of.parts.argument_bytes.len();
        let inputs = self.inputs(element, tape, given);
        let variant = &plan.variants[self.at];
        let session = self.sessions[self.at].as_mut();
        self.at = variant.next;
        let Some((session, (_, placement))) = session.zip(variant.way.program(of.whole())) else {
            self.taken[..arguments].fill(self.zeros.ptr());
            return Ok(());
        };
        let (taken, handed, places, bytes) = (&self.taken, &self.handed, &self.places, &self.bytes);
        let own = |number: usize| match variant.derived[number] {
            target if of.is_scanned(target) => {
                let start = places[target].expect("the plan gives what an iteration gives");
                start.wrapping_add(element * bytes[target])
            }
            target if target < arguments => handed.at(target, k),
            target => handed.other(target, taken[target]),
        };
        // SAFETY: the pointers have the dtypes and shapes of the trace and live during this call; a null input is
        // never read.
        let (found, _) = unsafe { placement.run(session, &inputs, objects, tape, own)? };
        let mut next: SmallVec<[*const u8; 16]> = SmallVec::from_slice(taken);
        next[..arguments].fill(self.zeros.ptr());
        for (number, (&from, &target)) in found.iter().zip(&variant.derived).enumerate() {
            if of.is_scanned(target) {
                // SAFETY: the gradient has one element per iteration.
                unsafe { settle(from, own(number), bytes[target]) };
            } else {
                next[target] = from;
            }
        }
        self.taken.copy_from_slice(&next);
        Ok(())
    }

    /// The inputs of the body's backward program: carry, elements, cotangents, gradient sums, residuals, external
    /// memory.
    fn inputs(&self, element: usize, tape: Place, given: &Given<'_, '_>) -> Places {
        let of = self.of;
        let on_tape = |at: &usize| tape.wrapping_add(*at).cast_const();
        let carry = of.kept.iter().map(|at| at.as_ref().map_or(std::ptr::null(), on_tape));
        let cotangents = of.histories().zip(given.cotangents).map(|(result, given)| {
            match result < of.parts.carries {
                true => self.taken[result],
                false => given.ptr.wrapping_add(element * of.parts.result_bytes[result]),
            }
        });
        carry
            .chain(of.scanned(given.scanned, element))
            .chain(cotangents)
            .chain(self.taken[of.parts.argument_bytes.len()..].iter().copied())
            .chain(of.residuals.iter().map(on_tape))
            .chain(starts(given.outside))
            .collect()
    }

    /// Copies the gradients of the initial carry and the sums of the closures to their destinations.
    fn end(&self) {
        for (target, place) in self.places.iter().enumerate() {
            if let Some(to) = place.filter(|_| !self.of.is_scanned(target)) {
                // SAFETY: source and destination are as long as the gradient, in different buffers or the same
                // pointer.
                unsafe { settle(self.taken[target], to, self.bytes[target]) };
            }
        }
    }
}
