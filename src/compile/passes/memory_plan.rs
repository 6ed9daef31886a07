//! The memory plan: one block for all temporaries, by their live ranges.
//!
//! Invariant: two temporaries with overlapping live ranges share no byte, except an operand and the output of a loop
//! that runs in place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::compile::ir::{Action, Buffer, BufferId, BufferView, Map, MapOperand, Source, Step};

/// Alignment of temporaries: a cache line, and the widest vector.
const ALIGNMENT: usize = 64;

/// The offsets of temporaries in one block.
pub(in crate::compile) struct MemoryPlan {
    /// The offset of each buffer; `usize::MAX` for those that are no temporaries.
    pub(in crate::compile) offsets: Vec<usize>,
    /// The length of the block.
    pub(in crate::compile) nbytes: usize,
}

/// Assigns offsets first fit, by live range. The output of an element-wise loop reuses the memory of an operand that
/// dies there.
pub(in crate::compile) fn plan_memory(steps: &[Step], buffers: &[Buffer]) -> MemoryPlan {
    let mut live_ranges: Vec<Option<(usize, usize)>> = vec![None; buffers.len()];
    for (step_index, step) in steps.iter().enumerate() {
        for buffer in step.buffers() {
            let range = live_ranges[buffer as usize].get_or_insert((step_index, step_index));
            range.1 = step_index;
        }
    }
    let memory_owners = memory_owners(steps, buffers, &mut live_ranges);
    let mut order: Vec<(BufferId, usize, usize)> = (0..buffers.len())
        .filter(|&b| {
            matches!(buffers[b].source, Source::Temporary) && memory_owners[b] == b as BufferId
        })
        .filter_map(|b| live_ranges[b].map(|(first, last)| (b as BufferId, first, last)))
        .collect();
    order.sort_unstable_by_key(|&(buffer, first, _)| (first, buffer));
    let mut offsets = vec![usize::MAX; buffers.len()];
    let mut layout = BlockLayout::default();
    // The live temporaries: last step, offset and size; the first to end on top.
    let mut live: BinaryHeap<Reverse<(usize, usize, usize)>> = BinaryHeap::new();
    for (buffer, first, last) in order {
        while let Some(&Reverse((until, offset, size))) = live.peek()
            && until < first
        {
            live.pop();
            layout.free(offset, size);
        }
        let size = buffers[buffer as usize].nbytes.max(1).next_multiple_of(ALIGNMENT);
        let offset = layout.allocate(size);
        live.push(Reverse((last, offset, size)));
        offsets[buffer as usize] = offset;
    }
    for (buffer, &owner) in memory_owners.iter().enumerate() {
        offsets[buffer] = offsets[owner as usize];
    }
    MemoryPlan { offsets, nbytes: layout.end }
}

/// For each buffer the one whose memory it uses: itself, or an operand of the loop that writes it, whose live range
/// is extended to that of the output.
fn memory_owners(
    steps: &[Step],
    buffers: &[Buffer],
    live_ranges: &mut [Option<(usize, usize)>],
) -> Vec<BufferId> {
    let mut memory_owners: Vec<BufferId> = (0..buffers.len() as BufferId).collect();
    for (step_index, step) in steps.iter().enumerate() {
        let Action::Map(map) = &step.action else { continue };
        let out = map.out.buffer as usize;
        let is_temporary = matches!(buffers[out].source, Source::Temporary);
        let Some((first, last)) =
            live_ranges[out].filter(|(first, _)| is_temporary && *first == step_index)
        else {
            continue;
        };
        let Some(operand) = operand_in_place(map, buffers) else { continue };
        let owner = memory_owners[operand as usize];
        let dies_here = live_ranges[operand as usize].is_some_and(|(_, last)| last == step_index);
        if let Some(range) =
            live_ranges[owner as usize].as_mut().filter(|range| dies_here && range.1 == first)
        {
            range.1 = last;
            memory_owners[out] = owner;
        }
    }
    memory_owners
}

/// A temporary that a loop may overwrite in place: it reads each element only at the position of the output.
fn operand_in_place(map: &Map, buffers: &[Buffer]) -> Option<BufferId> {
    let slices = || map.ins.iter().filter_map(MapOperand::slice);
    let same_elements = |slice: &BufferView| {
        slice.offset == map.out.offset
            && slice.dims == map.out.dims
            && slice.strides == map.out.strides
            && slice.dtype.size() == map.out.dtype.size()
    };
    let found = slices().find(|slice| {
        let (from, to) = (&buffers[slice.buffer as usize], &buffers[map.out.buffer as usize]);
        matches!(from.source, Source::Temporary)
            && from.nbytes == to.nbytes
            && slices().filter(|other| other.buffer == slice.buffer).all(same_elements)
    });
    found.map(|slice| slice.buffer)
}

/// The block under construction.
#[derive(Default)]
struct BlockLayout {
    /// Free ranges below the end: offsets and lengths; adjacent ones are merged.
    gaps: BTreeMap<usize, usize>,
    end: usize,
}

impl BlockLayout {
    /// Allocates the first range that fits.
    fn allocate(&mut self, size: usize) -> usize {
        let fits = self.gaps.iter().find(|&(_, &length)| length >= size);
        if let Some((&offset, &length)) = fits {
            self.gaps.remove(&offset);
            if length > size {
                self.gaps.insert(offset + size, length - size);
            }
            return offset;
        }
        let open = self.gaps.last_entry().filter(|gap| gap.key() + gap.get() == self.end);
        let offset = open.map_or(self.end, |gap| gap.remove_entry().0);
        self.end = offset + size;
        offset
    }

    fn free(&mut self, mut offset: usize, mut size: usize) {
        if let Some(after) = self.gaps.remove(&(offset + size)) {
            size += after;
        }
        if let Some((&before, &length)) = self.gaps.range(..offset).next_back()
            && before + length == offset
        {
            (offset, size) = (before, length + size);
        }
        self.gaps.insert(offset, size);
    }
}
