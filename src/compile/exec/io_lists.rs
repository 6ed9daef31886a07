//! The inputs, results and external memory of an executable, listed once, so that a run looks nothing up.

use std::collections::BTreeMap;

use crate::array::{Layout, Storage};
use crate::compile::ir::{Action, Buffer, Id, Slice, Source, Step};
use crate::compile::passes::constant_folding::writers;
use crate::dtype::DType;

/// The buffers of an executable that are not temporaries.
pub(super) struct Uses {
    /// The buffers that are inputs, with the index of the input.
    pub(super) bound: Vec<(Id, usize)>,
    /// For each input whether a step reads it.
    pub(super) reads_input: Vec<bool>,
    /// The buffers that each run allocates for its results.
    pub(super) results: Vec<Id>,
    /// External memory that steps read.
    pub(super) read: Vec<Storage>,
    /// External memory that steps write.
    pub(super) written: Vec<Storage>,
    /// The elements of external memory that steps write; the whole storage if there are many slices.
    pub(super) elements_written: Vec<(Storage, Layout, DType)>,
    /// The inputs that steps write.
    pub(super) written_inputs: Vec<Id>,
    /// How many of the last inputs were external memory when the function was traced.
    pub(super) taken: usize,
    /// Whether a decision may diverge after a step has already changed external memory.
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

    /// Turns an external buffer into an input; returns whether steps write it.
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

/// With more slices of one storage than this, the whole storage counts as written.
const MOST_PARTS: usize = 64;

/// The slices of external memory that steps write.
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

/// Whether a decision step follows a step with a side effect.
fn decides(steps: &[Step], buffers: &[Buffer]) -> bool {
    let outside = |w: &Slice| matches!(buffers[w.buffer as usize].source, Source::Outside(_));
    let changes = |step: &Step| step.is_foreign() || step.writes.iter().any(outside);
    let since = steps.iter().position(changes).unwrap_or(steps.len());
    steps[since..].iter().any(|s| matches!(s.action, Action::Decision(_)))
}
