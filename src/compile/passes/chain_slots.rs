//! Builds a chain, a fused loop over tiles, and allocates its slots: tiles in cache that replace temporaries.
//!
//! Invariant: a slot holds one value from the link that writes it to the last one that reads it.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::fuse::{elements, is_whole_reduction};
use super::fuse_rows::expand_columns;
use crate::compile::ir::{Action, Buffer, BufferId, BufferView, Map, MapOperand, Source, Step};
use crate::kernels::fused::broadcast::broadcast_pattern;
use crate::kernels::fused::chain::{
    Chain, ChainShape, REDUCTION_COST, RepeatedOperand, RepeatedSource,
};
use crate::kernels::fused::chain_op::{ChainOp, Location};
use crate::kernels::reduce::{WHOLE_LEAF, row_reduction, whole_reduction};

/// Slots of a chain: their tiles fit the L1 cache.
const CACHE_SLOTS: usize = 12;
/// Slots of a chain of rows: their tiles fit the L2 cache.
const ROW_SLOTS: usize = 32;

/// Assigns slots or memory to the operands of a chain.
struct SlotAllocator<'a> {
    buffers: &'a [Buffer],
    shape: ChainShape,
    /// How often each buffer is used by the program, and within the chain.
    program_uses: &'a [usize],
    chain_uses: HashMap<BufferId, usize>,
    /// The last link that uses a buffer.
    last: HashMap<BufferId, usize>,
    /// How often links write a buffer, and the last one that does.
    writes: HashMap<BufferId, (usize, usize)>,
    /// Buffers that lie in a slot now, and those that ever did.
    slots: HashMap<BufferId, usize>,
    local: HashSet<BufferId>,
    values: Vec<RepeatedOperand>,
    free: Vec<usize>,
    /// The number of slots ever used.
    slot_count: usize,
    /// A slot to free after this link.
    pending_free: Option<usize>,
}

impl<'a> SlotAllocator<'a> {
    fn new(
        steps: &[Step],
        shape: ChainShape,
        buffers: &'a [Buffer],
        program_uses: &'a [usize],
    ) -> Self {
        let (mut chain_uses, mut last) = (HashMap::new(), HashMap::new());
        let mut writes: HashMap<BufferId, (usize, usize)> = HashMap::new();
        for (index, step) in steps.iter().enumerate() {
            for out in &step.writes {
                let count = writes.get(&out.buffer).map_or(0, |known| known.0);
                writes.insert(out.buffer, (count + 1, index));
            }
            for buffer in step.buffers() {
                *chain_uses.entry(buffer).or_insert(0) += 1;
                last.insert(buffer, index);
            }
        }
        let mut values: Vec<RepeatedOperand> = Vec::new();
        let slots = if shape.row == 1 { CACHE_SLOTS } else { ROW_SLOTS };
        let mut free: Vec<usize> = (0..slots).rev().collect();
        for (from, size) in steps.iter().filter_map(Step::map).flat_map(repeated_values) {
            if !values.iter().any(|value| (value.from, value.size) == (from, size)) {
                values.extend(free.pop().map(|slot| RepeatedOperand { slot, size, from }));
            }
        }
        let (slots, local, slot_count) = (HashMap::new(), HashSet::new(), values.len());
        SlotAllocator {
            buffers,
            shape,
            program_uses,
            chain_uses,
            last,
            writes,
            slots,
            local,
            values,
            free,
            slot_count,
            pending_free: None,
        }
    }

    /// Takes a free slot.
    fn slot(&mut self) -> Option<usize> {
        let slot = self.free.pop()?;
        self.slot_count = self.slot_count.max(slot + 1);
        Some(slot)
    }

    /// Elements per row of a slice.
    fn width(&self, slice: &BufferView) -> usize {
        if slice.numel() == self.shape.numel() { self.shape.row } else { 1 }
    }

    /// Elements in memory.
    fn memory(&self, slice: &BufferView) -> Location {
        let step = slice.dtype.size() * self.width(slice);
        Location::Memory { buffer: slice.buffer, offset: slice.offset, step }
    }

    /// Where a result goes: to the cache, if nothing outside the chain uses it, or if it is written several times. A loop in
    /// place is slow: it goes to another slot, if there is one.
    fn out(&mut self, slice: &BufferView, in_place: bool) -> Location {
        let buffer = slice.buffer;
        if let Some(&slot) = self.slots.get(&buffer) {
            let Some(other) = self.slot() else { return Location::Slot(slot) };
            self.slots.insert(buffer, other);
            self.pending_free = Some(slot);
            return Location::Slot(other);
        }
        let is_private = matches!(self.buffers[buffer as usize].source, Source::Temporary)
            && self.program_uses[buffer as usize] == self.chain_uses[&buffer];
        let is_delayed = in_place || self.writes[&buffer].0 > 1;
        if (is_private || is_delayed)
            && let Some(slot) = self.slot()
        {
            self.slots.insert(buffer, slot);
            if is_private {
                self.local.insert(buffer);
            }
            return Location::Slot(slot);
        }
        self.memory(slice)
    }

    /// Where an operand is.
    fn argument(&self, argument: &MapOperand) -> Option<Location> {
        if let Some(value) = repeated_value(argument) {
            let found = self.values.iter().find(|known| (known.from, known.size) == value);
            return found.map(|value| Location::Slot(value.slot));
        }
        match argument {
            MapOperand::BufferView(slice) => Some(self.elements(slice)),
            MapOperand::Number(..) => None,
        }
    }

    fn elements(&self, slice: &BufferView) -> Location {
        match self.slots.get(&slice.buffer) {
            Some(&slot) => Location::Slot(slot),
            None => self.memory(slice),
        }
    }

    /// Frees the slots of buffers that no later link uses.
    fn release(&mut self, link: usize) {
        let (last, free) = (&self.last, &mut self.free);
        free.extend(self.pending_free.take());
        self.slots.retain(|buffer, slot| {
            let stays = last[buffer] > link;
            if !stays {
                free.push(*slot);
            }
            stays
        });
    }
}

/// What an operand repeats, and the size of one; `None` for elements.
fn repeated_value(argument: &MapOperand) -> Option<(RepeatedSource, usize)> {
    let from = match argument {
        MapOperand::Number(bits, _) => RepeatedSource::Number(*bits),
        MapOperand::BufferView(slice) if slice.is_value() => {
            RepeatedSource::Memory { buffer: slice.buffer, offset: slice.offset }
        }
        MapOperand::BufferView(slice) if !slice.is_contiguous() => {
            let (count, inner) = broadcast_pattern(&slice.dims, &slice.strides)?;
            RepeatedSource::Broadcast { buffer: slice.buffer, offset: slice.offset, count, inner }
        }
        MapOperand::BufferView(_) => return None,
    };
    Some((from, argument.dtype().size()))
}

/// What the operands of a step repeat.
fn repeated_values(map: &Map) -> impl Iterator<Item = (RepeatedSource, usize)> + '_ {
    map.ins.iter().filter_map(repeated_value)
}

/// Fuses steps into one.
pub(in crate::compile) fn build_chain(
    steps: Vec<Step>,
    shape: ChainShape,
    buffers: &mut Vec<Buffer>,
    program_uses: &mut Vec<usize>,
) -> Step {
    let steps =
        if shape.row == 1 { steps } else { expand_columns(steps, shape, buffers, program_uses) };
    assemble_chain(steps, shape, buffers, program_uses)
}

/// The same for steps in which columns have been spread.
fn assemble_chain(
    steps: Vec<Step>,
    shape: ChainShape,
    buffers: &mut Vec<Buffer>,
    program_uses: &[usize],
) -> Step {
    // The results of leaves lie in memory of the run.
    let mut leaves: Vec<BufferView> = Vec::new();
    for out in steps.iter().filter(|step| is_whole_reduction(step)).map(|step| &step.writes[0]) {
        let (count, buffer) = (shape.numel().div_ceil(WHOLE_LEAF), buffers.len() as BufferId);
        let nbytes = count * out.dtype.size();
        buffers.push(Buffer { source: Source::Temporary, nbytes });
        leaves.push(BufferView::contiguous(buffer, out.dtype, &[count]));
    }
    let mut allocator = SlotAllocator::new(&steps, shape, buffers, program_uses);
    let mut ops: Vec<ChainOp> = Vec::with_capacity(steps.len());
    let mut unused = leaves.iter().enumerate();
    for (index, step) in steps.iter().enumerate() {
        let link = match &step.action {
            Action::Map(map) => allocator.map(map),
            Action::Reduce(..) if is_whole_reduction(step) => {
                unused.next().and_then(|(k, slice)| allocator.reduction(step, k, slice.buffer))
            }
            Action::Reduce(..) => allocator.rows(step),
            _ => Some(allocator.copy(&step.reads[0], &step.writes[0])),
        };
        let Some(link) = link else { return split_chain(steps, shape, buffers, program_uses) };
        ops.push(link);
        ops.extend(allocator.copy_back(index, &step.writes[0]));
        allocator.release(index);
    }
    let cost = steps.iter().map(|step| cost(step, shape)).sum();
    let needs_memory = |slice: &&BufferView| !allocator.local.contains(&slice.buffer);
    let mut reads: SmallVec<[BufferView; 2]> = SmallVec::new();
    for slice in steps.iter().flat_map(|s| &s.reads).filter(needs_memory) {
        if !reads.contains(slice) {
            reads.push(slice.clone());
        }
    }
    let written = steps.iter().flat_map(|s| &s.writes).filter(needs_memory);
    let writes = written.chain(&leaves).cloned().collect();
    let (slots, values) = (allocator.slot_count, allocator.values);
    let row_text = (shape.row > 1).then(|| format!("rows of {}", shape.row));
    let texts = row_text.into_iter().chain(steps.iter().flat_map(Step::formulas)).collect();
    let name = if shape.row > 1 { "rows" } else { "chain" };
    let chain = Chain { ops, values, shape, slots, cost, formulas: texts };
    Step { name, reads, writes, action: Action::Chain(Box::new(chain)) }
}

/// Nanoseconds that a step takes for each element of the chain.
fn cost(step: &Step, shape: ChainShape) -> f32 {
    let share = elements(step) as f32 / shape.numel() as f32;
    share * step.map().map_or(REDUCTION_COST, |map| map.cost)
}

impl SlotAllocator<'_> {
    /// The link of an element-wise step; `None` when there is no slot for what it repeats.
    fn map(&mut self, map: &Map) -> Option<ChainOp> {
        let ins: Option<SmallVec<[Location; 4]>> =
            map.ins.iter().map(|argument| self.argument(argument)).collect();
        let (table, params, width) = (map.table, map.params.clone(), self.width(&map.out));
        let in_place = map.ins.iter().any(|argument| match argument {
            MapOperand::BufferView(slice) => slice.buffer == map.out.buffer,
            MapOperand::Number(..) => false,
        });
        Some(ChainOp::Map { table, ins: ins?, out: self.out(&map.out, in_place), params, width })
    }

    /// The link of a copy, of a row's element to all of the row if it is broadcast.
    fn copy(&mut self, read: &BufferView, out: &BufferView) -> ChainOp {
        let size = out.dtype.size();
        if !read.is_contiguous() {
            let from = self.column(read);
            return ChainOp::BroadcastRow { from, to: self.out(out, false), size };
        }
        let from = self.elements(read);
        ChainOp::Copy { from, to: self.out(out, false), step: size * self.width(out) }
    }

    /// Where the elements are of which there is one for each row.
    fn column(&self, slice: &BufferView) -> Location {
        let (buffer, offset, step) = (slice.buffer, slice.offset, slice.dtype.size());
        let slot = self.slots.get(&buffer).map(|&slot| Location::Slot(slot));
        slot.unwrap_or(Location::Memory { buffer, offset, step })
    }

    /// The copy of what waited in a slot for the last link that writes it, which is this one.
    fn copy_back(&self, link: usize, out: &BufferView) -> Option<ChainOp> {
        let from = Location::Slot(*self.slots.get(&out.buffer)?);
        let is_last = self.writes[&out.buffer].1 == link && !self.local.contains(&out.buffer);
        let step = out.dtype.size() * self.width(out);
        is_last.then(|| ChainOp::Copy { from, to: self.memory(out), step })
    }

    /// The link of a reduction of each row.
    fn rows(&mut self, step: &Step) -> Option<ChainOp> {
        let Action::Reduce(op, _) = step.action else { return None };
        let table = row_reduction(op, step.reads[0].dtype, self.shape.row)?;
        let input = self.elements(&step.reads[0]);
        Some(ChainOp::Rows { table, input, out: self.out(&step.writes[0], false) })
    }

    /// The link of a reduction of all elements.
    fn reduction(&self, step: &Step, number: usize, leaves: BufferId) -> Option<ChainOp> {
        let Action::Reduce(op, _) = step.action else { return None };
        let (input, out) = (&step.reads[0], &step.writes[0]);
        let (loops, size) = (whole_reduction(op, input.dtype)?, out.dtype.size());
        let (input, out) = (self.elements(input), (out.buffer, out.offset));
        Some(ChainOp::Reduction { loops, number, input, leaves, size, out })
    }
}

/// A chain that repeats more values than there are slots: its first half and its second.
fn split_chain(
    mut steps: Vec<Step>,
    shape: ChainShape,
    buffers: &mut Vec<Buffer>,
    program_uses: &[usize],
) -> Step {
    let rest = steps.split_off(steps.len() / 2);
    let mut halves: Vec<Step> = Vec::new();
    for mut half in [steps, rest] {
        match half.len() {
            0 | 1 => halves.append(&mut half),
            _ => halves.push(assemble_chain(half, shape, buffers, program_uses)),
        }
    }
    let reads = halves.iter().flat_map(|s| &s.reads).cloned().collect();
    let writes = halves.iter().flat_map(|s| &s.writes).cloned().collect();
    Step { name: "chains", reads, writes, action: Action::Sequence(halves) }
}
