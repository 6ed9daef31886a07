//! Copy elision: reads the source of a copy directly, or computes a value directly into the destination.
//!
//! Invariant: a step reads the same values as before.

use std::ops::Range;

use smallvec::SmallVec;

use super::constant_folding::is_whole;
use crate::array::Storage;
use crate::compile::ir::{Action, Buffer, BufferId, BufferView, Map, MapOperand, Source, Step};

/// The writes to buffers in a run.
struct BufferWrites<'a> {
    buffers: &'a [Buffer],
    /// How often each buffer is written, and the last step that does.
    writes: Vec<(usize, usize)>,
    /// External memory that is written.
    external_writes: Vec<&'a Storage>,
    /// Whether host code runs, which may write to shared memory.
    has_host_calls: bool,
}

impl<'a> BufferWrites<'a> {
    fn of(steps: &[Step], buffers: &'a [Buffer]) -> BufferWrites<'a> {
        let mut writes = vec![(0, 0); buffers.len()];
        for (index, step) in steps.iter().enumerate() {
            for slice in &step.writes {
                let (count, last) = &mut writes[slice.buffer as usize];
                (*count, *last) = (*count + 1, index);
            }
        }
        let written = buffers.iter().zip(&writes).filter(|(_, (count, _))| *count > 0);
        let external_writes = written.filter_map(|(buffer, _)| buffer.source.external()).collect();
        BufferWrites {
            buffers,
            writes,
            external_writes,
            has_host_calls: steps.iter().any(Step::calls_host),
        }
    }

    /// Whether step `index` is the only one that writes `to`, and none writes `from` after it.
    fn is_final_copy(&self, index: usize, from: BufferId, to: BufferId) -> bool {
        let (count, last) = self.writes[from as usize];
        self.writes[to as usize] == (1, index) && (count == 0 || last < index)
    }

    /// Whether only steps of the program write to a buffer.
    fn is_private(&self, buffer: BufferId) -> bool {
        match &self.buffers[buffer as usize].source {
            Source::Temporary | Source::Constant(_) | Source::Output => true,
            Source::Input(_) => !self.has_host_calls,
            Source::External(memory) => {
                !self.has_host_calls
                    && !self.external_writes.iter().any(|other| overlap(memory, other))
            }
            Source::Unused => false,
        }
    }
}

/// Eliminates copies of one element: readers read it in the source buffer.
pub(in crate::compile) fn elide_element_copies(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let buffer_writes = BufferWrites::of(steps, buffers);
    let mut element_sources: Vec<Option<(BufferId, isize)>> = vec![None; buffers.len()];
    let mut elided = vec![false; steps.len()];
    for (index, step) in steps.iter().enumerate() {
        let ([read], [written], Action::Copy) = (&step.reads[..], &step.writes[..], &step.action)
        else {
            continue;
        };
        let element = read.numel() == 1
            && is_whole(written, buffers)
            && read.dtype == written.dtype
            && matches!(buffers[written.buffer as usize].source, Source::Temporary);
        if element
            && buffer_writes.is_final_copy(index, read.buffer, written.buffer)
            && buffer_writes.is_private(read.buffer)
        {
            let from = element_sources[read.buffer as usize]
                .map_or((read.buffer, read.offset), |(buffer, offset)| {
                    (buffer, offset + read.offset)
                });
            element_sources[written.buffer as usize] = Some(from);
            elided[index] = true;
        }
    }
    if !elided.contains(&true) {
        return;
    }
    let mut elided = elided.into_iter();
    steps.retain(|_| !elided.next().unwrap_or(false));
    for step in steps {
        step.map_reads(|slice| {
            if let Some((buffer, offset)) = element_sources[slice.buffer as usize] {
                (slice.buffer, slice.offset) = (buffer, slice.offset + offset);
            }
        });
    }
}

/// Eliminates copies of whole buffers: source and destination become one buffer.
pub(in crate::compile) fn elide_buffer_copies(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let buffer_writes = BufferWrites::of(steps, buffers);
    let mut aliases = Aliases::new(buffers.len());
    let mut elided = vec![false; steps.len()];
    for (index, step) in steps.iter().enumerate() {
        let Some((from, to)) = whole_buffer_copy(step, buffers) else { continue };
        if !buffer_writes.is_final_copy(index, from, to)
            || aliases.is_aliased(from)
            || aliases.is_aliased(to)
        {
            continue;
        }
        let (source, target) = (&buffers[from as usize].source, &buffers[to as usize].source);
        match (source, target) {
            (Source::Output, Source::Temporary) => continue,
            (_, Source::Temporary) if buffer_writes.is_private(from) => aliases.set(to, from),
            (Source::Temporary, Source::Output) => aliases.set(from, to),
            _ => continue,
        }
        elided[index] = true;
    }
    aliases.apply(steps);
    let mut elided = elided.into_iter();
    steps.retain(|_| !elided.next().unwrap_or(false));
}

/// Aliases of buffers.
pub(super) struct Aliases(Vec<BufferId>);

impl Aliases {
    /// No aliases.
    pub(super) fn new(buffers: usize) -> Aliases {
        Aliases((0..buffers as BufferId).collect())
    }

    /// Whether a buffer has an alias.
    fn is_aliased(&self, buffer: BufferId) -> bool {
        self.0[buffer as usize] != buffer
    }

    /// Makes `name` stand for `buffer`.
    pub(super) fn set(&mut self, buffer: BufferId, name: BufferId) {
        self.0[buffer as usize] = name;
    }

    /// The buffer at the end of a chain of aliases.
    pub(super) fn resolve(&self, mut buffer: BufferId) -> BufferId {
        while self.is_aliased(buffer) {
            buffer = self.0[buffer as usize];
        }
        buffer
    }

    /// Replaces buffers by their aliases.
    fn apply(&self, steps: &mut [Step]) {
        steps.iter_mut().for_each(|step| step.rename_buffers(|buffer| self.resolve(buffer)));
    }
}

/// Whether two storages share a byte.
pub(in crate::compile) fn overlap(a: &Storage, b: &Storage) -> bool {
    let range = |storage: &Storage| {
        let start = storage.ptr().addr();
        start..start + storage.nbytes()
    };
    let (a, b) = (range(a), range(b));
    a.start < b.end && b.start < a.end
}

/// The buffers of a copy of one whole buffer to another.
fn whole_buffer_copy(step: &Step, buffers: &[Buffer]) -> Option<(BufferId, BufferId)> {
    let ([read], [written]) = (&step.reads[..], &step.writes[..]) else { return None };
    let copies = matches!(step.action, Action::Copy);
    let is_whole_copy = copies && is_whole(read, buffers) && is_whole(written, buffers);
    is_whole_copy.then_some((read.buffer, written.buffer))
}

/// Larger steps are left alone: they may be fused, which needs contiguous outputs.
const MAX_MAP_ELEMENTS: usize = 2048;

/// Bound on the uses of the destination that are examined between a producer and the copy.
const MAX_USES_BETWEEN: usize = 64;

/// The steps that use a buffer, in order.
type UseList = SmallVec<[usize; 2]>;

/// Retargets producers of copied values: they write to the destination of the copy, if nothing else reads the source.
pub(in crate::compile) fn retarget_producers(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let mut uses: Vec<UseList> = vec![UseList::new(); buffers.len()];
    for (index, step) in steps.iter().enumerate() {
        step.buffers().for_each(|buffer| uses[buffer as usize].push(index));
    }
    // Sort keys of the steps: a fill of the destination moves before the producer that now writes there.
    let mut order: Vec<(usize, usize)> =
        (0..steps.len()).map(|index| (2 * index + 1, index)).collect();
    let mut elided = vec![false; steps.len()];
    for (index, elided) in elided.iter_mut().enumerate() {
        let Some((producer, map)) = retargeted_producer(index, steps, buffers, &uses) else {
            continue;
        };
        let target = map.out.buffer as usize;
        // The list of uses is sorted.
        let from = uses[target].partition_point(|&use_step| use_step <= producer);
        let to = uses[target].partition_point(|&use_step| use_step < index);
        if to - from > MAX_USES_BETWEEN {
            continue;
        }
        let between = uses[target][from..to].to_vec();
        // Steps that write other bytes of the destination stay in their places.
        let (disjoint, earlier): (Vec<usize>, Vec<usize>) = between
            .into_iter()
            .partition(|&use_step| writes_disjoint_bytes(&steps[use_step], &map.out));
        let fills =
            earlier.iter().all(|&use_step| matches!(steps[use_step].action, Action::Fill(_)));
        // A fill must not move across writes to other bytes of the destination.
        let passes = !earlier.is_empty() && !disjoint.is_empty();
        if !fills || passes || uses[target].binary_search(&producer).is_ok() {
            continue;
        }
        earlier.iter().for_each(|&fill| order[fill].0 = order[fill].0.min(2 * producer));
        steps[producer] = Step::from_map(steps[producer].name, map);
        uses[target].insert(from, producer);
        *elided = true;
    }
    if !elided.contains(&true) {
        return;
    }
    order.sort_unstable();
    let mut old: Vec<Option<Step>> = steps.drain(..).map(Some).collect();
    let remaining = order.into_iter().filter(|&(_, index)| !elided[index]);
    steps.extend(remaining.filter_map(|(_, index)| old[index].take()));
}

/// Whether a step uses the buffer of a slice only by writing other bytes of it.
fn writes_disjoint_bytes(step: &Step, slice: &BufferView) -> bool {
    let own = byte_range(slice);
    let apart = |w: &BufferView| {
        let other = byte_range(w);
        w.buffer != slice.buffer || other.end <= own.start || own.end <= other.start
    };
    step.reads.iter().all(|read| read.buffer != slice.buffer) && step.writes.iter().all(apart)
}

/// The byte range that a slice spans in its buffer.
fn byte_range(slice: &BufferView) -> Range<isize> {
    let size = slice.dtype.size() as isize;
    let extent = |(&dim, &stride): (&usize, &isize)| (dim as isize - 1) * stride * size;
    let (mut start, mut end) = (slice.offset, slice.offset + size);
    for extent in slice.dims.iter().zip(&slice.strides).map(extent) {
        if extent < 0 { start += extent } else { end += extent }
    }
    start..end
}

/// The step that produces what step `index` copies, and its loop with the destination of the copy as output.
fn retargeted_producer(
    index: usize,
    steps: &[Step],
    buffers: &[Buffer],
    uses: &[UseList],
) -> Option<(usize, Map)> {
    let copy = &steps[index];
    let ([read], [target]) = (&copy.reads[..], &copy.writes[..]) else { return None };
    let is_owned =
        |id: BufferId| matches!(buffers[id as usize].source, Source::Temporary | Source::Output);
    let &[producer, reader] = &uses[read.buffer as usize][..] else { return None };
    let map = steps[producer].map()?;
    let fits = matches!(copy.action, Action::Copy)
        && reader == index
        && map.out.buffer == read.buffer
        && matches!(buffers[read.buffer as usize].source, Source::Temporary)
        && is_owned(target.buffer)
        && target.strides.last().is_none_or(|&stride| stride == 1)
        && (is_whole(read, buffers) && is_whole(&map.out, buffers))
        && read.dtype == map.out.dtype
        && read.numel() < MAX_MAP_ELEMENTS;
    if !fits {
        return None;
    }
    let mut map = map.clone();
    if map.out.dims != target.dims {
        for argument in &mut map.ins {
            let MapOperand::BufferView(slice) = argument else { continue };
            if !slice.is_contiguous() {
                return None;
            }
            slice.dims.clone_from(&read.dims);
            slice.strides.clone_from(&read.strides);
        }
    }
    map.out = target.clone();
    Some((producer, map))
}
