//! Iterations of a loop's forward program, also those that the backward loop runs again.
//!
//! Owns: the carry from one iteration to the next, and segments of iterations whose tapes are computed anew. Never decides
//! how often a loop runs. Invariant: an iteration that runs again reads the carry that it read the first time.

use smallvec::SmallVec;

use super::binding::{Place, Places, settle, starts};
use super::loop_forward::{Handover, Loop};
use crate::array::Storage;
use crate::compile::exec::Session;
use crate::error::Result;
use crate::kernels::View;
use crate::kernels::launch::{Object, Objects};

/// What every iteration reads.
#[derive(Clone, Copy)]
pub(in crate::compile) struct Around<'v, 'a> {
    pub(in crate::compile) scanned: &'v [View<'a>],
    pub(in crate::compile) outside: &'v [View<'a>],
}

/// Iterations, one after the other.
pub(in crate::compile) struct Iterations<'l> {
    of: &'l Loop,
    session: Session<'l>,
    handed: Handover,
    /// Where the carry lies.
    pub(in crate::compile) carry: SmallVec<[*const u8; 8]>,
}

impl<'l> Iterations<'l> {
    /// Begins with this carry.
    pub(in crate::compile) fn begin(
        of: &'l Loop,
        carry: impl Iterator<Item = *const u8>,
    ) -> Result<Iterations<'l>> {
        let bytes = of.parts.result_bytes[..of.parts.carries].iter().copied();
        let session = Session::begin(&of.parts.body.forward)?;
        Ok(Iterations { of, session, handed: Handover::new(bytes)?, carry: carry.collect() })
    }

    /// Iteration `k`: leaves residuals, and the carry where the backward program reads it, on `tape`. A stacked result goes
    /// where `stacked` says by its number. Gives the objects that the program hands on.
    pub(in crate::compile) fn step(
        &mut self,
        k: usize,
        tape: Place,
        around: Around<'_, '_>,
        stacked: impl Fn(usize) -> Place,
    ) -> Result<Objects> {
        let (of, carries) = (self.of, self.of.parts.carries);
        self.keep(tape);
        let scanned = of.scanned(around.scanned, of.element(k));
        let given: Places =
            self.carry.iter().copied().chain(scanned).chain(starts(around.outside)).collect();
        let handed = &self.handed;
        let own = |result: usize| match result < carries {
            true => handed.at(result, k),
            false => stacked(result),
        };
        // SAFETY: all of these hold what the body was recorded with, for this run.
        let (found, objects) =
            unsafe { of.forward.run(&mut self.session, &given, &[], tape, own)? };
        for (result, (&from, &bytes)) in found.iter().zip(&of.parts.result_bytes).enumerate() {
            match self.carry.get_mut(result) {
                Some(carry) => *carry = from,
                // SAFETY: there is room for each element.
                None => unsafe { settle(from, own(result), bytes) },
            }
        }
        Ok(objects)
    }

    /// Keeps the carry for the backward loop, where it is read there.
    fn keep(&self, tape: Place) {
        let bytes = &self.of.parts.argument_bytes;
        for ((&from, at), &bytes) in self.carry.iter().zip(&self.of.kept).zip(bytes) {
            if let Some(at) = at {
                // SAFETY: the tape has room for the carry of each iteration, and nobody else has the tape.
                unsafe { settle(from, tape.wrapping_add(*at), bytes) };
            }
        }
    }

    /// Keeps all of the carry, from which a segment can run again.
    pub(in crate::compile) fn save(&self, slot: Place) {
        let bytes = &self.of.parts.argument_bytes;
        for ((&from, &at), &bytes) in self.carry.iter().zip(&self.of.carried).zip(bytes) {
            // SAFETY: the tape has room for the carry of each segment, and nobody else has the tape.
            unsafe { settle(from, slot.wrapping_add(at), bytes) };
        }
    }
}

/// The tapes of some iterations, which ran again.
pub(in crate::compile) struct Segment<'l> {
    of: &'l Loop,
    /// The first of the iterations, once there are any.
    first: Option<usize>,
    tapes: Storage,
    objects: Vec<Objects>,
    /// Where stacked results go, which are there already.
    unused: Storage,
}

impl<'l> Segment<'l> {
    pub(in crate::compile) fn new(of: &'l Loop) -> Result<Segment<'l>> {
        let tapes = Storage::alloc(of.parts.every.min(of.parts.length) * of.stride)?;
        let unused = Storage::alloc(of.stacked.iter().copied().max().unwrap_or(0))?;
        Ok(Segment { of, first: None, tapes, objects: Vec::new(), unused })
    }

    /// The tape and the objects of iteration `k`, of which the loop asks from the last to the first. `slots` has the carry of
    /// each segment.
    pub(in crate::compile) fn at(
        &mut self,
        k: usize,
        slots: *const u8,
        around: Around<'_, '_>,
    ) -> Result<(Place, &[Option<Object>])> {
        let (of, every) = (self.of, self.of.parts.every);
        let first = k - k % every;
        let tape = |k: usize| self.tapes.ptr().wrapping_add((k - first) * of.stride);
        if self.first != Some(first) {
            let slot = slots.wrapping_add(first / every * of.slot);
            let carry = of.carried.iter().map(|&at| slot.wrapping_add(at));
            let mut iterations = Iterations::begin(of, carry)?;
            let unused = |result: usize| {
                self.unused.ptr().wrapping_add(of.stacked[result - of.parts.carries])
            };
            self.objects.clear();
            for k in first..=k {
                self.objects.push(iterations.step(k, tape(k), around, unused)?);
            }
            self.first = Some(first);
        }
        Ok((tape(k), &self.objects[k - first]))
    }
}
