//! Copies that need not be made: what is copied whole and does not change afterwards is read where it is, and what is
//! only made to be copied is made in its place.
//!
//! Owns: the passes that remove them. Never touches a copy whose sides are written later.
//! Invariant: a step reads the values that it read before.

use std::collections::HashMap;

use super::constants::is_whole;
use crate::array::Storage;
use crate::program::steps::{Action, Argument, Buffer, Id, Map, Source, Step};

/// Removes copies of whole buffers, and lets steps read or write the other side.
pub(in crate::program) fn remove(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let mut writes: HashMap<Id, Vec<usize>> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        for slice in &step.writes {
            writes.entry(slice.buffer).or_default().push(at);
        }
    }
    let mut renamed: HashMap<Id, Id> = HashMap::new();
    let mut gone = vec![false; steps.len()];
    // Host code may write to memory that others see, and no step says so.
    let foreign = steps.iter().any(Step::is_foreign);
    let none = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let Some((from, to)) = whole(step, buffers) else { continue };
        let (from_writes, to_writes) =
            (writes.get(&from).unwrap_or(&none), writes.get(&to).unwrap_or(&none));
        let settled = to_writes == &[at] && from_writes.iter().all(|&write| write < at);
        if !settled || renamed.contains_key(&from) || renamed.contains_key(&to) {
            continue;
        }
        let (source, target) = (&buffers[from as usize].source, &buffers[to as usize].source);
        match (source, target) {
            (Source::Outside(memory), Source::Temporary)
                if !foreign && !changes(memory, &writes, buffers) =>
            {
                renamed.insert(to, from);
            }
            (Source::Input(_), Source::Temporary) if !foreign => {
                renamed.insert(to, from);
            }
            (Source::Constant(_) | Source::Temporary, Source::Temporary) => {
                renamed.insert(to, from);
            }
            (Source::Temporary, Source::Output) => {
                renamed.insert(from, to);
            }
            _ => continue,
        }
        gone[at] = true;
    }
    rename(steps, &renamed);
    let mut gone = gone.into_iter();
    steps.retain(|_| !gone.next().unwrap_or(false));
}

/// Lets steps use other buffers, along chains of names.
pub(in crate::program) fn rename(steps: &mut [Step], renamed: &HashMap<Id, Id>) {
    for step in steps {
        step.rename(|buffer| {
            let mut now = buffer;
            while let Some(&next) = renamed.get(&now) {
                now = next;
            }
            now
        });
    }
}

/// Whether a step writes to this memory outside, maybe as part of other memory.
fn changes(memory: &Storage, writes: &HashMap<Id, Vec<usize>>, buffers: &[Buffer]) -> bool {
    let outside = |buffer: &Id| buffers[*buffer as usize].source.outside();
    writes.keys().filter_map(outside).any(|other| overlap(memory, other))
}

/// Whether two pieces of memory have a byte in common.
pub(in crate::program) fn overlap(a: &Storage, b: &Storage) -> bool {
    let range = |storage: &Storage| {
        let start = storage.ptr().addr();
        start..start + storage.nbytes()
    };
    let (a, b) = (range(a), range(b));
    a.start < b.end && b.start < a.end
}

/// The two sides of a copy of all bytes of a buffer into all bytes of another.
fn whole(step: &Step, buffers: &[Buffer]) -> Option<(Id, Id)> {
    let ([read], [written]) = (&step.reads[..], &step.writes[..]) else { return None };
    let copies = matches!(step.action, Action::Copy);
    let whole = copies && is_whole(read, buffers) && is_whole(written, buffers);
    whole.then_some((read.buffer, written.buffer))
}

/// Steps over more elements are left alone: they may run in a chain, which needs contiguous results.
const FEW: usize = 2048;

/// Lets steps write to where their results are copied, if nothing else reads these.
pub(in crate::program) fn place(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let mut uses: Vec<Vec<usize>> = vec![Vec::new(); buffers.len()];
    for (at, step) in steps.iter().enumerate() {
        step.buffers().for_each(|buffer| uses[buffer as usize].push(at));
    }
    // Where each step stands now: a fill of the target moves in front of the step that writes to it.
    let mut order: Vec<(usize, usize)> = (0..steps.len()).map(|at| (2 * at + 1, at)).collect();
    let mut gone = vec![false; steps.len()];
    for (at, gone) in gone.iter_mut().enumerate() {
        let Some((maker, map)) = placed(at, steps, buffers, &uses) else { continue };
        let target = map.out.buffer as usize;
        let between: Vec<usize> =
            uses[target].iter().copied().filter(|&use_| maker < use_ && use_ < at).collect();
        let fills = between.iter().all(|&use_| matches!(steps[use_].action, Action::Fill(_)));
        if !fills || uses[target].contains(&maker) {
            continue;
        }
        between.iter().for_each(|&fill| order[fill].0 = order[fill].0.min(2 * maker));
        steps[maker] = Step::of_map(steps[maker].name, map);
        uses[target].push(maker);
        uses[target].sort_unstable();
        *gone = true;
    }
    order.sort_by_key(|&(place, _)| place);
    let mut old: Vec<Option<Step>> = steps.drain(..).map(Some).collect();
    let kept = order.into_iter().filter(|&(_, at)| !gone[at]);
    steps.extend(kept.filter_map(|(_, at)| old[at].take()));
}

/// The step that makes what step `at` copies, and its loop with the copy's target as its result.
fn placed(
    at: usize,
    steps: &[Step],
    buffers: &[Buffer],
    uses: &[Vec<usize>],
) -> Option<(usize, Map)> {
    let copy = &steps[at];
    let ([read], [target]) = (&copy.reads[..], &copy.writes[..]) else { return None };
    let own = |id: Id| matches!(buffers[id as usize].source, Source::Temporary | Source::Output);
    let &[maker, reader] = &uses[read.buffer as usize][..] else { return None };
    let map = steps[maker].map()?;
    let fits = matches!(copy.action, Action::Copy)
        && reader == at
        && map.out.buffer == read.buffer
        && matches!(buffers[read.buffer as usize].source, Source::Temporary)
        && own(target.buffer)
        && target.strides.last().is_none_or(|&stride| stride == 1)
        && (is_whole(read, buffers) && is_whole(&map.out, buffers))
        && read.dtype == map.out.dtype
        && read.numel() < FEW;
    if !fits {
        return None;
    }
    let mut map = map.clone();
    if map.out.dims != target.dims {
        for argument in &mut map.ins {
            let Argument::Slice(slice) = argument else { continue };
            if !slice.is_contiguous() {
                return None;
            }
            slice.dims.clone_from(&read.dims);
            slice.strides.clone_from(&read.strides);
        }
    }
    map.out = target.clone();
    Some((maker, map))
}
