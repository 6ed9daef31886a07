//! Splits a trace into a forward and a backward executable.
//!
//! Invariant: a residual is written by the forward executable only, so that the backward one can run again.

use super::partial_backward::{Narrowed, Partial};
use super::recorder::{Recorded, Recording, refusal};
use crate::array::Storage;
use crate::compile::exec::Program;
use crate::compile::ir::{Buffer, Id, Output, Source, Step};
use crate::compile::passes::constant_folding::writers;
use crate::error::Result;

/// A forward and a backward executable of one trace.
pub struct Joint {
    /// Computes the results, and the residuals as further results.
    pub forward: Program,
    /// Its inputs are arguments, cotangents, and residuals.
    pub backward: Program,
    /// The buffers of `forward` that are the last inputs of `backward`.
    pub residuals: Vec<Id>,
    /// External memory that follows as inputs of the backward executable, and in a subprogram also of the forward
    /// one.
    pub outside: Vec<Storage>,
    /// The trace of the backward pass, if it has several cotangents.
    partial: Option<Box<Partial>>,
}

/// The inputs of a forward and a backward pass.
#[derive(Clone, Copy)]
pub struct Taken {
    /// Arguments of both.
    pub arguments: usize,
    /// Gradients of results.
    pub cotangents: usize,
    /// Running sums of gradients, to which the backward pass adds.
    pub sums: usize,
}

impl Joint {
    /// The backward executable for these cotangents only; `None` if the trace does not determine it.
    pub fn narrowed(&self, given: &[bool]) -> Option<Narrowed> {
        self.partial.as_ref()?.narrowed(given)
    }

    /// In a subprogram: for each argument, then for each external buffer, whether the backward executable reads it.
    pub(in crate::compile) fn read_backward(
        &self,
        arguments: usize,
        outside: usize,
    ) -> impl Iterator<Item = bool> + '_ {
        let inputs = self.backward.inputs();
        let all = (0..arguments).chain(inputs - outside..inputs);
        all.map(|input| self.backward.reads_input(input))
    }
}

/// Turns external buffers that these steps do not write into inputs, from index `first` on; returns them in this
/// order.
fn outside_as_inputs(buffers: &mut [Buffer], steps: &[Step], first: usize) -> Vec<Storage> {
    let writers = writers(steps, buffers.len());
    let mut found = Vec::new();
    for (buffer, writers) in buffers.iter_mut().zip(writers) {
        if let Source::Outside(storage) = &buffer.source
            && writers == 0
        {
            let number = first + found.len();
            found.push(storage.data_handle());
            buffer.source = Source::Input(number);
        }
    }
    found
}

impl Recording {
    /// Ends the trace and makes two executables: the steps before `split` compute `results` from the arguments, the
    /// others compute `derived` from all inputs and the residuals. External memory is restored: neither counts as
    /// run. `None` as `finish`.
    ///
    /// # Errors
    /// As `finish`; `Captured` if the backward pass changes values of the forward pass in place.
    pub fn finish_joint(
        self,
        taken: Taken,
        results: &[Recorded<'_>],
        derived: &[Recorded<'_>],
        held: &[&Storage],
        may_keep: bool,
    ) -> Result<Option<Joint>> {
        let part = self.part;
        let (arguments, cotangents) = (taken.arguments, taken.cotangents + taken.sums);
        let all: Vec<Recorded<'_>> = results.iter().chain(derived).copied().collect();
        let (mut steps, mut outputs, read) = self.end_with(&all, held, may_keep)?;
        if steps.kept {
            steps.give_back();
            return Ok(None);
        }
        let second = steps.steps.split_off(steps.split);
        let first = steps.with_constants();
        let derived = outputs.split_off(results.len());
        let Some(residuals) = residuals_of(&first, &second, &derived, &steps.buffers) else {
            steps.give_back();
            return Err(refusal("the backward pass changes values of the forward pass in place"));
        };
        let (mut forward, mut backward) =
            buffers_of(&steps.buffers, &residuals, &derived, (arguments, cotangents));
        let inputs = arguments + cotangents + residuals.len();
        let outside = outside_as_inputs(&mut backward, &second, inputs);
        let inputs = inputs + outside.len();
        let arguments = if part {
            arguments + outside_as_inputs(&mut forward, &first, arguments).len()
        } else {
            arguments
        };
        steps.give_back();
        let (objects, hosts, whole) = (steps.objects, steps.hosts, steps.whole);
        let again = (read.clone(), hosts.clone());
        let forward = Program::new(first, forward, arguments, outputs, objects, again.0, again.1);
        let (steps, buffers) = (second, backward);
        let backward = Partial { taken, inputs, steps, buffers, derived, objects, read, hosts };
        let has_parts = taken.cotangents > 1 && !whole;
        let partial = has_parts.then(|| Box::new(backward.clone()));
        let backward = backward.whole();
        Ok(Some(Joint { forward, backward, residuals, outside, partial }))
    }
}

/// The buffers that the forward steps write and the backward steps or results use; `None` if a backward step writes
/// one of them.
fn residuals_of(
    first: &[Step],
    second: &[Step],
    derived: &[Output],
    buffers: &[Buffer],
) -> Option<Vec<Id>> {
    let mut written = vec![false; buffers.len()];
    first.iter().flat_map(|s| &s.writes).for_each(|w| written[w.buffer as usize] = true);
    let own = |id: Id| matches!(buffers[id as usize].source, Source::Temporary | Source::Output);
    if second.iter().flat_map(|s| &s.writes).any(|w| written[w.buffer as usize] && own(w.buffer)) {
        return None;
    }
    let mut found: Vec<Id> = Vec::new();
    let used = second.iter().flat_map(Step::buffers).chain(derived.iter().map(|d| d.buffer));
    for id in used.filter(|id| own(*id)) {
        if written[id as usize] && !found.contains(&id) {
            found.push(id);
        }
    }
    Some(found)
}

/// The buffers as the forward and as the backward executable see them. `derived` are the results of the backward one.
fn buffers_of(
    all: &[Buffer],
    residuals: &[Id],
    derived: &[Output],
    (arguments, cotangents): (usize, usize),
) -> (Vec<Buffer>, Vec<Buffer>) {
    let (mut forward, mut backward) = (all.to_vec(), all.to_vec());
    for (id, (first, second)) in (0..).zip(forward.iter_mut().zip(&mut backward)) {
        let residual = residuals.iter().position(|residual| *residual == id);
        let is_derived = derived.iter().any(|output| output.buffer == id);
        match (&all[id as usize].source, residual) {
            (_, Some(k)) => {
                first.source = Source::Output;
                second.source = Source::Input(arguments + cotangents + k);
            }
            (Source::Input(n), None) if *n >= arguments => first.source = Source::Unused,
            (Source::Output, None) if is_derived => first.source = Source::Unused,
            (Source::Output, None) => second.source = Source::Unused,
            _ => {}
        }
    }
    (forward, backward)
}
