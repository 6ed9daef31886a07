//! Copy elision: reads the source of a copy directly, or computes a value directly into the destination.
//!
//! Invariant: a step reads the same values as before.

use std::ops::Range;

use smallvec::SmallVec;

use super::constant_folding::is_whole;
use crate::array::Storage;
use crate::compile::ir::{Action, Argument, Buffer, Id, Map, Slice, Source, Step};

/// The writes to buffers in a run.
struct Lives<'a> {
    buffers: &'a [Buffer],
    /// How often each buffer is written, and the last step that does.
    writes: Vec<(usize, usize)>,
    /// External memory that is written.
    changed: Vec<&'a Storage>,
    /// Whether host code runs, which may write to shared memory.
    foreign: bool,
}

impl<'a> Lives<'a> {
    fn of(steps: &[Step], buffers: &'a [Buffer]) -> Lives<'a> {
        let mut writes = vec![(0, 0); buffers.len()];
        for (at, step) in steps.iter().enumerate() {
            for slice in &step.writes {
                let (count, last) = &mut writes[slice.buffer as usize];
                (*count, *last) = (*count + 1, at);
            }
        }
        let written = buffers.iter().zip(&writes).filter(|(_, (count, _))| *count > 0);
        let changed = written.filter_map(|(buffer, _)| buffer.source.outside()).collect();
        Lives { buffers, writes, changed, foreign: steps.iter().any(Step::is_foreign) }
    }

    /// Whether step `at` is the only one that writes `to`, and none writes `from` after it.
    fn are_settled(&self, at: usize, from: Id, to: Id) -> bool {
        let (count, last) = self.writes[from as usize];
        self.writes[to as usize] == (1, at) && (count == 0 || last < at)
    }

    /// Whether only steps of the program write to a buffer.
    fn is_ours(&self, buffer: Id) -> bool {
        match &self.buffers[buffer as usize].source {
            Source::Temporary | Source::Constant(_) | Source::Output => true,
            Source::Input(_) => !self.foreign,
            Source::Outside(memory) => {
                !self.foreign && !self.changed.iter().any(|other| overlap(memory, other))
            }
            Source::Unused => false,
        }
    }
}

/// Eliminates copies of one element: readers read it in the source buffer.
pub(in crate::compile) fn read_elements(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let lives = Lives::of(steps, buffers);
    let mut places: Vec<Option<(Id, isize)>> = vec![None; buffers.len()];
    let mut gone = vec![false; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        let ([read], [written], Action::Copy) = (&step.reads[..], &step.writes[..], &step.action)
        else {
            continue;
        };
        let element = read.numel() == 1
            && is_whole(written, buffers)
            && read.dtype == written.dtype
            && matches!(buffers[written.buffer as usize].source, Source::Temporary);
        if element
            && lives.are_settled(at, read.buffer, written.buffer)
            && lives.is_ours(read.buffer)
        {
            let from = places[read.buffer as usize]
                .map_or((read.buffer, read.offset), |(buffer, offset)| {
                    (buffer, offset + read.offset)
                });
            places[written.buffer as usize] = Some(from);
            gone[at] = true;
        }
    }
    if !gone.contains(&true) {
        return;
    }
    let mut gone = gone.into_iter();
    steps.retain(|_| !gone.next().unwrap_or(false));
    for step in steps {
        step.move_reads(|slice| {
            if let Some((buffer, offset)) = places[slice.buffer as usize] {
                (slice.buffer, slice.offset) = (buffer, slice.offset + offset);
            }
        });
    }
}

/// Eliminates copies of whole buffers: source and destination become one buffer.
pub(in crate::compile) fn remove(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let lives = Lives::of(steps, buffers);
    let mut names = Names::new(buffers.len());
    let mut gone = vec![false; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        let Some((from, to)) = whole(step, buffers) else { continue };
        if !lives.are_settled(at, from, to) || names.has(from) || names.has(to) {
            continue;
        }
        let (source, target) = (&buffers[from as usize].source, &buffers[to as usize].source);
        match (source, target) {
            (Source::Output, Source::Temporary) => continue,
            (_, Source::Temporary) if lives.is_ours(from) => names.set(to, from),
            (Source::Temporary, Source::Output) => names.set(from, to),
            _ => continue,
        }
        gone[at] = true;
    }
    names.apply(steps);
    let mut gone = gone.into_iter();
    steps.retain(|_| !gone.next().unwrap_or(false));
}

/// Aliases of buffers.
pub(super) struct Names(Vec<Id>);

impl Names {
    /// No aliases.
    pub(super) fn new(buffers: usize) -> Names {
        Names((0..buffers as Id).collect())
    }

    /// Whether a buffer has an alias.
    fn has(&self, buffer: Id) -> bool {
        self.0[buffer as usize] != buffer
    }

    /// Makes `name` stand for `buffer`.
    pub(super) fn set(&mut self, buffer: Id, name: Id) {
        self.0[buffer as usize] = name;
    }

    /// The buffer at the end of a chain of aliases.
    pub(super) fn of(&self, mut buffer: Id) -> Id {
        while self.has(buffer) {
            buffer = self.0[buffer as usize];
        }
        buffer
    }

    /// Replaces buffers by their aliases.
    fn apply(&self, steps: &mut [Step]) {
        steps.iter_mut().for_each(|step| step.rename(|buffer| self.of(buffer)));
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
fn whole(step: &Step, buffers: &[Buffer]) -> Option<(Id, Id)> {
    let ([read], [written]) = (&step.reads[..], &step.writes[..]) else { return None };
    let copies = matches!(step.action, Action::Copy);
    let whole = copies && is_whole(read, buffers) && is_whole(written, buffers);
    whole.then_some((read.buffer, written.buffer))
}

/// Larger steps are left alone: they may be fused, which needs contiguous outputs.
const FEW: usize = 2048;

/// Bound on the uses of the destination that are examined between a producer and the copy.
const MOST_BETWEEN: usize = 64;

/// The steps that use a buffer, in order.
type Uses = SmallVec<[usize; 2]>;

/// Retargets producers of copied values: they write to the destination of the copy, if nothing else reads the source.
pub(in crate::compile) fn place(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let mut uses: Vec<Uses> = vec![Uses::new(); buffers.len()];
    for (at, step) in steps.iter().enumerate() {
        step.buffers().for_each(|buffer| uses[buffer as usize].push(at));
    }
    // Sort keys of the steps: a fill of the destination moves before the producer that now writes there.
    let mut order: Vec<(usize, usize)> = (0..steps.len()).map(|at| (2 * at + 1, at)).collect();
    let mut gone = vec![false; steps.len()];
    for (at, gone) in gone.iter_mut().enumerate() {
        let Some((maker, map)) = placed(at, steps, buffers, &uses) else { continue };
        let target = map.out.buffer as usize;
        // The list of uses is sorted.
        let from = uses[target].partition_point(|&use_| use_ <= maker);
        let to = uses[target].partition_point(|&use_| use_ < at);
        if to - from > MOST_BETWEEN {
            continue;
        }
        let between = uses[target][from..to].to_vec();
        // Steps that write other bytes of the destination stay in their places.
        let (beside, before): (Vec<usize>, Vec<usize>) =
            between.into_iter().partition(|&use_| writes_beside(&steps[use_], &map.out));
        let fills = before.iter().all(|&use_| matches!(steps[use_].action, Action::Fill(_)));
        // A fill must not move across writes to other bytes of the destination.
        let passes = !before.is_empty() && !beside.is_empty();
        if !fills || passes || uses[target].binary_search(&maker).is_ok() {
            continue;
        }
        before.iter().for_each(|&fill| order[fill].0 = order[fill].0.min(2 * maker));
        steps[maker] = Step::of_map(steps[maker].name, map);
        uses[target].insert(from, maker);
        *gone = true;
    }
    if !gone.contains(&true) {
        return;
    }
    order.sort_unstable();
    let mut old: Vec<Option<Step>> = steps.drain(..).map(Some).collect();
    let kept = order.into_iter().filter(|&(_, at)| !gone[at]);
    steps.extend(kept.filter_map(|(_, at)| old[at].take()));
}

/// Whether a step uses the buffer of a slice only by writing other bytes of it.
fn writes_beside(step: &Step, slice: &Slice) -> bool {
    let own = bytes_of(slice);
    let apart = |w: &Slice| {
        let other = bytes_of(w);
        w.buffer != slice.buffer || other.end <= own.start || own.end <= other.start
    };
    step.reads.iter().all(|read| read.buffer != slice.buffer) && step.writes.iter().all(apart)
}

/// The byte range that a slice spans in its buffer.
fn bytes_of(slice: &Slice) -> Range<isize> {
    let size = slice.dtype.size() as isize;
    let reach = |(&dim, &stride): (&usize, &isize)| (dim as isize - 1) * stride * size;
    let (mut start, mut end) = (slice.offset, slice.offset + size);
    for reach in slice.dims.iter().zip(&slice.strides).map(reach) {
        if reach < 0 { start += reach } else { end += reach }
    }
    start..end
}

/// The step that produces what step `at` copies, and its loop with the destination of the copy as output.
fn placed(at: usize, steps: &[Step], buffers: &[Buffer], uses: &[Uses]) -> Option<(usize, Map)> {
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
