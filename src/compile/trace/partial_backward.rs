//! The backward pass for a subset of the cotangents: propagates missing gradients (symbolic zeros) through the traced
//! steps.
//!
//! Invariant: the remaining steps are those that an eager backward pass from the other results would launch; `None`
//! if the trace does not determine them.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::joint::Taken;
use crate::compile::exec::Program;
use crate::compile::exec::program::ReadOutside;
use crate::compile::ir::{Action, Argument, Buffer, Output, Slice, Source, Step};
use crate::compile::passes::constant_folding::is_whole;
use crate::kernels::host_call::Host;
use crate::kernels::launch::Work;

/// The traced steps of a backward pass from several results.
#[derive(Clone)]
pub(in crate::compile) struct Partial {
    pub(in crate::compile) taken: Taken,
    pub(in crate::compile) inputs: usize,
    pub(in crate::compile) steps: Vec<Step>,
    pub(in crate::compile) buffers: Vec<Buffer>,
    pub(in crate::compile) derived: Vec<Output>,
    pub(in crate::compile) objects: usize,
    pub(in crate::compile) read: ReadOutside,
    pub(in crate::compile) hosts: Vec<Arc<dyn Host>>,
}

/// A backward executable for a subset of the cotangents.
pub struct Narrowed {
    /// It has the inputs of the full one, and does not read a missing cotangent.
    pub program: Program,
    /// For each output of the full executable its index among the outputs of this one; `None` if it has no gradient.
    pub numbers: Vec<Option<usize>>,
}

/// What a buffer holds.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    /// A value that the pass reads and does not write.
    Given,
    /// A fill with one number.
    Blank,
    /// A value computed from no gradient, maybe a gradient that does not depend on the cotangents.
    Own,
    /// A gradient.
    Gradient,
    /// A running sum of gradients from before the pass, to which nothing was added.
    Sum,
    /// A missing gradient.
    Nothing,
    /// A missing gradient, as zeros: part of a concatenated gradient.
    Zeros,
}
use Holds::{Blank, Given, Gradient, Nothing, Own, Sum, Zeros};

impl Partial {
    /// The executable for all cotangents.
    pub(in crate::compile) fn whole(self) -> Program {
        let Partial { steps, buffers, inputs, derived, objects, read, hosts, .. } = self;
        Program::new(steps, buffers, inputs, derived, objects, read, hosts)
    }

    /// The executable for these cotangents.
    pub(in crate::compile) fn narrowed(&self, given: &[bool]) -> Option<Narrowed> {
        let mut pass = Pass::begin(self, given);
        let mut steps = Vec::new();
        for step in &self.steps {
            steps.extend(pass.step(step)?);
        }
        let mut outputs = Vec::new();
        let mut numbers = Vec::new();
        for output in &self.derived {
            numbers.push(match pass.holds[output.buffer as usize] {
                Gradient => Some(outputs.len()),
                Sum | Nothing | Zeros => None,
                Given | Blank | Own => return None,
            });
            outputs.extend(numbers.last()?.map(|_| output.clone()));
        }
        let mut buffers = self.buffers.clone();
        for (id, buffer) in (0..).zip(&mut buffers) {
            let is_result = outputs.iter().any(|output: &Output| output.buffer == id);
            if matches!(buffer.source, Source::Output) && !is_result {
                buffer.source = Source::Temporary;
            }
        }
        let (read, hosts) = (self.read.clone(), self.hosts.clone());
        let left = Partial { steps, buffers, derived: outputs, read, hosts, ..*self };
        Some(Narrowed { program: left.whole(), numbers })
    }
}

/// Propagates the contents of buffers through the steps.
struct Pass<'p> {
    buffers: &'p [Buffer],
    holds: Vec<Holds>,
}

impl<'p> Pass<'p> {
    fn begin(of: &'p Partial, given: &[bool]) -> Pass<'p> {
        let Taken { arguments, cotangents, sums } = of.taken;
        let holds = |buffer: &Buffer| match buffer
            .source
            .input()
            .and_then(|input| input.checked_sub(arguments))
        {
            Some(number) if number < cotangents => [Nothing, Gradient][given[number] as usize],
            Some(number) if number < cotangents + sums => Sum,
            _ => Given,
        };
        Pass { buffers: &of.buffers, holds: of.buffers.iter().map(holds).collect() }
    }

    fn of(&self, slice: &Slice) -> Holds {
        self.holds[slice.buffer as usize]
    }

    /// What remains of a step; outer `None` if that cannot be decided.
    fn step(&mut self, step: &Step) -> Option<Option<Step>> {
        let read: Vec<Holds> = step.reads.iter().map(|read| self.of(read)).collect();
        let has = |what: &[Holds]| read.iter().any(|holds| what.contains(holds));
        let (missing, there) = (has(&[Nothing, Zeros]), has(&[Gradient, Sum]));
        // Undecidable: whether the eager pass would reach an operation whose gradient is a constant.
        if (missing || there) && has(&[Blank, Own]) && operands(step).is_some() {
            return None;
        }
        let is_copy = matches!(step.action, Action::Copy);
        let now = match (missing, there) {
            (true, true) => return self.added(step),
            (true, false) if is_copy => Zeros,
            (true, false) => Nothing,
            (false, true) if is_copy => read[0],
            (false, true) => Gradient,
            (false, false) if matches!(step.action, Action::Fill(_)) => Blank,
            (false, false) => Own,
        };
        for slice in &step.writes {
            self.write(slice, now)?;
        }
        Some(match now {
            Nothing => None,
            Zeros => Some(Step::new("fill", SmallVec::new(), step.writes.clone(), Work::Fill(0))),
            _ => Some(step.clone()),
        })
    }

    /// The sum of a gradient and a missing one: a copy of the gradient.
    fn added(&mut self, step: &Step) -> Option<Option<Step>> {
        let (a, b) = operands(step)?;
        let is_missing = |slice: &Slice| matches!(self.of(slice), Nothing | Zeros);
        let there = if is_missing(a) { b } else { a };
        let (to, now) = (&step.writes[0], self.of(there));
        if is_missing(there) || there.dims != to.dims || there.dtype != to.dtype {
            return None;
        }
        self.write(to, now)?;
        let copy =
            || Step::new("copy", smallvec![there.clone()], smallvec![to.clone()], Work::Copy);
        Some((there != to).then(copy))
    }

    /// Updates the contents of a buffer that is written, in part or whole.
    fn write(&mut self, slice: &Slice, now: Holds) -> Option<()> {
        let whole = is_whole(slice, self.buffers);
        let holds = &mut self.holds[slice.buffer as usize];
        *holds = match (*holds, now) {
            (_, now) if whole => now,
            (before, now) if before == now => now,
            (before, Blank) => before,
            (Given | Blank, now) => now,
            (Gradient | Sum | Own, Gradient | Sum) | (Gradient | Sum, Own) => Gradient,
            (Gradient, Zeros) | (Zeros, Gradient) => Gradient,
            (Nothing, Zeros) | (Zeros, Nothing) => Nothing,
            _ => return None,
        };
        Some(())
    }
}

/// The operands of an addition.
fn operands(step: &Step) -> Option<(&Slice, &Slice)> {
    let map = step.map().filter(|map| map.formula().1 == "a + b")?;
    match &map.ins[..] {
        [Argument::Slice(a), Argument::Slice(b)] => Some((a, b)),
        _ => None,
    }
}
