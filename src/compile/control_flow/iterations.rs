//! Runs iterations of a loop's forward program, also when the backward loop recomputes them (rematerialisation).
//!
//! Invariant: a recomputed iteration reads the same carry as the first time.

use smallvec::SmallVec;

use super::binding::{Place, Places, settle, starts};
use super::loop_forward::{Handover, Loop};
use crate::array::Storage;
use crate::compile::exec::Session;
use crate::error::Result;
use crate::kernels::View;
use crate::kernels::launch::{Object, Objects};

/// What every iteration reads beside the carry.
#[derive(Clone, Copy)]
pub(in crate::compile) struct Around<'v, 'a> {
    pub(in crate::compile) scanned: &'v [View<'a>],
    pub(in crate::compile) outside: &'v [View<'a>],
}

/// Iterations that run one after the other.
pub(in crate::compile) struct Iterations<'l> {
    of: &'l Loop,
    session: Session<'l>,
    handed: Handover,
    /// Pointers to the current carry.
    pub(in crate::compile) carry: SmallVec<[*const u8; 8]>,
}

impl<'l> Iterations<'l> {
    /// Starts with this carry.
    pub(in crate::compile) fn begin(
        of: &'l Loop,
        carry: impl Iterator<Item = *const u8>,
    ) -> Result<Iterations<'l>> {
        let bytes = of.parts.result_bytes[..of.parts.carries].iter().copied();
        let session = Session::begin(&of.parts.body.forward)?;
        Ok(Iterations { of, session, handed: Handover::new(bytes)?, carry: carry.collect() })
    }

    /// Runs iteration `k`. Stores residuals, and the carry if the backward program reads it, on `tape`; writes
    /// stacked result `i` to `stacked(i)`. Returns the objects that the run left.
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
        // SAFETY: the pointers have the dtypes and shapes of the trace and live during this call; the destinations
        // are separate buffers.
        let (found, objects) =
            unsafe { of.forward.run(&mut self.session, &given, &[], tape, own)? };
        for (result, (&from, &bytes)) in found.iter().zip(&of.parts.result_bytes).enumerate() {
            match self.carry.get_mut(result) {
                Some(carry) => *carry = from,
                // SAFETY: the stacked result has room for one element per iteration.
                None => unsafe { settle(from, own(result), bytes) },
            }
        }
        Ok(objects)
    }

    /// Stores the carried values that the backward program reads on the tape.
    fn keep(&self, tape: Place) {
        let bytes = &self.of.parts.argument_bytes;
        for ((&from, at), &bytes) in self.carry.iter().zip(&self.of.kept).zip(bytes) {
            if let Some(at) = at {
                // SAFETY: the tape reserves these bytes at this offset, and no other reference to it exists.
                unsafe { settle(from, tape.wrapping_add(*at), bytes) };
            }
        }
    }

    /// Stores the whole carry, as a checkpoint from which the segment can be recomputed.
    pub(in crate::compile) fn save(&self, slot: Place) {
        let bytes = &self.of.parts.argument_bytes;
        for ((&from, &at), &bytes) in self.carry.iter().zip(&self.of.carried).zip(bytes) {
            // SAFETY: the checkpoint reserves these bytes at this offset, and no other reference to it exists.
            unsafe { settle(from, slot.wrapping_add(at), bytes) };
        }
    }
}

/// The recomputed tapes of one segment of iterations.
pub(in crate::compile) struct Segment<'l> {
    of: &'l Loop,
    /// The first iteration of the segment, once it was computed.
    first: Option<usize>,
    tapes: Storage,
    objects: Vec<Objects>,
    /// Scratch for stacked results: the real ones are already written.
    unused: Storage,
}

impl<'l> Segment<'l> {
    pub(in crate::compile) fn new(of: &'l Loop) -> Result<Segment<'l>> {
        let tapes = Storage::alloc(of.parts.every.min(of.parts.length) * of.stride)?;
        let unused = Storage::alloc(of.stacked.iter().copied().max().unwrap_or(0))?;
        Ok(Segment { of, first: None, tapes, objects: Vec::new(), unused })
    }

    /// The tape and the objects of iteration `k`. The caller asks from the last iteration to the first. `slots` holds
    /// the carry at the start of each segment.
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
