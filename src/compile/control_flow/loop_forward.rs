//! The loop kernel behind `scan` and `while_loop`: tape layout and the forward loop.
//!
//! Invariant: an iteration reads the carry that the previous iteration wrote.

use smallvec::SmallVec;

use super::binding::{Place, Placement, Places, Tape, settle, starts};
use super::iterations::{Around, Iterations};
use crate::array::Storage;
use crate::compile::exec::{Program, Session};
use crate::compile::trace::Joint;
use crate::error::Result;
use crate::kernels::launch::Objects;
use crate::kernels::{View, ViewMut};
use crate::threads::signals::Signals;

/// The condition of a `while_loop`.
pub struct Condition {
    /// Takes the carry and the external memory that it reads; returns one boolean.
    pub program: Program,
}

/// What a forward loop leaves for the backward loop beside the tape.
pub struct Trace {
    /// How many iterations ran.
    pub(in crate::compile) count: usize,
    /// The objects of each iteration, if forward programs pass objects to backward programs.
    pub(in crate::compile) objects: Vec<Objects>,
    /// The tape of each iteration of a loop of unknown length.
    pub(in crate::compile) tapes: Vec<Storage>,
}

/// The parts from which a loop is built.
pub struct LoopParts {
    /// The condition of a `while_loop`; a `scan` has none and runs `length` iterations.
    pub condition: Option<Condition>,
    /// The body: its arguments are the carry and one element of each scanned tensor; its results are the next carry
    /// and one element of each stacked tensor.
    pub body: Joint,
    /// The number of external buffers that the body reads.
    pub outside: usize,
    /// The number of carried values.
    pub carries: usize,
    /// The number of scanned tensors.
    pub scanned: usize,
    /// The number of iterations.
    pub length: usize,
    /// Whether iteration 0 reads the last elements of the scanned tensors.
    pub reverse: bool,
    /// Gradient checkpointing: the carry is stored every so many iterations, and the backward loop recomputes the
    /// iterations of a segment. 1 stores the residuals of every iteration instead.
    pub every: usize,
    /// For each result its index among the cotangents, if it requires grad.
    pub cotangents: Vec<Option<usize>>,
    /// For each argument, then each closure: the index of its gradient among the outputs of the backward program.
    pub grads: Vec<Option<usize>>,
    /// Bytes of each argument of the body.
    pub argument_bytes: Vec<usize>,
    /// Bytes of each result.
    pub result_bytes: Vec<usize>,
    /// For each closure the initial value of its gradient sum: minus zeros, the identity element of addition.
    pub nothing: Vec<Vec<u8>>,
}

/// The estimated overhead of one iteration, in nanoseconds.
const ITERATION_NS: f32 = 500.0;

/// A loop over a body program.
pub struct Loop {
    pub(in crate::compile) parts: LoopParts,
    /// Bytes of the tape of one iteration.
    pub(in crate::compile) stride: usize,
    /// The offsets of the residuals on the tape.
    pub(in crate::compile) residuals: Vec<usize>,
    /// The offset of each carried value on the tape, if the backward program reads it.
    pub(in crate::compile) kept: Vec<Option<usize>>,
    /// The offset of each carried value in the checkpoint of a segment; then the bytes of a checkpoint.
    pub(in crate::compile) carried: Vec<usize>,
    pub(in crate::compile) slot: usize,
    /// Scratch for stacked results of recomputed iterations: their offsets, then the bytes of all.
    pub(in crate::compile) stacked: Vec<usize>,
    pub(in crate::compile) forward: Placement,
    pub(in crate::compile) backward: Placement,
    asked: Option<Placement>,
}

/// Double buffers for carried values: an iteration reads one and writes the other.
pub(in crate::compile) struct Handover {
    buffers: Vec<[Storage; 2]>,
}

impl Handover {
    pub(in crate::compile) fn new(bytes: impl Iterator<Item = usize>) -> Result<Handover> {
        let pair = |bytes: usize| Ok([Storage::alloc(bytes)?, Storage::alloc(bytes)?]);
        Ok(Handover { buffers: bytes.map(pair).collect::<Result<_>>()? })
    }

    /// The buffer of a value other than the one at `taken`.
    pub(in crate::compile) fn other(&self, value: usize, taken: *const u8) -> Place {
        let [a, b] = &self.buffers[value];
        if a.ptr().cast_const() == taken { b.ptr() } else { a.ptr() }
    }

    pub(in crate::compile) fn at(&self, value: usize, iteration: usize) -> Place {
        self.buffers[value][iteration % 2].ptr()
    }
}

impl Loop {
    /// Lays out tape and checkpoints, and resolves the pointers.
    pub fn new(mut parts: LoopParts) -> Loop {
        if parts.cotangents.iter().all(Option::is_none) {
            // No result requires grad: there is no backward loop.
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

    /// The backward program for all cotangents.
    pub(in crate::compile) fn whole(&self) -> (&Program, &Placement) {
        (&self.parts.body.backward, &self.backward)
    }

    /// The name of the kernel in explanations and graphs.
    pub fn name(&self) -> &'static str {
        if self.parts.condition.is_some() { "while_loop" } else { "scan" }
    }

    /// The estimated duration in nanoseconds; infinite for a `while_loop`.
    pub fn cost(&self) -> f32 {
        match self.parts.condition {
            Some(_) => f32::INFINITY,
            None => {
                let elements = self.parts.body.forward.work() as f32;
                self.parts.length as f32 * (ITERATION_NS + elements)
            }
        }
    }

    /// The number of carried values.
    pub fn carries(&self) -> usize {
        self.parts.carries
    }

    /// The number of iterations; `usize::MAX` for a `while_loop`.
    pub fn length(&self) -> usize {
        self.parts.length
    }

    /// The number of external buffers that the body reads.
    pub fn outside(&self) -> usize {
        self.parts.outside
    }

    /// For each argument, then for each external buffer of the body: whether the backward loop reads it. With
    /// checkpoints it reads all of them.
    pub fn read_backward(&self) -> impl Iterator<Item = bool> + '_ {
        let again = self.parts.every > 1;
        let read =
            self.parts.body.read_backward(self.parts.argument_bytes.len(), self.parts.outside);
        read.map(move |read| read || again)
    }

    /// Bytes of the tape: the residuals of all iterations, or the checkpoints of all segments.
    pub fn tape_bytes(&self) -> usize {
        match (&self.parts.condition, self.parts.every) {
            (Some(_), _) => 0,
            (None, 1) => self.parts.length * self.stride,
            (None, every) => self.parts.length.div_ceil(every) * self.slot,
        }
    }

    /// The indices of the results that require grad.
    pub fn histories(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).zip(&self.parts.cotangents).filter_map(|(result, number)| number.map(|_| result))
    }

    /// Whether a target is an element of a scanned tensor.
    pub(in crate::compile) fn is_scanned(&self, target: usize) -> bool {
        (self.parts.carries..self.parts.argument_bytes.len()).contains(&target)
    }

    /// The element of the scanned and stacked tensors that iteration `k` uses.
    pub(in crate::compile) fn element(&self, k: usize) -> usize {
        if self.parts.reverse { self.parts.length - 1 - k } else { k }
    }

    /// Pointers to that element of each scanned tensor.
    pub(in crate::compile) fn scanned<'v>(
        &'v self,
        xs: &'v [View<'_>],
        element: usize,
    ) -> impl Iterator<Item = *const u8> + 'v {
        let bytes = &self.parts.argument_bytes[self.parts.carries..];
        xs.iter().zip(bytes).map(move |(x, &bytes)| x.ptr.wrapping_add(element * bytes))
    }

    /// Runs the loop. `reads` are the initial carry, the scanned tensors, and the external buffers of body and
    /// condition; `writes` are the final carry, the stacked tensors and the tape.
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
        let mut signals = Signals::default();
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
            // SAFETY: source and destination hold the carry; the final carry is a separate buffer.
            unsafe { settle(from, to, bytes) };
        }
        Ok(trace)
    }

    /// Evaluates the condition; true without one.
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
        // SAFETY: the pointers have the dtypes and shapes of the trace and live during this call; the result is one
        // byte.
        let (found, _) = unsafe { placement.run(session, &given, &[], place, |_| place)? };
        // SAFETY: the result is one boolean.
        Ok(unsafe { *found[0] } != 0)
    }
}

impl Trace {
    /// Allocates the tape of another iteration.
    fn tape(&mut self, bytes: usize) -> Result<Place> {
        let tape = Storage::alloc(bytes)?;
        let start = tape.ptr();
        self.tapes.push(tape);
        Ok(start)
    }
}
