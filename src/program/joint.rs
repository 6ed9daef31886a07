//! Two programs of one recording: a forward pass, and the backward pass that takes what the forward pass leaves.
//!
//! Owns: which buffers are residuals, and the buffers as each program sees them. Never a step: those are cut at one place.
//! Invariant: a residual is written by the forward pass only, so that the backward pass can run again.

use super::run::Program;
use super::step::{Buffer, Id, Output, Source, Step};

/// A forward pass and its backward pass.
pub struct Joint {
    /// Computes the results, and the residuals as further memory of results.
    pub forward: Program,
    /// Takes arguments, cotangents, and residuals.
    pub backward: Program,
    /// The buffers of `forward` that are the last inputs of `backward`.
    pub residuals: Vec<Id>,
}

/// The buffers that the first part writes and the second one, or one of its results, uses; `None` where the second part
/// writes one of them.
pub(super) fn residuals(
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

/// The buffers as the first program and as the second one sees them. `derived` are the results of the second.
pub(super) fn buffers(
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
