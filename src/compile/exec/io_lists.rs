//! The inputs, results and external memory of an executable, listed once, so that a run looks nothing up.

use std::collections::BTreeMap;

use crate::array::{Layout, Storage};
use crate::compile::ir::{Action, Buffer, BufferId, BufferView, Source, Step};
use crate::compile::passes::constant_folding::writers;
use crate::dtype::DType;

/// The buffers of an executable that are not temporaries.
pub(super) struct IoLists {
    /// The buffers that are inputs, with the index of the input.
    pub(super) input_buffers: Vec<(BufferId, usize)>,
    /// For each input whether a step reads it.
    pub(super) reads_input: Vec<bool>,
    /// The buffers that each run allocates for its results.
    pub(super) result_buffers: Vec<BufferId>,
    /// External memory that steps read.
    pub(super) external_read: Vec<Storage>,
    /// External memory that steps write.
    pub(super) external_written: Vec<Storage>,
    /// The elements of external memory that steps write; the whole storage if there are many slices.
    pub(super) external_slices_written: Vec<(Storage, Layout, DType)>,
    /// The inputs that steps write.
    pub(super) written_inputs: Vec<BufferId>,
    /// How many of the last inputs were external memory when the function was traced.
    pub(super) promoted: usize,
    /// Whether a decision may diverge after a step has already changed external memory.
    pub(super) may_diverge_late: bool,
}

impl IoLists {
    pub(super) fn of(steps: &[Step], buffers: &[Buffer], inputs: usize) -> IoLists {
        let numbered = || (0..).zip(buffers);
        let mut read = vec![false; buffers.len()];
        steps.iter().flat_map(|s| &s.reads).for_each(|r| read[r.buffer as usize] = true);
        let writers = writers(steps, buffers.len());
        let input = |(id, buffer): (BufferId, &Buffer)| Some((id, buffer.source.input()?));
        let input_buffers: Vec<(BufferId, usize)> = numbered().filter_map(input).collect();
        let mut reads_input = vec![false; inputs];
        for &(id, number) in &input_buffers {
            reads_input[number] |= read[id as usize];
        }
        let is_result = |(_, buffer): &(BufferId, &Buffer)| matches!(buffer.source, Source::Output);
        let result_buffers = numbered().filter(is_result).map(|(id, _)| id).collect();
        let external =
            |(id, buffer): (BufferId, &Buffer)| Some((id, buffer.source.external()?.clone()));
        let external: Vec<(BufferId, Storage)> = numbered().filter_map(external).collect();
        let of = |used: &dyn Fn(usize) -> bool| {
            let used = external.iter().filter(|(id, _)| used(*id as usize));
            used.map(|(_, storage)| storage.clone()).collect()
        };
        let (external_written, external_read) = (of(&|id| writers[id] > 0), of(&|id| read[id]));
        let may_diverge_late = may_diverge_late(steps, buffers);
        let external_slices_written = external_slices_written(steps, buffers);
        let (written_inputs, promoted) = (Vec::new(), 0);
        IoLists {
            input_buffers,
            reads_input,
            result_buffers,
            external_read,
            external_written,
            external_slices_written,
            written_inputs,
            promoted,
            may_diverge_late,
        }
    }

    /// Turns an external buffer into an input; returns whether steps write it.
    pub(super) fn promote_to_input(
        &mut self,
        id: BufferId,
        number: usize,
        external: &Storage,
    ) -> bool {
        let contains = |list: &[Storage]| list.iter().any(|storage| storage.same(external));
        let written = contains(&self.external_written);
        self.promoted += 1;
        self.input_buffers.push((id, number));
        self.reads_input.push(contains(&self.external_read));
        self.external_read.retain(|storage| !storage.same(external));
        self.external_written.retain(|storage| !storage.same(external));
        self.external_slices_written.retain(|(storage, ..)| !storage.same(external));
        self.written_inputs.extend(written.then_some(id));
        written
    }
}

/// With more slices of one storage than this, the whole storage counts as written.
const MAX_SLICES: usize = 64;

/// The slices of external memory that steps write.
fn external_slices_written(steps: &[Step], buffers: &[Buffer]) -> Vec<(Storage, Layout, DType)> {
    let mut slices: BTreeMap<BufferId, Vec<&BufferView>> = BTreeMap::new();
    for slice in steps.iter().flat_map(|step| &step.writes) {
        if buffers[slice.buffer as usize].source.external().is_some() {
            slices.entry(slice.buffer).or_default().push(slice);
        }
    }
    let mut found = Vec::new();
    for (id, mut slices) in slices {
        let Some(storage) = buffers[id as usize].source.external() else { continue };
        let dtype = slices[0].dtype;
        if slices.len() > MAX_SLICES {
            let whole = Layout::contiguous(&[storage.nbytes() / dtype.size()]);
            found.extend(whole.map(|layout| (storage.clone(), layout, dtype)));
            continue;
        }
        slices.dedup();
        found.extend(slices.into_iter().filter_map(|part| {
            let offset = part.offset / part.dtype.size() as isize;
            let layout = Layout::strided(&part.dims, &part.strides, offset).ok()?;
            Some((storage.clone(), layout, part.dtype))
        }));
    }
    found
}

/// Whether a decision step follows a step with a side effect.
fn may_diverge_late(steps: &[Step], buffers: &[Buffer]) -> bool {
    let external =
        |w: &BufferView| matches!(buffers[w.buffer as usize].source, Source::External(_));
    let changes = |step: &Step| step.calls_host() || step.writes.iter().any(external);
    let since = steps.iter().position(changes).unwrap_or(steps.len());
    steps[since..].iter().any(|s| matches!(s.action, Action::Decision(_)))
}
