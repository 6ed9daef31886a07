//! Dead step elimination.
//!
//! Invariant: a step that calls host code, or makes objects for later steps, is kept.

use crate::compile::ir::{Action, Buffer, BufferId, BufferView, Output, Source, Step};

/// Eliminates steps whose outputs are never read.
pub(in crate::compile) fn eliminate_dead(
    steps: &mut Vec<Step>,
    buffers: &[Buffer],
    outputs: &[Output],
) {
    let is_observable =
        |buffer: &Buffer| matches!(buffer.source, Source::Output | Source::External(_));
    let mut needed: Vec<bool> = buffers.iter().map(is_observable).collect();
    outputs.iter().for_each(|output| needed[output.buffer as usize] = true);
    let mut needed_steps: Vec<bool> = vec![true; steps.len()];
    for (step, needed_steps) in steps.iter().zip(&mut needed_steps).rev() {
        // A step without outputs makes objects for later steps; host code has side effects.
        let is_needed = step.writes.is_empty()
            || step.calls_host()
            || step.writes.iter().any(|w| needed[w.buffer as usize]);
        *needed_steps = is_needed;
        if is_needed {
            overwritten_buffers(step, buffers).for_each(|id| needed[id as usize] = false);
            step.reads.iter().for_each(|read| needed[read.buffer as usize] = true);
        }
    }
    let mut needed_steps = needed_steps.into_iter();
    steps.retain(|_| needed_steps.next().unwrap_or(true));
}

/// The temporaries that a step overwrites completely, so that earlier writes to them are dead.
fn overwritten_buffers<'s>(
    step: &'s Step,
    buffers: &'s [Buffer],
) -> impl Iterator<Item = BufferId> + 's {
    let overwrites =
        matches!(step.action, Action::Map(_) | Action::Fill(_) | Action::Copy | Action::Reduce(..));
    let covers_buffer = move |w: &&BufferView| {
        let Buffer { source, nbytes } = &buffers[w.buffer as usize];
        let is_injective =
            w.dims.iter().zip(&w.strides).all(|(&dim, &stride)| dim == 1 || stride != 0);
        matches!(source, Source::Temporary) && is_injective && w.numel() * w.dtype.size() == *nbytes
    };
    step.writes.iter().filter(move |w| overwrites && covers_buffer(w)).map(|w| w.buffer)
}
