//! Common subexpression elimination of element-wise loops, fills, copies and reductions. Parameters of other kernels
//! cannot be compared.
//!
//! Invariant: a step reads the same values as before.

use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use super::constant_folding::{is_whole, writers};
use super::copy_elision::Names;
use crate::array::hash::{FastMap, Mixer};
use crate::compile::ir::{Action, Argument, Buffer, Id, Slice, Source, Step};

/// How often each operand of a step was written before it.
type Versions = SmallVec<[u32; 4]>;

/// Eliminates steps that compute what an earlier step computed.
pub(in crate::compile) fn remove(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let writers = writers(steps, buffers.len());
    let mut versions = vec![0u32; buffers.len()];
    // External memory and arguments may overlap: they share one version.
    let mut outside = 0u32;
    // For each hash a step, and the versions of its operands.
    let mut known: FastMap<u64, (usize, Versions)> = FastMap::default();
    let mut names = Names::new(buffers.len());
    let mut gone = vec![false; steps.len()];
    for at in 0..steps.len() {
        steps[at].rename(|buffer| names.of(buffer));
        let step = &steps[at];
        let single = |slice: &Slice| {
            let buffer = &buffers[slice.buffer as usize];
            writers[slice.buffer as usize] == 1
                && matches!(buffer.source, Source::Temporary)
                && is_whole(slice, buffers)
        };
        if let [out] = &step.writes[..]
            && single(out)
            && is_known(step)
        {
            let version = |read: &Slice| match is_outside(read.buffer, buffers) {
                true => outside,
                false => versions[read.buffer as usize],
            };
            let read: Versions = step.reads.iter().map(version).collect();
            let hash = hash(step, &read);
            match known.get(&hash) {
                Some((first, before)) if *before == read && is_same(&steps[*first], step) => {
                    names.set(out.buffer, steps[*first].writes[0].buffer);
                    gone[at] = true;
                    continue;
                }
                _ => known.insert(hash, (at, read)),
            };
        }
        // Host code may write external memory.
        outside += step.is_foreign() as u32;
        for written in &step.writes {
            versions[written.buffer as usize] += 1;
            outside += is_outside(written.buffer, buffers) as u32;
        }
    }
    let mut gone = gone.into_iter();
    steps.retain(|_| !gone.next().unwrap_or(false));
}

fn is_outside(buffer: Id, buffers: &[Buffer]) -> bool {
    matches!(buffers[buffer as usize].source, Source::Outside(_) | Source::Input(_))
}

/// Whether the computation of a step can be compared.
fn is_known(step: &Step) -> bool {
    matches!(step.action, Action::Map(_) | Action::Fill(_) | Action::Copy | Action::Reduce(..))
}

/// A hash of the computation and its operands.
fn hash(step: &Step, versions: &Versions) -> u64 {
    let mut mixer = Mixer::default();
    match &step.action {
        Action::Map(map) => {
            (map.table as usize).hash(&mut mixer);
            for argument in &map.ins {
                match argument {
                    Argument::Number(bits, _) => bits.hash(&mut mixer),
                    Argument::Slice(slice) => (slice.buffer, slice.offset).hash(&mut mixer),
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
            one.table as usize == other.table as usize
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
