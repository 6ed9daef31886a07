//! Common subexpression elimination of element-wise loops, fills, copies and reductions. Parameters of other kernels
//! cannot be compared.
//!
//! Invariant: a step reads the same values as before.

use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use super::constant_folding::{is_whole, writers};
use super::copy_elision::Aliases;
use crate::array::hash::{FastHasher, FastMap};
use crate::compile::ir::{Action, Buffer, BufferId, BufferView, MapOperand, Source, Step};

/// How often each operand of a step was written before it.
type Versions = SmallVec<[u32; 4]>;

/// Eliminates steps that compute what an earlier step computed.
pub(in crate::compile) fn eliminate(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let writers = writers(steps, buffers.len());
    let mut versions = vec![0u32; buffers.len()];
    // External memory and arguments may overlap: they share one version.
    let mut external = 0u32;
    // For each hash a step, and the versions of its operands.
    let mut candidates: FastMap<u64, (usize, Versions)> = FastMap::default();
    let mut aliases = Aliases::new(buffers.len());
    let mut eliminated = vec![false; steps.len()];
    for index in 0..steps.len() {
        steps[index].rename_buffers(|buffer| aliases.resolve(buffer));
        let step = &steps[index];
        let whole_temporary = |slice: &BufferView| {
            let buffer = &buffers[slice.buffer as usize];
            writers[slice.buffer as usize] == 1
                && matches!(buffer.source, Source::Temporary)
                && is_whole(slice, buffers)
        };
        if let [out] = &step.writes[..]
            && whole_temporary(out)
            && is_comparable(step)
        {
            let version = |read: &BufferView| match is_external(read.buffer, buffers) {
                true => external,
                false => versions[read.buffer as usize],
            };
            let read: Versions = step.reads.iter().map(version).collect();
            let hash = hash(step, &read);
            match candidates.get(&hash) {
                Some((first, before)) if *before == read && is_same(&steps[*first], step) => {
                    aliases.set(out.buffer, steps[*first].writes[0].buffer);
                    eliminated[index] = true;
                    continue;
                }
                _ => candidates.insert(hash, (index, read)),
            };
        }
        // Host code may write external memory.
        external += step.calls_host() as u32;
        for written in &step.writes {
            versions[written.buffer as usize] += 1;
            external += is_external(written.buffer, buffers) as u32;
        }
    }
    let mut eliminated = eliminated.into_iter();
    steps.retain(|_| !eliminated.next().unwrap_or(false));
}

fn is_external(buffer: BufferId, buffers: &[Buffer]) -> bool {
    matches!(buffers[buffer as usize].source, Source::External(_) | Source::Input(_))
}

/// Whether the computation of a step can be compared.
fn is_comparable(step: &Step) -> bool {
    matches!(step.action, Action::Map(_) | Action::Fill(_) | Action::Copy | Action::Reduce(..))
}

/// A hash of the computation and its operands.
fn hash(step: &Step, versions: &Versions) -> u64 {
    let mut mixer = FastHasher::default();
    match &step.action {
        Action::Map(map) => {
            map.table.address().hash(&mut mixer);
            for argument in &map.ins {
                match argument {
                    MapOperand::Number(bits, _) => bits.hash(&mut mixer),
                    MapOperand::BufferView(slice) => (slice.buffer, slice.offset).hash(&mut mixer),
                }
            }
        }
        Action::Fill(bits) => bits.hash(&mut mixer),
        _ => step.reads.iter().for_each(|read| (read.buffer, read.offset).hash(&mut mixer)),
    }
    step.writes[0].dims.hash(&mut mixer);
    versions.hash(&mut mixer);
    mixer.finish()
}

/// Whether two steps compute the same value from operands of the same versions.
fn is_same(one: &Step, other: &Step) -> bool {
    let ([a], [b]) = (&one.writes[..], &other.writes[..]) else { return false };
    if (a.dtype, &a.dims) != (b.dtype, &b.dims) {
        return false;
    }
    match (&one.action, &other.action) {
        (Action::Map(one), Action::Map(other)) => {
            let params = || one.params.iter().zip(&other.params);
            one.table.address() == other.table.address()
                && one.ins == other.ins
                && one.params.len() == other.params.len()
                && params().all(|(a, b)| a.to_bits() == b.to_bits())
        }
        (Action::Fill(one), Action::Fill(other)) => one == other,
        (Action::Copy, Action::Copy) => one.reads == other.reads,
        (Action::Reduce(op, axes), Action::Reduce(other_op, other_axes)) => {
            (op, axes, &one.reads) == (other_op, other_axes, &other.reads)
        }
        _ => false,
    }
}
