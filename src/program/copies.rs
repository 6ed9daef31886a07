//! Copies that need not be made: what is copied whole and does not change afterwards is read where it is.
//!
//! Owns: the pass that removes them. Never touches a copy of a part, or one whose sides are written later.
//! Invariant: a step reads the values that it read before.

use std::collections::HashMap;

use super::step::{Buffer, Id, Slice, Source, Step};

/// Removes copies of whole buffers, and lets steps read or write the other side.
pub(super) fn remove(steps: &mut Vec<Step>, buffers: &[Buffer]) {
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
            (Source::Outside(_), Source::Temporary) if from_writes.is_empty() && !foreign => {
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
    for step in steps.iter_mut() {
        step.rename(|buffer| {
            let mut now = buffer;
            while let Some(&next) = renamed.get(&now) {
                now = next;
            }
            now
        });
    }
    let mut gone = gone.into_iter();
    steps.retain(|_| !gone.next().unwrap_or(false));
}

/// The two sides of a copy of all bytes of a buffer into all bytes of another.
fn whole(step: &Step, buffers: &[Buffer]) -> Option<(Id, Id)> {
    let ([read], [written]) = (&step.reads[..], &step.writes[..]) else { return None };
    let all = |slice: &Slice| {
        slice.offset == 0
            && slice.is_contiguous()
            && slice.numel() * slice.dtype.size() == buffers[slice.buffer as usize].nbytes
    };
    let copies = step.name == "copy" && read.dtype == written.dtype && read.dims == written.dims;
    (copies && all(read) && all(written)).then_some((read.buffer, written.buffer))
}
