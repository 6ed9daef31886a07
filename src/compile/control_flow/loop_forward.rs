//! A loop: the two programs of its body, run once per iteration.
//!
//! Owns: what a loop is, where the values of an iteration lie, and the forward loop, which leaves the tape for the backward
//! loop. Never knows how the body was recorded. Invariant: an iteration reads the carry that the one before wrote.

use smallvec::SmallVec;

use super::binding::{Place, Placement, Places, Tape, settle, starts};
use super::iterations::{Around, Iterations};
use crate::array::Storage;
use crate::compile::exec::{Program, Session};
use crate::compile::trace::Joint;
use crate::error::Result;
use crate::kernels::launch::Objects;
use crate::kernels::{View, ViewMut};
use crate::threads::signals::SignalPoller;

/// What decides whether a loop goes on.
pub struct Condition {
    /// It takes the carry and what it reads outside, and gives one boolean.
    pub program: Program,
}

/// What a forward loop leaves for the backward loop beside the tape.
pub struct Trace {
    /// How often the body ran.
    pub(in crate::compile) count: usize,
    /// The objects of each iteration, if the programs hand some to one another.
    pub(in crate::compile) objects: Vec<Objects>,
    /// The tape of each iteration of a loop whose length was not known.
    pub(in crate::compile) tapes: Vec<Storage>,
}

/// What a loop is made of.
pub struct LoopParts {
    /// Ends the loop; without it, the body runs `length` times.
    pub condition: Option<Condition>,
    /// The body: its arguments are the carry and one element of each scanned tensor; its results are the next carry and
    /// one element of each stacked tensor.
    pub body: Joint,
    /// How many buffers the body reads outside.
    pub outside: usize,
    /// How many values are carried.
    pub carries: usize,
    /// How many tensors are scanned.
    pub scanned: usize,
    /// How often the body runs.
    pub length: usize,
    /// Whether it begins at the end of the scanned tensors.
    pub reverse: bool,
    /// How many iterations keep one carry, from which the backward loop runs them again; 1 keeps what each of them leaves.
    pub every: usize,
    /// The number of each result among the cotangents, if it has a history.
    pub cotangents: Vec<Option<usize>>,
    /// For each argument and each closure, the number of its gradient among the results of the backward program.
    pub grads: Vec<Option<usize>>,
    /// Bytes of each argument of the body.
    pub argument_bytes: Vec<usize>,
    /// Bytes of each result.
    pub result_bytes: Vec<usize>,
    /// For each closure, the bits to which its first gradient is added: those of minus zero, which change no number.
    pub nothing: Vec<Vec<u8>>,
}

/// What an iteration takes besides the work on elements, about.
const ITERATION_NS: f32 = 500.0;

/// A body, and how often it runs.
pub struct Loop {
    pub(in crate::compile) parts: LoopParts,
    /// Bytes of the tape of one iteration.
    pub(in crate::compile) stride: usize,
    /// Where residuals lie on it.
    pub(in crate::compile) residuals: Vec<usize>,
    /// Where the carry lies, where the backward program reads it.
    pub(in crate::compile) kept: Vec<Option<usize>>,
    /// Where each carried value lies in what a segment keeps, and the bytes of that.
    pub(in crate::compile) carried: Vec<usize>,
    pub(in crate::compile) slot: usize,
    /// Where each stacked result of an iteration that runs again may lie, and the bytes of all.
    pub(in crate::compile) stacked: Vec<usize>,
    pub(in crate::compile) forward: Placement,
    pub(in crate::compile) backward: Placement,
    asked: Option<Placement>,
}

/// Buffers for values that one iteration hands to the next: two for each, of which one is read and one is written.
pub(in crate::compile) struct Handover {
    buffers: Vec<[Storage; 2]>,
}

impl Handover {
    pub(in crate::compile) fn new(bytes: impl Iterator<Item = usize>) -> Result<Handover> {
        let pair = |bytes: usize| Ok([Storage::alloc(bytes)?, Storage::alloc(bytes)?]);
        Ok(Handover { buffers: bytes.map(pair).collect::<Result<_>>()? })
    }

    /// The place of a value that is not this one.
    pub(in crate::compile) fn other(&self, value: usize, taken: *const u8) -> Place {
        let [a, b] = &self.buffers[value];
        if a.ptr().cast_const() == taken { b.ptr() } else { a.ptr() }
    }

    pub(in crate::compile) fn at(&self, value: usize, iteration: usize) -> Place {
        self.buffers[value][iteration % 2].ptr()
    }
}

impl Loop {
    /// Finds out where everything lies.
    pub fn new(mut parts: LoopParts) -> Loop {
        if parts.cotangents.iter().all(Option::is_none) {
            // There is no backward loop.
            parts.every = 1;
        }
        let LoopParts { body, carries, argument_bytes, condition, .. } = &parts;
        let mut tape = Tape::default();
        let residuals: Vec<usize> =
            body.residuals.iter().map(|&id| tape.add(body.forward.nbytes(id))).collect();
        let mut keep = |i: usize| body.backward.reads_input(i).then(|| tape.add(argument_bytes[i]));
        let kept = (0..*carries).map(&mut keep).collect();
        let taped: Vec<(u32, usize)> =
            body.residuals.iter().copied().zip(residuals.iter().copied()).collect();
        let forward = Placement::new(&body.forward, &taped);
        let backward = Placement::new(&body.backward, &[]);
        let asked = condition.as_ref().map(|condition| Placement::new(&condition.program, &[]));
        let (mut slot, mut unused) = (Tape::default(), Tape::default());
        let carried = argument_bytes[..*carries].iter().map(|&bytes| slot.add(bytes)).collect();
        let results = &parts.result_bytes[*carries..];
        let mut stacked: Vec<usize> = results.iter().map(|&bytes| unused.add(bytes)).collect();
        stacked.push(unused.nbytes);
        let (stride, slot) = (tape.nbytes, slot.nbytes);
        Loop { stride, residuals, kept, carried, slot, stacked, forward, backward, asked, parts }
    }

    /// The backward program for gradients of all results, and where its own lie.
    pub(in crate::compile) fn whole(&self) -> (&Program, &Placement) {
        (&self.parts.body.backward, &self.backward)
    }

    /// What it is called in an explanation.
    pub fn name(&self) -> &'static str {
        if self.parts.condition.is_some() { "while_loop" } else { "scan" }
    }

    /// About how long it takes, in nanoseconds: without end if a condition decides.
    pub fn cost(&self) -> f32 {
        match self.parts.condition {
            Some(_) => f32::INFINITY,
            None => {
                let elements = self.parts.body.forward.work() as f32;
                self.parts.length as f32 * (ITERATION_NS + elements)
            }
        }
    }

    /// How many values are carried.
    pub fn carries(&self) -> usize {
        self.parts.carries
    }

    /// How often the body runs; a great number if a condition decides.
    pub fn length(&self) -> usize {
        self.parts.length
    }

    /// How many buffers the body reads outside.
    pub fn outside(&self) -> usize {
        self.parts.outside
    }

    /// For each argument, then for each buffer that the body reads outside, whether the backward loop reads it:
    /// all of them, where it runs iterations again.
    pub fn read_backward(&self) -> impl Iterator<Item = bool> + '_ {
        let again = self.parts.every > 1;
        let read =
            self.parts.body.read_backward(self.parts.argument_bytes.len(), self.parts.outside);
        read.map(move |read| read || again)
    }

    /// Bytes of the tape: residuals, and the carry where the backward program reads it; or the carry of each segment.
    pub fn tape_bytes(&self) -> usize {
        match (&self.parts.condition, self.parts.every) {
            (Some(_), _) => 0,
            (None, 1) => self.parts.length * self.stride,
            (None, every) => self.parts.length.div_ceil(every) * self.slot,
        }
    }

    /// The numbers of the results that have a history.
    pub fn histories(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).zip(&self.parts.cotangents).filter_map(|(result, number)| number.map(|_| result))
    }

    /// Whether an argument or closure is an element of a scanned tensor.
    pub(in crate::compile) fn is_scanned(&self, target: usize) -> bool {
        (self.parts.carries..self.parts.argument_bytes.len()).contains(&target)
    }

    /// The element of the scanned and stacked tensors that iteration `k` has.
    pub(in crate::compile) fn element(&self, k: usize) -> usize {
        if self.parts.reverse { self.parts.length - 1 - k } else { k }
    }

    /// Where that element of each scanned tensor begins.
    pub(in crate::compile) fn scanned<'v>(
        &'v self,
        xs: &'v [View<'_>],
        element: usize,
    ) -> impl Iterator<Item = *const u8> + 'v {
        let bytes = &self.parts.argument_bytes[self.parts.carries..];
        xs.iter().zip(bytes).map(move |(x, &bytes)| x.ptr.wrapping_add(element * bytes))
    }

    /// Runs the body `length` times, or while the condition holds. `reads` are the first carry, the scanned tensors, and what
    /// body and condition read outside; `writes` are the last carry, the stacked tensors and the tape.
    ///
    /// # Errors
    /// What a step raises.
    pub fn forward(&self, reads: &[View<'_>], writes: &mut [ViewMut<'_>]) -> Result<Trace> {
        let LoopParts { carries, scanned, outside, length, every, result_bytes, .. } = &self.parts;
        let places: SmallVec<[Place; 16]> = writes.iter_mut().map(|w| w.ptr).collect();
        let mut iterations = Iterations::begin(self, starts(&reads[..*carries]))?;
        let (xs, rest) = reads[*carries..].split_at(*scanned);
        let (outside, asked) = rest.split_at(*outside);
        let around = Around { scanned: xs, outside };
        let again = if *every > 1 { Some(Storage::alloc(self.stride)?) } else { None };
        let mut trace = Trace { count: 0, objects: Vec::new(), tapes: Vec::new() };
        let mut signals = SignalPoller::default();
        let condition = self.parts.condition.as_ref();
        let mut asking = condition.map(|it| Session::begin(&it.program)).transpose()?;
        while trace.count < *length && self.goes_on(&mut asking, &iterations.carry, asked)? {
            let k = trace.count;
            let element = self.element(k);
            let slot =
                |number: usize, bytes| places[result_bytes.len()].wrapping_add(number * bytes);
            let mine = match (&self.parts.condition, &again) {
                (Some(_), _) => trace.tape(self.stride)?,
                (None, None) => slot(element, self.stride),
                (None, Some(again)) => {
                    if k.is_multiple_of(*every) {
                        iterations.save(slot(k / every, self.slot));
                    }
                    again.ptr()
                }
            };
            let stacked =
                |result: usize| places[result].wrapping_add(element * result_bytes[result]);
            let objects = iterations.step(k, mine, around, stacked)?;
            if self.parts.body.forward.has_objects() && again.is_none() {
                trace.objects.push(objects);
            }
            trace.count += 1;
            signals.check()?;
        }
        for ((&to, &from), &bytes) in places.iter().zip(&iterations.carry).zip(result_bytes) {
            // SAFETY: both hold the carry; the last one lies in a buffer of its own.
            unsafe { settle(from, to, bytes) };
        }
        Ok(trace)
    }

    /// Whether the body runs with this carry.
    fn goes_on(
        &self,
        session: &mut Option<Session<'_>>,
        carry: &[*const u8],
        outside: &[View<'_>],
    ) -> Result<bool> {
        let (Some(session), Some(placement)) = (session, &self.asked) else { return Ok(true) };
        let given: Places = carry.iter().copied().chain(starts(outside)).collect();
        let mut answer = 0u64;
        let place = (&raw mut answer).cast::<u8>();
        // SAFETY: all of these hold what the condition was recorded with, for this run.
        let (found, _) = unsafe { placement.run(session, &given, &[], place, |_| place)? };
        // SAFETY: the result is one boolean, which is one byte.
        Ok(unsafe { *found[0] } != 0)
    }
}

impl Trace {
    /// The tape of a new iteration.
    fn tape(&mut self, bytes: usize) -> Result<Place> {
        let tape = Storage::alloc(bytes)?;
        let start = tape.ptr();
        self.tapes.push(tape);
        Ok(start)
    }
}
