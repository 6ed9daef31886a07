//! Copies that need not be made: what is copied whole and does not change afterwards is read where it is, and what is
//! only made to be copied is made in its place.
//!
//! Owns: the passes that remove them. Never touches a copy whose sides are written later.
//! Invariant: a step reads the values that it read before.

use std::ops::Range;

use smallvec::SmallVec;

use super::constant_folding::is_whole;
use crate::array::Storage;
use crate::compile::ir::{Action, Argument, Buffer, Id, Map, Slice, Source, Step};

/// What happens to buffers in a run.
struct Lives<'a> {
    buffers: &'a [Buffer],
    /// How often each buffer is written, and by which step last.
    writes: Vec<(usize, usize)>,
    /// Memory outside that is written.
    changed: Vec<&'a Storage>,
    /// Whether host code may write to memory that others see, which no step says.
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

    /// Whether step `at` alone writes `to`, and none writes `from` after it.
    fn are_settled(&self, at: usize, from: Id, to: Id) -> bool {
        let (count, last) = self.writes[from as usize];
        self.writes[to as usize] == (1, at) && (count == 0 || last < at)
    }

    /// Whether nobody beside the steps writes to a buffer.
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

/// Removes copies of one element of a buffer that is not written later, and lets steps read it where it lies.
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

/// Removes copies of whole buffers, and lets steps read or write the other side.
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

/// Other names of buffers.
pub(super) struct Names(Vec<Id>);

impl Names {
    /// Every buffer keeps its name.
    pub(super) fn new(buffers: usize) -> Names {
        Names((0..buffers as Id).collect())
    }

    /// Whether a buffer has another name.
    fn has(&self, buffer: Id) -> bool {
        self.0[buffer as usize] != buffer
    }

    /// Gives a buffer another name.
    pub(super) fn set(&mut self, buffer: Id, name: Id) {
        self.0[buffer as usize] = name;
    }

    /// The name of a buffer, along chains of names.
    pub(super) fn of(&self, mut buffer: Id) -> Id {
        while self.has(buffer) {
            buffer = self.0[buffer as usize];
        }
        buffer
    }

    /// Lets steps use buffers by their names.
    fn apply(&self, steps: &mut [Step]) {
        steps.iter_mut().for_each(|step| step.rename(|buffer| self.of(buffer)));
    }
}

/// Whether two pieces of memory have a byte in common.
pub(in crate::compile) fn overlap(a: &Storage, b: &Storage) -> bool {
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

/// Other uses of a buffer between a step and the copy of its result that are looked at.
const MOST_BETWEEN: usize = 64;

/// The steps that use a buffer.
type Uses = SmallVec<[usize; 2]>;

/// Lets steps write to where their results are copied, if nothing else reads these.
pub(in crate::compile) fn place(steps: &mut Vec<Step>, buffers: &[Buffer]) {
    let mut uses: Vec<Uses> = vec![Uses::new(); buffers.len()];
    for (at, step) in steps.iter().enumerate() {
        step.buffers().for_each(|buffer| uses[buffer as usize].push(at));
    }
    // Where each step stands now: a fill of the target moves in front of the step that writes to it.
    let mut order: Vec<(usize, usize)> = (0..steps.len()).map(|at| (2 * at + 1, at)).collect();
    let mut gone = vec![false; steps.len()];
    for (at, gone) in gone.iter_mut().enumerate() {
        let Some((maker, map)) = placed(at, steps, buffers, &uses) else { continue };
        let target = map.out.buffer as usize;
        // The uses are in ascending order.
        let from = uses[target].partition_point(|&use_| use_ <= maker);
        let to = uses[target].partition_point(|&use_| use_ < at);
        if to - from > MOST_BETWEEN {
            continue;
        }
        let between = uses[target][from..to].to_vec();
        // Steps that write beside the piece stay where they are.
        let (beside, before): (Vec<usize>, Vec<usize>) =
            between.into_iter().partition(|&use_| writes_beside(&steps[use_], &map.out));
        let fills = before.iter().all(|&use_| matches!(steps[use_].action, Action::Fill(_)));
        // A fill that moves must not pass what is written beside the piece.
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

/// Whether a step touches the buffer of a slice only by writing to bytes beside it.
fn writes_beside(step: &Step, slice: &Slice) -> bool {
    let own = bytes_of(slice);
    let apart = |w: &Slice| {
        let other = bytes_of(w);
        w.buffer != slice.buffer || other.end <= own.start || own.end <= other.start
    };
    step.reads.iter().all(|read| read.buffer != slice.buffer) && step.writes.iter().all(apart)
}

/// The bytes of its buffer from the first to the last that a slice has.
fn bytes_of(slice: &Slice) -> Range<isize> {
    let size = slice.dtype.size() as isize;
    let reach = |(&dim, &stride): (&usize, &isize)| (dim as isize - 1) * stride * size;
    let (mut start, mut end) = (slice.offset, slice.offset + size);
    for reach in slice.dims.iter().zip(&slice.strides).map(reach) {
        if reach < 0 { start += reach } else { end += reach }
    }
    start..end
}

/// The step that makes what step `at` copies, and its loop with the copy's target as its result.
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
