//! Dead step elimination, and the memory plan: one block for all temporaries, by their live ranges.
//!
//! Invariant: two temporaries with overlapping live ranges share no byte, except an operand and the output of a loop
//! that runs in place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::compile::ir::{Action, Argument, Buffer, Id, Map, Output, Slice, Source, Step};

/// Alignment of temporaries: a cache line, and the widest vector.
const ALIGNMENT: usize = 64;

/// The offsets of temporaries in one block.
pub(in crate::compile) struct Plan {
    /// The offset of each buffer; `usize::MAX` for those that are no temporaries.
    pub(in crate::compile) offsets: Vec<usize>,
    /// The length of the block.
    pub(in crate::compile) nbytes: usize,
}

/// Eliminates steps whose outputs are never read.
pub(in crate::compile) fn remove_dead(
    steps: &mut Vec<Step>,
    buffers: &[Buffer],
    outputs: &[Output],
) {
    let lasting = |buffer: &Buffer| matches!(buffer.source, Source::Output | Source::Outside(_));
    let mut needed: Vec<bool> = buffers.iter().map(lasting).collect();
    outputs.iter().for_each(|output| needed[output.buffer as usize] = true);
    let mut kept: Vec<bool> = vec![true; steps.len()];
    for (step, kept) in steps.iter().zip(&mut kept).rev() {
        // A step without outputs makes objects for later steps; host code has side effects.
        let wanted = step.writes.is_empty()
            || step.is_foreign()
            || step.writes.iter().any(|w| needed[w.buffer as usize]);
        *kept = wanted;
        if wanted {
            replaced(step, buffers).for_each(|id| needed[id as usize] = false);
            step.reads.iter().for_each(|read| needed[read.buffer as usize] = true);
        }
    }
    let mut kept = kept.into_iter();
    steps.retain(|_| kept.next().unwrap_or(true));
}

/// The temporaries that a step overwrites completely, so that earlier writes to them are dead.
fn replaced<'s>(step: &'s Step, buffers: &'s [Buffer]) -> impl Iterator<Item = Id> + 's {
    let plain =
        matches!(step.action, Action::Map(_) | Action::Fill(_) | Action::Copy | Action::Reduce(..));
    let whole = move |w: &&Slice| {
        let Buffer { source, nbytes } = &buffers[w.buffer as usize];
        let apart = w.dims.iter().zip(&w.strides).all(|(&dim, &stride)| dim == 1 || stride != 0);
        matches!(source, Source::Temporary) && apart && w.numel() * w.dtype.size() == *nbytes
    };
    step.writes.iter().filter(move |w| plain && whole(w)).map(|w| w.buffer)
}

/// Assigns offsets first fit, by live range. The output of an element-wise loop reuses the memory of an operand that
/// dies there.
pub(in crate::compile) fn place(steps: &[Step], buffers: &[Buffer]) -> Plan {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; buffers.len()];
    for (at, step) in steps.iter().enumerate() {
        for buffer in step.buffers() {
            let life = lives[buffer as usize].get_or_insert((at, at));
            life.1 = at;
        }
    }
    let homes = homes(steps, buffers, &mut lives);
    let mut order: Vec<(Id, usize, usize)> = (0..buffers.len())
        .filter(|&b| matches!(buffers[b].source, Source::Temporary) && homes[b] == b as Id)
        .filter_map(|b| lives[b].map(|(first, last)| (b as Id, first, last)))
        .collect();
    order.sort_unstable_by_key(|&(buffer, first, _)| (first, buffer));
    let mut offsets = vec![usize::MAX; buffers.len()];
    let mut space = Space::default();
    // The live temporaries: last step, offset and size; the first to end on top.
    let mut taken: BinaryHeap<Reverse<(usize, usize, usize)>> = BinaryHeap::new();
    for (buffer, first, last) in order {
        while let Some(&Reverse((until, at, size))) = taken.peek()
            && until < first
        {
            taken.pop();
            space.give_back(at, size);
        }
        let size = buffers[buffer as usize].nbytes.max(1).next_multiple_of(ALIGNMENT);
        let at = space.take(size);
        taken.push(Reverse((last, at, size)));
        offsets[buffer as usize] = at;
    }
    for (buffer, &home) in homes.iter().enumerate() {
        offsets[buffer] = offsets[home as usize];
    }
    Plan { offsets, nbytes: space.end }
}

/// For each buffer the one whose memory it uses: itself, or an operand of the loop that writes it, whose live range
/// is extended to that of the output.
fn homes(steps: &[Step], buffers: &[Buffer], lives: &mut [Option<(usize, usize)>]) -> Vec<Id> {
    let mut homes: Vec<Id> = (0..buffers.len() as Id).collect();
    for (at, step) in steps.iter().enumerate() {
        let Action::Map(map) = &step.action else { continue };
        let out = map.out.buffer as usize;
        let own = matches!(buffers[out].source, Source::Temporary);
        let Some((first, last)) = lives[out].filter(|(first, _)| own && *first == at) else {
            continue;
        };
        let Some(operand) = operand_in_place(map, buffers) else { continue };
        let home = homes[operand as usize];
        let dies = lives[operand as usize].is_some_and(|(_, last)| last == at);
        if let Some(life) = lives[home as usize].as_mut().filter(|life| dies && life.1 == first) {
            life.1 = last;
            homes[out] = home;
        }
    }
    homes
}

/// A temporary that a loop may overwrite in place: it reads each element only at the position of the output.
fn operand_in_place(map: &Map, buffers: &[Buffer]) -> Option<Id> {
    let slices = || map.ins.iter().filter_map(Argument::slice);
    let lies_alike = |slice: &Slice| {
        slice.offset == map.out.offset
            && slice.dims == map.out.dims
            && slice.strides == map.out.strides
            && slice.dtype.size() == map.out.dtype.size()
    };
    let found = slices().find(|slice| {
        let (from, to) = (&buffers[slice.buffer as usize], &buffers[map.out.buffer as usize]);
        matches!(from.source, Source::Temporary)
            && from.nbytes == to.nbytes
            && slices().filter(|other| other.buffer == slice.buffer).all(lies_alike)
    });
    found.map(|slice| slice.buffer)
}

/// The block under construction.
#[derive(Default)]
struct Space {
    /// Free ranges below the end: offsets and lengths; adjacent ones are merged.
    gaps: BTreeMap<usize, usize>,
    end: usize,
}

impl Space {
    /// Allocates the first range that fits.
    fn take(&mut self, size: usize) -> usize {
        let fits = self.gaps.iter().find(|&(_, &length)| length >= size);
        if let Some((&at, &length)) = fits {
            self.gaps.remove(&at);
            if length > size {
                self.gaps.insert(at + size, length - size);
            }
            return at;
        }
        let open = self.gaps.last_entry().filter(|gap| gap.key() + gap.get() == self.end);
        let at = open.map_or(self.end, |gap| gap.remove_entry().0);
        self.end = at + size;
        at
    }

    fn give_back(&mut self, mut at: usize, mut size: usize) {
        if let Some(after) = self.gaps.remove(&(at + size)) {
            size += after;
        }
        if let Some((&before, &length)) = self.gaps.range(..at).next_back()
            && before + length == at
        {
            (at, size) = (before, length + size);
        }
        self.gaps.insert(at, size);
    }
}
