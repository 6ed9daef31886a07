//! The backward pass for a subset of the cotangents: propagates missing gradients (symbolic zeros) through the traced
//! steps.
//!
//! Invariant: the remaining steps are those that an eager backward pass from the other results would launch; `None`
//! if the trace does not determine them.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::forward_backward::InputCounts;
use crate::compile::exec::Executable;
use crate::compile::exec::executable::VersionGuards;
use crate::compile::ir::{Action, Buffer, BufferView, MapOperand, Output, Source, Step};
use crate::compile::passes::constant_folding::is_whole;
use crate::kernels::launch::HostFunction;
use crate::kernels::launch::LaunchKind;

/// The traced steps of a backward pass from several results.
#[derive(Clone)]
pub(in crate::compile) struct BackwardTrace {
    pub(in crate::compile) counts: InputCounts,
    pub(in crate::compile) inputs: usize,
    pub(in crate::compile) steps: Vec<Step>,
    pub(in crate::compile) buffers: Vec<Buffer>,
    pub(in crate::compile) derived: Vec<Output>,
    pub(in crate::compile) objects: usize,
    pub(in crate::compile) guards: VersionGuards,
    pub(in crate::compile) hosts: Vec<Arc<dyn HostFunction>>,
}

/// A backward executable for a subset of the cotangents.
pub struct PartialBackward {
    /// It has the inputs of the full one, and does not read a missing cotangent.
    pub program: Executable,
    /// For each output of the full executable its index among the outputs of this one; `None` if it has no gradient.
    pub output_indices: Vec<Option<usize>>,
}

/// What a buffer holds.
#[derive(Clone, Copy, PartialEq)]
enum KnownContents {
    /// A value that the pass reads and does not write.
    Primal,
    /// A fill with one number.
    Fill,
    /// A value computed from no gradient, maybe a gradient that does not depend on the cotangents.
    Computed,
    /// A gradient.
    Gradient,
    /// A running sum of gradients from before the pass, to which nothing was added.
    RunningSum,
    /// A missing gradient.
    Missing,
    /// A missing gradient, as zeros: part of a concatenated gradient.
    MissingZeros,
}
use KnownContents::{Computed, Fill, Gradient, Missing, MissingZeros, Primal, RunningSum};

impl BackwardTrace {
    /// The executable for all cotangents.
    pub(in crate::compile) fn into_executable(self) -> Executable {
        let BackwardTrace { steps, buffers, inputs, derived, objects, guards, hosts, .. } = self;
        Executable::new(steps, buffers, inputs, derived, objects, guards, hosts)
    }

    /// The executable for these cotangents.
    pub(in crate::compile) fn for_cotangents(&self, present: &[bool]) -> Option<PartialBackward> {
        let mut propagation = ZeroPropagation::begin(self, present);
        let mut steps = Vec::new();
        for step in &self.steps {
            steps.extend(propagation.step(step)?);
        }
        let mut outputs = Vec::new();
        let mut output_indices = Vec::new();
        for output in &self.derived {
            output_indices.push(match propagation.contents[output.buffer as usize] {
                Gradient => Some(outputs.len()),
                RunningSum | Missing | MissingZeros => None,
                Primal | Fill | Computed => return None,
            });
            outputs.extend(output_indices.last()?.map(|_| output.clone()));
        }
        let mut buffers = self.buffers.clone();
        for (id, buffer) in (0..).zip(&mut buffers) {
            let is_result = outputs.iter().any(|output: &Output| output.buffer == id);
            if matches!(buffer.source, Source::Output) && !is_result {
                buffer.source = Source::Temporary;
            }
        }
        let (guards, hosts) = (self.guards.clone(), self.hosts.clone());
        let remaining = BackwardTrace { steps, buffers, derived: outputs, guards, hosts, ..*self };
        Some(PartialBackward { program: remaining.into_executable(), output_indices })
    }
}

/// Propagates the contents of buffers through the steps.
struct ZeroPropagation<'p> {
    buffers: &'p [Buffer],
    contents: Vec<KnownContents>,
}

impl<'p> ZeroPropagation<'p> {
    fn begin(of: &'p BackwardTrace, present: &[bool]) -> ZeroPropagation<'p> {
        let InputCounts { arguments, cotangents, sums } = of.counts;
        let contents = |buffer: &Buffer| match buffer
            .source
            .input()
            .and_then(|input| input.checked_sub(arguments))
        {
            Some(number) if number < cotangents => [Missing, Gradient][present[number] as usize],
            Some(number) if number < cotangents + sums => RunningSum,
            _ => Primal,
        };
        ZeroPropagation {
            buffers: &of.buffers,
            contents: of.buffers.iter().map(contents).collect(),
        }
    }

    fn of(&self, slice: &BufferView) -> KnownContents {
        self.contents[slice.buffer as usize]
    }

    /// What remains of a step; outer `None` if that cannot be decided.
    fn step(&mut self, step: &Step) -> Option<Option<Step>> {
        let read: Vec<KnownContents> = step.reads.iter().map(|read| self.of(read)).collect();
        let reads_any =
            |what: &[KnownContents]| read.iter().any(|contents| what.contains(contents));
        let (missing, gradient) =
            (reads_any(&[Missing, MissingZeros]), reads_any(&[Gradient, RunningSum]));
        // Undecidable: whether the eager pass would reach an operation whose gradient is a constant.
        if (missing || gradient) && reads_any(&[Fill, Computed]) && addends(step).is_some() {
            return None;
        }
        let is_copy = matches!(step.action, Action::Copy);
        let written = match (missing, gradient) {
            (true, true) => return self.simplify_add(step),
            (true, false) if is_copy => MissingZeros,
            (true, false) => Missing,
            (false, true) if is_copy => read[0],
            (false, true) => Gradient,
            (false, false) if matches!(step.action, Action::Fill(_)) => Fill,
            (false, false) => Computed,
        };
        for slice in &step.writes {
            self.write(slice, written)?;
        }
        Some(match written {
            Missing => None,
            MissingZeros => {
                Some(Step::new("fill", SmallVec::new(), step.writes.clone(), LaunchKind::Fill(0)))
            }
            _ => Some(step.clone()),
        })
    }

    /// The sum of a gradient and a missing one: a copy of the gradient.
    fn simplify_add(&mut self, step: &Step) -> Option<Option<Step>> {
        let (a, b) = addends(step)?;
        let is_missing = |slice: &BufferView| matches!(self.of(slice), Missing | MissingZeros);
        let gradient = if is_missing(a) { b } else { a };
        let (to, written) = (&step.writes[0], self.of(gradient));
        if is_missing(gradient) || gradient.dims != to.dims || gradient.dtype != to.dtype {
            return None;
        }
        self.write(to, written)?;
        let copy = || {
            Step::new("copy", smallvec![gradient.clone()], smallvec![to.clone()], LaunchKind::Copy)
        };
        Some((gradient != to).then(copy))
    }

    /// Updates the contents of a buffer that is written, in part or whole.
    fn write(&mut self, slice: &BufferView, written: KnownContents) -> Option<()> {
        let is_whole_slice = is_whole(slice, self.buffers);
        let contents = &mut self.contents[slice.buffer as usize];
        *contents = match (*contents, written) {
            (_, written) if is_whole_slice => written,
            (before, written) if before == written => written,
            (before, Fill) => before,
            (Primal | Fill, written) => written,
            (Gradient | RunningSum | Computed, Gradient | RunningSum)
            | (Gradient | RunningSum, Computed) => Gradient,
            (Gradient, MissingZeros) | (MissingZeros, Gradient) => Gradient,
            (Missing, MissingZeros) | (MissingZeros, Missing) => Missing,
            _ => return None,
        };
        Some(())
    }
}

/// The operands of an addition.
fn addends(step: &Step) -> Option<(&BufferView, &BufferView)> {
    let map = step.map().filter(|map| map.formula().1 == "a + b")?;
    match &map.ins[..] {
        [MapOperand::BufferView(a), MapOperand::BufferView(b)] => Some((a, b)),
        _ => None,
    }
}
