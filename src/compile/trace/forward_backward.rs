//! Splits a trace into a forward and a backward executable.
//!
//! Invariant: a residual is written by the forward executable only, so that the backward one can run again.

use super::symbolic_zeros::{BackwardTrace, PartialBackward};
use super::tracer::{TracedResult, Tracer, refusal};
use crate::array::Storage;
use crate::compile::exec::Executable;
use crate::compile::ir::{Buffer, BufferId, Output, Source, Step};
use crate::compile::passes::constant_folding::writers;
use crate::error::Result;

/// A forward and a backward executable of one trace.
pub struct ForwardBackward {
    /// Computes the results, and the residuals as further results.
    pub forward: Executable,
    /// Its inputs are arguments, cotangents, and residuals.
    pub backward: Executable,
    /// The buffers of `forward` that are the last inputs of `backward`.
    pub residuals: Vec<BufferId>,
    /// External memory that follows as inputs of the backward executable, and in a subprogram also of the forward
    /// one.
    pub external: Vec<Storage>,
    /// The trace of the backward pass, if it has several cotangents.
    backward_trace: Option<Box<BackwardTrace>>,
}

/// The inputs of a forward and a backward pass.
#[derive(Clone, Copy)]
pub struct InputCounts {
    /// Arguments of both.
    pub arguments: usize,
    /// Gradients of results.
    pub cotangents: usize,
    /// Running sums of gradients, to which the backward pass adds.
    pub sums: usize,
}

impl ForwardBackward {
    /// The backward executable for these cotangents only; `None` if the trace does not determine it.
    pub fn for_cotangents(&self, present: &[bool]) -> Option<PartialBackward> {
        self.backward_trace.as_ref()?.for_cotangents(present)
    }

    /// In a subprogram: for each argument, then for each external buffer, whether the backward executable reads it.
    pub(in crate::compile) fn read_backward(
        &self,
        arguments: usize,
        external: usize,
    ) -> impl Iterator<Item = bool> + '_ {
        let inputs = self.backward.inputs();
        let all = (0..arguments).chain(inputs - external..inputs);
        all.map(|input| self.backward.reads_input(input))
    }
}

/// Turns external buffers that these steps do not write into inputs, from index `first` on; returns them in this
/// order.
fn external_to_inputs(buffers: &mut [Buffer], steps: &[Step], first: usize) -> Vec<Storage> {
    let writers = writers(steps, buffers.len());
    let mut inputs = Vec::new();
    for (buffer, writers) in buffers.iter_mut().zip(writers) {
        if let Source::External(storage) = &buffer.source
            && writers == 0
        {
            let number = first + inputs.len();
            inputs.push(storage.data_handle());
            buffer.source = Source::Input(number);
        }
    }
    inputs
}

impl Tracer {
    /// Ends the trace and makes two executables: the steps before `split` compute `results` from the arguments, the
    /// others compute `derived` from all inputs and the residuals. External memory is restored: neither counts as
    /// run. `None` as `finish`.
    ///
    /// # Errors
    /// As `finish`; `NotTraceable` if the backward pass changes values of the forward pass in place.
    pub fn finish_with_backward(
        self,
        counts: InputCounts,
        results: &[TracedResult<'_>],
        derived: &[TracedResult<'_>],
        held: &[&Storage],
        may_keep: bool,
    ) -> Result<Option<ForwardBackward>> {
        let is_subprogram = self.is_subprogram;
        let (mut arguments, cotangents) = (counts.arguments, counts.cotangents + counts.sums);
        let all: Vec<TracedResult<'_>> = results.iter().chain(derived).copied().collect();
        let (mut steps, mut outputs, guards) = self.finish_steps(&all, held, may_keep)?;
        if steps.values_escape {
            steps.roll_back();
            return Ok(None);
        }
        let backward_steps = steps.steps.split_off(steps.split);
        let forward_steps = steps.with_constants();
        let derived = outputs.split_off(results.len());
        let refused = || refusal("the backward pass changes values of the forward pass in place");
        let residuals = find_residuals(&forward_steps, &backward_steps, &derived, &steps.buffers)
            .ok_or_else(refused)
            .inspect_err(|_| steps.roll_back())?;
        let (mut forward, mut backward) =
            split_buffers(&steps.buffers, &residuals, &derived, (arguments, cotangents));
        let inputs = arguments + cotangents + residuals.len();
        let external = external_to_inputs(&mut backward, &backward_steps, inputs);
        let inputs = inputs + external.len();
        if is_subprogram {
            arguments += external_to_inputs(&mut forward, &forward_steps, arguments).len();
        }
        steps.roll_back();
        let (objects, hosts, needs_all) = (steps.objects, steps.hosts, steps.needs_all_cotangents);
        let forward = Executable::new(
            forward_steps,
            forward,
            arguments,
            outputs,
            objects,
            guards.clone(),
            hosts.clone(),
        );
        let (steps, buffers) = (backward_steps, backward);
        let backward =
            BackwardTrace { counts, inputs, steps, buffers, derived, objects, guards, hosts };
        let is_reducible = counts.cotangents > 1 && !needs_all;
        let backward_trace = is_reducible.then(|| Box::new(backward.clone()));
        let backward = backward.into_executable();
        Ok(Some(ForwardBackward { forward, backward, residuals, external, backward_trace }))
    }
}

/// The buffers that the forward steps write and the backward steps or results use; `None` if a backward step writes
/// one of them.
fn find_residuals(
    forward_steps: &[Step],
    backward_steps: &[Step],
    derived: &[Output],
    buffers: &[Buffer],
) -> Option<Vec<BufferId>> {
    let mut is_written = vec![false; buffers.len()];
    forward_steps.iter().flat_map(|s| &s.writes).for_each(|w| is_written[w.buffer as usize] = true);
    let is_owned =
        |id: BufferId| matches!(buffers[id as usize].source, Source::Temporary | Source::Output);
    if backward_steps
        .iter()
        .flat_map(|s| &s.writes)
        .any(|w| is_written[w.buffer as usize] && is_owned(w.buffer))
    {
        return None;
    }
    let mut residuals: Vec<BufferId> = Vec::new();
    let used =
        backward_steps.iter().flat_map(Step::buffers).chain(derived.iter().map(|d| d.buffer));
    for id in used.filter(|id| is_owned(*id)) {
        if is_written[id as usize] && !residuals.contains(&id) {
            residuals.push(id);
        }
    }
    Some(residuals)
}

/// The buffers as the forward and as the backward executable see them. `derived` are the results of the backward one.
fn split_buffers(
    all: &[Buffer],
    residuals: &[BufferId],
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
