//! Common subexpressions: what two steps compute from the same values is computed once.
//!
//! Owns: the pass that removes the second step. Knows element-wise loops, fills, copies and reductions: other kernels have
//! parameters that cannot be compared. Invariant: a step reads the values that it read before.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::constants::{is_whole, writers};
use super::copies::rename;
use crate::dtype::DType;
use crate::kernels::Reduction;
use crate::program::steps::{Action, Argument, Buffer, Id, Slice, Source, Step};

/// What a step computes.
#[derive(PartialEq, Eq, Hash)]
enum Kind {
    Map { table: usize, params: SmallVec<[u64; 2]> },
    Fill(u64),
    Copy,
    Reduce(Reduction, SmallVec<[usize; 4]>),
}

/// What it computes from.
#[derive(PartialEq, Eq, Hash)]
enum Value {
    Number(u64, DType),
    /// Elements, and how often their buffer was written before.
    Slice(Slice, u32),
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    ins: SmallVec<[Value; 4]>,
    dtype: DType,
    dims: SmallVec<[usize; 4]>,
}

/// Removes steps that compute what an earlier one computed.
pub(in crate::program) fn remove(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let writers = writers(steps, buffers.len());
    let mut versions = vec![0u32; buffers.len()];
    // Memory outside may overlap, arguments too.
    let mut outside = 0u32;
    let mut known: HashMap<Key, Id> = HashMap::new();
    let mut renamed: HashMap<Id, Id> = HashMap::new();
    let mut kept = Vec::with_capacity(steps.len());
    for mut step in steps.drain(..) {
        step.rename(|buffer| *renamed.get(&buffer).unwrap_or(&buffer));
        let single = |slice: &Slice| {
            let buffer = &buffers[slice.buffer as usize];
            writers[slice.buffer as usize] == 1
                && matches!(buffer.source, Source::Temporary)
                && is_whole(slice, buffers)
        };
        if let [out] = &step.writes[..]
            && single(out)
            && let Some(key) = key(&step, &versions, outside, buffers)
        {
            if let Some(&same) = known.get(&key) {
                renamed.insert(out.buffer, same);
                continue;
            }
            known.insert(key, out.buffer);
        }
        // Host code may change memory outside.
        outside += step.is_foreign() as u32;
        for written in &step.writes {
            versions[written.buffer as usize] += 1;
            outside += is_outside(written.buffer, buffers) as u32;
        }
        kept.push(step);
    }
    rename(&mut kept, &renamed);
    *steps = kept;
}

fn is_outside(buffer: Id, buffers: &[Buffer]) -> bool {
    matches!(buffers[buffer as usize].source, Source::Outside(_) | Source::Input(_))
}

fn key(step: &Step, versions: &[u32], outside: u32, buffers: &[Buffer]) -> Option<Key> {
    let slice = |slice: &Slice| {
        let own = versions[slice.buffer as usize];
        let version = if is_outside(slice.buffer, buffers) { outside } else { own };
        Value::Slice(slice.clone(), version)
    };
    let value = |argument: &Argument| match argument {
        Argument::Number(bits, dtype) => Value::Number(*bits, *dtype),
        Argument::Slice(read) => slice(read),
    };
    let (kind, ins) = match &step.action {
        Action::Map(map) => {
            let params = map.params.iter().map(|p| p.to_bits()).collect();
            (Kind::Map { table: map.table as usize, params }, map.ins.iter().map(value).collect())
        }
        Action::Fill(bits) => (Kind::Fill(*bits), SmallVec::new()),
        Action::Copy => (Kind::Copy, step.reads.iter().map(slice).collect()),
        Action::Reduce(op, axes) => {
            (Kind::Reduce(*op, axes.clone()), step.reads.iter().map(slice).collect())
        }
        _ => return None,
    };
    let out = &step.writes[0];
    Some(Key { kind, ins, dtype: out.dtype, dims: out.dims.clone() })
}
