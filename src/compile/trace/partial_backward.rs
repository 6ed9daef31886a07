//! The backward pass where some results have no gradient: what is left of the steps that were recorded for all of them.
//!
//! Owns: which steps those are. Never runs one. Invariant: they are those that a pass from the other results takes; where
//! that cannot be told from the steps, there is no such program.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::joint::Taken;
use crate::compile::exec::Program;
use crate::compile::exec::program::ReadOutside;
use crate::compile::ir::{Action, Argument, Buffer, Output, Slice, Source, Step};
use crate::compile::passes::constant_folding::is_whole;
use crate::kernels::host_call::Host;
use crate::kernels::launch::Work;

/// The recorded steps of a backward pass from several results.
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

/// A backward program from some of the results.
pub struct Narrowed {
    /// It takes the inputs of the whole one, and reads no gradient that is missing.
    pub program: Program,
    /// For each result of the whole program, its number among those of this one; none where it has no gradient.
    pub numbers: Vec<Option<usize>>,
}

/// What a buffer holds.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    /// What the pass reads and does not write.
    Given,
    /// What it fills with a number.
    Blank,
    /// What it computes from no gradient: perhaps the gradient of something that does not depend on its operands.
    Own,
    /// A gradient.
    Gradient,
    /// The sum of gradients that were there before the pass, and nothing else.
    Sum,
    /// A gradient that is missing.
    Nothing,
    /// The same, and zeros: gradients of parts that are joined are zeros where there is none.
    Zeros,
}
use Holds::{Blank, Given, Gradient, Nothing, Own, Sum, Zeros};

impl Partial {
    /// The program for gradients of all results.
    pub(in crate::compile) fn whole(self) -> Program {
        let Partial { steps, buffers, inputs, derived, objects, read, hosts, .. } = self;
        Program::new(steps, buffers, inputs, derived, objects, read, hosts)
    }

    /// The program for gradients of those results that `given` says.
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

/// A walk over the steps.
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

    /// What is left of a step; nothing at all where that cannot be told.
    fn step(&mut self, step: &Step) -> Option<Option<Step>> {
        let read: Vec<Holds> = step.reads.iter().map(|read| self.of(read)).collect();
        let has = |what: &[Holds]| read.iter().any(|holds| what.contains(holds));
        let (missing, there) = (has(&[Nothing, Zeros]), has(&[Gradient, Sum]));
        // Whether the pass comes to an operation that gives a constant for a gradient, nobody can tell.
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

    /// A sum of a gradient and one that is missing: that gradient.
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

    /// Takes note that elements of a buffer are written.
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

/// The operands of a sum of two.
fn operands(step: &Step) -> Option<(&Slice, &Slice)> {
    let map = step.map().filter(|map| map.formula().1 == "a + b")?;
    match &map.ins[..] {
        [Argument::Slice(a), Argument::Slice(b)] => Some((a, b)),
        _ => None,
    }
}
