//! Builds a chain, a fused loop over tiles, and allocates its slots: tiles in cache that replace temporaries.
//!
//! Invariant: a slot holds one value from the link that writes it to the last one that reads it.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::fuse::{elements, is_whole_reduction};
use super::fuse_rows::columns_spread;
use crate::compile::ir::{Action, Argument, Buffer, Id, Map, Slice, Source, Step};
use crate::kernels::fused::broadcast::broadcast_form;
use crate::kernels::fused::chain::{Chain, REDUCING, Repeated, Shape, Value};
use crate::kernels::fused::chain_op::{Link, Place};
use crate::kernels::reduce::{WHOLE_LEAF, of_rows, whole};

/// Slots of a chain: their tiles fit the L1 cache.
const SLOTS: usize = 12;
/// Slots of a chain of rows: their tiles fit the L2 cache.
const ROW_SLOTS: usize = 32;

/// Assigns slots or memory to the operands of a chain.
struct Places<'a> {
    buffers: &'a [Buffer],
    shape: Shape,
    /// How often each buffer is used in the program, and within the chain.
    uses: &'a [usize],
    inside: HashMap<Id, usize>,
    /// The last link that uses a buffer.
    last: HashMap<Id, usize>,
    /// How often links write a buffer, and the last one that does.
    writes: HashMap<Id, (usize, usize)>,
    /// Buffers that are in a slot now, and those that need no memory at all.
    slots: HashMap<Id, usize>,
    local: HashSet<Id>,
    values: Vec<Value>,
    free: Vec<usize>,
    /// The number of slots ever used.
    taken: usize,
    /// A slot to free after this link.
    left: Option<usize>,
}

impl<'a> Places<'a> {
    fn new(steps: &[Step], shape: Shape, buffers: &'a [Buffer], uses: &'a [usize]) -> Self {
        let (mut inside, mut last) = (HashMap::new(), HashMap::new());
        let mut writes: HashMap<Id, (usize, usize)> = HashMap::new();
        for (at, step) in steps.iter().enumerate() {
            for out in &step.writes {
                let count = writes.get(&out.buffer).map_or(0, |known| known.0);
                writes.insert(out.buffer, (count + 1, at));
            }
            for buffer in step.buffers() {
                *inside.entry(buffer).or_insert(0) += 1;
                last.insert(buffer, at);
            }
        }
        let mut values: Vec<Value> = Vec::new();
        let slots = if shape.row == 1 { SLOTS } else { ROW_SLOTS };
        let mut free: Vec<usize> = (0..slots).rev().collect();
        for (from, size) in steps.iter().filter_map(Step::map).flat_map(repeated) {
            if !values.iter().any(|value| (value.from, value.size) == (from, size)) {
                values.extend(free.pop().map(|slot| Value { slot, size, from }));
            }
        }
        let (slots, local, taken) = (HashMap::new(), HashSet::new(), values.len());
        Places {
            buffers,
            shape,
            uses,
            inside,
            last,
            writes,
            slots,
            local,
            values,
            free,
            taken,
            left: None,
        }
    }

    /// Takes a free slot.
    fn slot(&mut self) -> Option<usize> {
        let slot = self.free.pop()?;
        self.taken = self.taken.max(slot + 1);
        Some(slot)
    }

    /// Elements per row of a slice.
    fn width(&self, slice: &Slice) -> usize {
        if slice.numel() == self.shape.n() { self.shape.row } else { 1 }
    }

    /// An operand in memory.
    fn memory(&self, slice: &Slice) -> Place {
        let step = slice.dtype.size() * self.width(slice);
        Place::Memory { buffer: slice.buffer, offset: slice.offset, step }
    }

    /// The destination of a link: a slot if only the chain uses the buffer, or if it is written several times. An
    /// in-place loop is slow: it writes to another slot if one is free.
    fn out(&mut self, slice: &Slice, in_place: bool) -> Place {
        let buffer = slice.buffer;
        if let Some(&slot) = self.slots.get(&buffer) {
            let Some(other) = self.slot() else { return Place::Slot(slot) };
            self.slots.insert(buffer, other);
            self.left = Some(slot);
            return Place::Slot(other);
        }
        let private = matches!(self.buffers[buffer as usize].source, Source::Temporary)
            && self.uses[buffer as usize] == self.inside[&buffer];
        let waits = in_place || self.writes[&buffer].0 > 1;
        if (private || waits)
            && let Some(slot) = self.slot()
        {
            self.slots.insert(buffer, slot);
            if private {
                self.local.insert(buffer);
            }
            return Place::Slot(slot);
        }
        self.memory(slice)
    }

    /// The location of an operand.
    fn argument(&self, argument: &Argument) -> Option<Place> {
        if let Some(value) = value_of(argument) {
            let found = self.values.iter().find(|known| (known.from, known.size) == value);
            return found.map(|value| Place::Slot(value.slot));
        }
        match argument {
            Argument::Slice(slice) => Some(self.elements(slice)),
            Argument::Number(..) => None,
        }
    }

    fn elements(&self, slice: &Slice) -> Place {
        match self.slots.get(&slice.buffer) {
            Some(&slot) => Place::Slot(slot),
            None => self.memory(slice),
        }
    }

    /// Frees the slots of buffers that no later link uses.
    fn release(&mut self, link: usize) {
        let (last, free) = (&self.last, &mut self.free);
        free.extend(self.left.take());
        self.slots.retain(|buffer, slot| {
            let stays = last[buffer] > link;
            if !stays {
                free.push(*slot);
            }
            stays
        });
    }
}

/// The repeated value of a broadcast operand and its element size; `None` for an array.
fn value_of(argument: &Argument) -> Option<(Repeated, usize)> {
    let from = match argument {
        Argument::Number(bits, _) => Repeated::Number(*bits),
        Argument::Slice(slice) if slice.is_value() => {
            Repeated::Memory { buffer: slice.buffer, offset: slice.offset }
        }
        Argument::Slice(slice) if !slice.is_contiguous() => {
            let (count, inner) = broadcast_form(&slice.dims, &slice.strides)?;
            Repeated::Broadcast { buffer: slice.buffer, offset: slice.offset, count, inner }
        }
        Argument::Slice(_) => return None,
    };
    Some((from, argument.dtype().size()))
}

/// The repeated values of a loop's operands.
fn repeated(map: &Map) -> impl Iterator<Item = (Repeated, usize)> + '_ {
    map.ins.iter().filter_map(value_of)
}

/// Fuses steps into one.
pub(in crate::compile) fn chained(
    steps: Vec<Step>,
    shape: Shape,
    buffers: &mut Vec<Buffer>,
    uses: &mut Vec<usize>,
) -> Step {
    let steps = if shape.row == 1 { steps } else { columns_spread(steps, shape, buffers, uses) };
    assembled(steps, shape, buffers, uses)
}

/// The same, after columns were expanded.
fn assembled(steps: Vec<Step>, shape: Shape, buffers: &mut Vec<Buffer>, uses: &[usize]) -> Step {
    // Partial results of whole reductions, one per block.
    let mut leaves: Vec<Slice> = Vec::new();
    for out in steps.iter().filter(|step| is_whole_reduction(step)).map(|step| &step.writes[0]) {
        let (count, buffer) = (shape.n().div_ceil(WHOLE_LEAF), buffers.len() as Id);
        let nbytes = count * out.dtype.size();
        buffers.push(Buffer { source: Source::Temporary, nbytes });
        leaves.push(Slice::contiguous(buffer, out.dtype, &[count]));
    }
    let mut places = Places::new(&steps, shape, buffers, uses);
    let mut links: Vec<Link> = Vec::with_capacity(steps.len());
    let mut unused = leaves.iter().enumerate();
    for (at, step) in steps.iter().enumerate() {
        let link = match &step.action {
            Action::Map(map) => places.map(map),
            Action::Reduce(..) if is_whole_reduction(step) => {
                unused.next().and_then(|(k, slice)| places.reduction(step, k, slice.buffer))
            }
            Action::Reduce(..) => places.rows(step),
            _ => Some(places.copy(&step.reads[0], &step.writes[0])),
        };
        let Some(link) = link else { return halves(steps, shape, buffers, uses) };
        links.push(link);
        links.extend(places.settle(at, &step.writes[0]));
        places.release(at);
    }
    let cost = steps.iter().map(|step| cost(step, shape)).sum();
    let lasting = |slice: &&Slice| !places.local.contains(&slice.buffer);
    let mut reads: SmallVec<[Slice; 2]> = SmallVec::new();
    for slice in steps.iter().flat_map(|s| &s.reads).filter(lasting) {
        if !reads.contains(slice) {
            reads.push(slice.clone());
        }
    }
    let written = steps.iter().flat_map(|s| &s.writes).filter(lasting);
    let writes = written.chain(&leaves).cloned().collect();
    let (slots, values) = (places.taken, places.values);
    let by_rows = (shape.row > 1).then(|| format!("rows of {}", shape.row));
    let texts = by_rows.into_iter().chain(steps.iter().flat_map(Step::texts)).collect();
    let name = if shape.row > 1 { "rows" } else { "chain" };
    let chain = Chain { links, values, shape, slots, cost, texts };
    Step { name, reads, writes, action: Action::Chain(Box::new(chain)) }
}

/// The cost of a step in nanoseconds per element of the chain.
fn cost(step: &Step, shape: Shape) -> f32 {
    let share = elements(step) as f32 / shape.n() as f32;
    share * step.map().map_or(REDUCING, |map| map.cost)
}

impl Places<'_> {
    /// The link of an element-wise step; `None` if there is no slot for a repeated value.
    fn map(&mut self, map: &Map) -> Option<Link> {
        let ins: Option<SmallVec<[Place; 4]>> =
            map.ins.iter().map(|argument| self.argument(argument)).collect();
        let (table, params, width) = (map.table, map.params.clone(), self.width(&map.out));
        let in_place = map.ins.iter().any(|argument| match argument {
            Argument::Slice(slice) => slice.buffer == map.out.buffer,
            Argument::Number(..) => false,
        });
        Some(Link::Map { table, ins: ins?, out: self.out(&map.out, in_place), params, width })
    }

    /// The link of a copy, or of the broadcast of one element per row to the whole row.
    fn copy(&mut self, read: &Slice, out: &Slice) -> Link {
        let size = out.dtype.size();
        if !read.is_contiguous() {
            let from = self.column(read);
            return Link::Spread { from, to: self.out(out, false), size };
        }
        let from = self.elements(read);
        Link::Copy { from, to: self.out(out, false), step: size * self.width(out) }
    }

    /// The location of an operand with one element per row.
    fn column(&self, slice: &Slice) -> Place {
        let (buffer, offset, step) = (slice.buffer, slice.offset, slice.dtype.size());
        let slot = self.slots.get(&buffer).map(|&slot| Place::Slot(slot));
        slot.unwrap_or(Place::Memory { buffer, offset, step })
    }

    /// After the last link that writes a buffer in a slot, the copy of the slot to memory.
    fn settle(&self, at: usize, out: &Slice) -> Option<Link> {
        let from = Place::Slot(*self.slots.get(&out.buffer)?);
        let settled = self.writes[&out.buffer].1 == at && !self.local.contains(&out.buffer);
        let step = out.dtype.size() * self.width(out);
        settled.then(|| Link::Copy { from, to: self.memory(out), step })
    }

    /// The link of a reduction of each row.
    fn rows(&mut self, step: &Step) -> Option<Link> {
        let Action::Reduce(op, _) = step.action else { return None };
        let table = of_rows(op, step.reads[0].dtype, self.shape.row)?;
        let input = self.elements(&step.reads[0]);
        Some(Link::Rows { table, input, out: self.out(&step.writes[0], false) })
    }

    /// The link of a reduction of all elements.
    fn reduction(&self, step: &Step, number: usize, leaves: Id) -> Option<Link> {
        let Action::Reduce(op, _) = step.action else { return None };
        let (input, out) = (&step.reads[0], &step.writes[0]);
        let (loops, size) = (whole(op, input.dtype)?, out.dtype.size());
        let (input, out) = (self.elements(input), (out.buffer, out.offset));
        Some(Link::Reduction { loops, number, input, leaves, size, out })
    }
}

/// Splits a chain that repeats more values than there are slots.
fn halves(mut steps: Vec<Step>, shape: Shape, buffers: &mut Vec<Buffer>, uses: &[usize]) -> Step {
    let rest = steps.split_off(steps.len() / 2);
    let mut parts: Vec<Step> = Vec::new();
    for mut half in [steps, rest] {
        match half.len() {
            0 | 1 => parts.append(&mut half),
            _ => parts.push(assembled(half, shape, buffers, uses)),
        }
    }
    let reads = parts.iter().flat_map(|s| &s.reads).cloned().collect();
    let writes = parts.iter().flat_map(|s| &s.writes).cloned().collect();
    Step { name: "chains", reads, writes, action: Action::Sequence(parts) }
}
