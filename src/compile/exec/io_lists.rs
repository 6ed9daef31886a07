//! What a program uses beside its temporaries: inputs, results, and memory outside.
//!
//! Owns: the lists of them, found once, so that a run looks nothing up. Never changes a step.
//! Invariant: the lists are those of the steps that the program runs.

use std::collections::BTreeMap;

use crate::array::{Layout, Storage};
use crate::compile::ir::{Action, Buffer, Id, Slice, Source, Step};
use crate::compile::passes::constant_folding::writers;
use crate::dtype::DType;

/// What the steps of a program use.
pub(super) struct Uses {
    /// The buffers that are inputs, and their numbers among the inputs.
    pub(super) bound: Vec<(Id, usize)>,
    /// For each input whether a step reads it.
    pub(super) reads_input: Vec<bool>,
    /// The buffers that each run allocates for its results.
    pub(super) results: Vec<Id>,
    /// Memory outside that steps read.
    pub(super) read: Vec<Storage>,
    /// Memory outside that steps write.
    pub(super) written: Vec<Storage>,
    /// The elements of it that they write; all of a memory where they are many.
    pub(super) elements_written: Vec<(Storage, Layout, DType)>,
    /// The inputs that steps write.
    pub(super) written_inputs: Vec<Id>,
    /// How many inputs were memory outside when the function was recorded: the last ones.
    pub(super) taken: usize,
    /// Whether a step that comes after a change of what is outside may find that the recorded function would have decided
    /// otherwise.
    pub(super) decides: bool,
}

impl Uses {
    pub(super) fn of(steps: &[Step], buffers: &[Buffer], inputs: usize) -> Uses {
        let numbered = || (0..).zip(buffers);
        let mut read = vec![false; buffers.len()];
        steps.iter().flat_map(|s| &s.reads).for_each(|r| read[r.buffer as usize] = true);
        let writers = writers(steps, buffers.len());
        let input = |(id, buffer): (Id, &Buffer)| Some((id, buffer.source.input()?));
        let bound: Vec<(Id, usize)> = numbered().filter_map(input).collect();
        let mut reads_input = vec![false; inputs];
        for &(id, number) in &bound {
            reads_input[number] |= read[id as usize];
        }
        let is_result = |(_, buffer): &(Id, &Buffer)| matches!(buffer.source, Source::Output);
        let results = numbered().filter(is_result).map(|(id, _)| id).collect();
        let outside = |(id, buffer): (Id, &Buffer)| Some((id, buffer.source.outside()?.clone()));
        let outside: Vec<(Id, Storage)> = numbered().filter_map(outside).collect();
        let of = |used: &dyn Fn(usize) -> bool| {
            let used = outside.iter().filter(|(id, _)| used(*id as usize));
            used.map(|(_, storage)| storage.clone()).collect()
        };
        let (written, read) = (of(&|id| writers[id] > 0), of(&|id| read[id]));
        let decides = decides(steps, buffers);
        let elements_written = elements_written(steps, buffers);
        let (written_inputs, taken) = (Vec::new(), 0);
        Uses {
            bound,
            reads_input,
            results,
            read,
            written,
            elements_written,
            written_inputs,
            taken,
            decides,
        }
    }

    /// Takes note that a buffer outside is an input from now on; whether steps write it.
    pub(super) fn become_input(&mut self, id: Id, number: usize, outside: &Storage) -> bool {
        let there = |list: &[Storage]| list.iter().any(|storage| storage.same(outside));
        let written = there(&self.written);
        self.taken += 1;
        self.bound.push((id, number));
        self.reads_input.push(there(&self.read));
        self.read.retain(|storage| !storage.same(outside));
        self.written.retain(|storage| !storage.same(outside));
        self.elements_written.retain(|(storage, ..)| !storage.same(outside));
        self.written_inputs.extend(written.then_some(id));
        written
    }
}

/// The parts of one memory beyond which all of it counts as written.
const MOST_PARTS: usize = 64;

/// The elements of memory outside that steps write.
fn elements_written(steps: &[Step], buffers: &[Buffer]) -> Vec<(Storage, Layout, DType)> {
    let mut slices: BTreeMap<Id, Vec<&Slice>> = BTreeMap::new();
    for slice in steps.iter().flat_map(|step| &step.writes) {
        if buffers[slice.buffer as usize].source.outside().is_some() {
            slices.entry(slice.buffer).or_default().push(slice);
        }
    }
    let mut found = Vec::new();
    for (id, mut parts) in slices {
        let Some(storage) = buffers[id as usize].source.outside() else { continue };
        let dtype = parts[0].dtype;
        if parts.len() > MOST_PARTS {
            let whole = Layout::contiguous(&[storage.nbytes() / dtype.size()]);
            found.extend(whole.map(|layout| (storage.clone(), layout, dtype)));
            continue;
        }
        parts.dedup();
        found.extend(parts.into_iter().filter_map(|part| {
            let offset = part.offset / part.dtype.size() as isize;
            let layout = Layout::strided(&part.dims, &part.strides, offset).ok()?;
            Some((storage.clone(), layout, part.dtype))
        }));
    }
    found
}

/// Whether a step that checks a decision comes after one that changes what is outside.
fn decides(steps: &[Step], buffers: &[Buffer]) -> bool {
    let outside = |w: &Slice| matches!(buffers[w.buffer as usize].source, Source::Outside(_));
    let changes = |step: &Step| step.is_foreign() || step.writes.iter().any(outside);
    let since = steps.iter().position(changes).unwrap_or(steps.len());
    steps[since..].iter().any(|s| matches!(s.action, Action::Decision(_)))
}
