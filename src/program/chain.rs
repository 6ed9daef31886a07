//! Chains: element-wise steps over the same elements, and reductions of all of them, run piece by piece, so that what one
//! hands to the next stays in the cache.
//!
//! Owns: which temporaries need no memory then, and the run of a chain. Never says which steps form one: `join` does.
//! Invariant: element `i` of every step is computed from elements `i` of the steps before, as if the steps ran one after
//! the other; how the work is cut changes no bit, and a reduction merges the leaves that it has anywhere else.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::step::{Action, Argument, Buffer, Id, Map, Slice, Source, Step};
use crate::kernels::elementwise::{Loop, MAX_OPERANDS, in_blocks};
use crate::kernels::reduce::{WHOLE_LEAF, Whole, whole};

/// Shorter steps gain nothing: their operands are in the cache anyway.
pub(super) const SHORTEST: usize = 2048;
/// Elements of a piece: one leaf of a reduction.
const PIECE: usize = WHOLE_LEAF;
/// The most temporaries and repeated values of a chain that stay in the cache.
const SLOTS: usize = 12;
/// Nanoseconds per element of a reduction.
const REDUCING: f32 = 0.15;

/// Where the elements of an operand of a link are.
#[derive(Clone, Debug)]
enum Place {
    /// In a buffer, from this byte on.
    Memory { buffer: Id, offset: isize, size: usize },
    /// In a piece of the cache.
    Slot(usize),
}

/// One step of a chain.
#[derive(Clone)]
enum Link {
    Map {
        table: Loop,
        ins: SmallVec<[Place; 4]>,
        out: Place,
        params: SmallVec<[f64; 2]>,
    },
    /// A reduction, the results of its leaves, and the size of one of them.
    Reduction {
        loops: Whole,
        input: Place,
        leaves: Id,
        size: usize,
        out: (Id, isize),
    },
}

/// A value that stands for all elements: repeated once for each block.
#[derive(Clone)]
struct Value {
    slot: usize,
    size: usize,
    from: Repeated,
}

#[derive(Clone, Copy, PartialEq)]
enum Repeated {
    Number(u64),
    Memory { buffer: Id, offset: isize },
}

/// Element-wise steps over the same elements.
#[derive(Clone)]
pub struct Chain {
    links: Vec<Link>,
    values: Vec<Value>,
    n: usize,
    cost: f32,
}

/// The places of the operands of a chain.
struct Places<'a> {
    buffers: &'a [Buffer],
    /// How often each buffer is used by the program, and within the chain.
    uses: &'a [usize],
    inside: HashMap<Id, usize>,
    /// The last link that uses a buffer.
    last: HashMap<Id, usize>,
    /// Buffers that lie in a slot now, and those that ever did.
    slots: HashMap<Id, usize>,
    local: HashSet<Id>,
    values: Vec<Value>,
    free: Vec<usize>,
}

impl<'a> Places<'a> {
    fn new(steps: &[Step], buffers: &'a [Buffer], uses: &'a [usize]) -> Places<'a> {
        let (mut inside, mut last) = (HashMap::new(), HashMap::new());
        for (at, step) in steps.iter().enumerate() {
            for buffer in step.buffers() {
                *inside.entry(buffer).or_insert(0) += 1;
                last.insert(buffer, at);
            }
        }
        let mut values: Vec<Value> = Vec::new();
        let mut free: Vec<usize> = (0..SLOTS).rev().collect();
        for (from, size) in steps.iter().filter_map(Step::map).flat_map(repeated) {
            if !values.iter().any(|value| (value.from, value.size) == (from, size)) {
                values.extend(free.pop().map(|slot| Value { slot, size, from }));
            }
        }
        let (slots, local) = (HashMap::new(), HashSet::new());
        Places { buffers, uses, inside, last, slots, local, values, free }
    }

    /// Where a result goes: to the cache, if nothing outside the chain uses it.
    fn out(&mut self, slice: &Slice) -> Place {
        let buffer = slice.buffer;
        if let Some(&slot) = self.slots.get(&buffer) {
            return Place::Slot(slot);
        }
        let private = matches!(self.buffers[buffer as usize].source, Source::Temporary)
            && self.uses[buffer as usize] == self.inside[&buffer];
        if private && let Some(slot) = self.free.pop() {
            self.slots.insert(buffer, slot);
            self.local.insert(buffer);
            return Place::Slot(slot);
        }
        Place::Memory { buffer, offset: slice.offset, size: slice.dtype.size() }
    }

    /// Where an operand is.
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
        let (buffer, size) = (slice.buffer, slice.dtype.size());
        match self.slots.get(&buffer) {
            Some(&slot) => Place::Slot(slot),
            None => Place::Memory { buffer, offset: slice.offset, size },
        }
    }

    /// Gives back the slots of buffers that no later link uses.
    fn release(&mut self, link: usize) {
        let (last, free) = (&self.last, &mut self.free);
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
fn value_of(argument: &Argument) -> Option<(Repeated, usize)> {
    let from = match argument {
        Argument::Number(bits, _) => Repeated::Number(*bits),
        Argument::Slice(slice) if slice.is_value() => {
            Repeated::Memory { buffer: slice.buffer, offset: slice.offset }
        }
        Argument::Slice(_) => return None,
    };
    Some((from, argument.dtype().size()))
}

/// What the operands of a step repeat.
fn repeated(map: &Map) -> impl Iterator<Item = (Repeated, usize)> + '_ {
    map.ins.iter().filter_map(value_of)
}

/// One step for a chain.
pub(super) fn chained(steps: Vec<Step>, buffers: &mut Vec<Buffer>, uses: &[usize]) -> Step {
    let n = steps[0].map().map_or_else(|| steps[0].reads[0].numel(), |map| map.out.numel());
    // The results of leaves lie in memory of the run.
    let mut leaves: Vec<Slice> = Vec::new();
    for out in steps.iter().filter(|s| s.map().is_none()).map(|step| &step.writes[0]) {
        let (count, buffer) = (n.div_ceil(WHOLE_LEAF), buffers.len() as Id);
        let nbytes = count * out.dtype.size();
        buffers.push(Buffer { source: Source::Temporary, nbytes });
        leaves.push(Slice::contiguous(buffer, out.dtype, &[count]));
    }
    let mut places = Places::new(&steps, buffers, uses);
    let mut links: Vec<Link> = Vec::with_capacity(steps.len());
    let mut unused = leaves.iter();
    for (at, step) in steps.iter().enumerate() {
        let link = match step.map() {
            Some(map) => places.map(map),
            None => unused.next().and_then(|leaves| places.reduction(step, leaves.buffer)),
        };
        let Some(link) = link else { return halves(steps, buffers, uses) };
        links.push(link);
        places.release(at);
    }
    let cost = steps.iter().map(|step| step.map().map_or(REDUCING, |map| map.cost)).sum();
    let lasting = |slice: &&Slice| !places.local.contains(&slice.buffer);
    let mut reads: SmallVec<[Slice; 3]> = SmallVec::new();
    for slice in steps.iter().flat_map(|s| &s.reads).filter(lasting) {
        if !reads.contains(slice) {
            reads.push(slice.clone());
        }
    }
    let written = steps.iter().flat_map(|s| &s.writes).filter(lasting);
    let writes = written.chain(&leaves).cloned().collect();
    let chain = Chain { links, values: places.values, n, cost };
    Step { name: "chain", reads, writes, action: Action::Chain(Box::new(chain)) }
}

impl Places<'_> {
    /// The link of an element-wise step; `None` when there is no slot for what it repeats.
    fn map(&mut self, map: &Map) -> Option<Link> {
        let ins: Option<SmallVec<[Place; 4]>> =
            map.ins.iter().map(|argument| self.argument(argument)).collect();
        let (table, params) = (map.table, map.params.clone());
        Some(Link::Map { table, ins: ins?, out: self.out(&map.out), params })
    }

    /// The link of a reduction.
    fn reduction(&self, step: &Step, leaves: Id) -> Option<Link> {
        let Action::Reduce(op, _) = step.action else { return None };
        let (input, out) = (&step.reads[0], &step.writes[0]);
        let (loops, size) = (whole(op, input.dtype)?, out.dtype.size());
        let (input, out) = (self.elements(input), (out.buffer, out.offset));
        Some(Link::Reduction { loops, input, leaves, size, out })
    }
}

/// A chain that repeats more values than there are slots: its first half and its second.
fn halves(mut steps: Vec<Step>, buffers: &mut Vec<Buffer>, uses: &[usize]) -> Step {
    let rest = steps.split_off(steps.len() / 2);
    let mut parts: Vec<Step> = Vec::new();
    for mut half in [steps, rest] {
        match half.len() {
            0 | 1 => parts.append(&mut half),
            _ => parts.push(chained(half, buffers, uses)),
        }
    }
    let reads = parts.iter().flat_map(|s| &s.reads).cloned().collect();
    let writes = parts.iter().flat_map(|s| &s.writes).cloned().collect();
    Step { name: "chains", reads, writes, action: Action::Sequence(parts) }
}

impl Chain {
    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// # Safety
    /// The operands lie inside their buffers, which have these addresses.
    pub(super) unsafe fn run(&self, addresses: &[*mut u8]) {
        let addresses = Addresses(addresses);
        in_blocks(self.n, self.cost, &|start, end| {
            let addresses = &addresses;
            // SAFETY: the caller's contract; blocks are disjoint.
            unsafe { self.block(addresses, start, end) };
        });
        for link in &self.links {
            if let Link::Reduction { loops, leaves, out: (out, offset), .. } = link {
                let (leaves, out) = (addresses.at(*leaves, 0), addresses.at(*out, *offset));
                // SAFETY: the blocks wrote every leaf, and the result lies inside its buffer.
                unsafe { (loops.merge)(leaves, self.n.div_ceil(WHOLE_LEAF), out) };
            }
        }
    }

    /// # Safety
    /// As `run`, for a range of the elements that begins with a leaf.
    unsafe fn block(&self, addresses: &Addresses<'_>, start: usize, end: usize) {
        let mut slots = [[MaybeUninit::<u64>::uninit(); PIECE]; SLOTS];
        let base = slots.as_mut_ptr().cast::<u8>();
        let slot = |slot: usize| base.wrapping_add(slot * PIECE * 8);
        for value in &self.values {
            let from: *const u8 = match &value.from {
                Repeated::Number(bits) => (&raw const *bits).cast(),
                Repeated::Memory { buffer, offset } => addresses.at(*buffer, *offset),
            };
            // SAFETY: one element is read, and the slot holds the piece.
            unsafe { repeat(from, slot(value.slot), value.size) };
        }
        let place = |place: &Place, at: usize| match *place {
            Place::Memory { buffer, offset, size } => {
                addresses.at(buffer, offset).wrapping_add(at * size)
            }
            Place::Slot(number) => slot(number),
        };
        for at in (start..end).step_by(PIECE) {
            let count = PIECE.min(end - at);
            for link in &self.links {
                // SAFETY: every place holds `count` elements of the loop's types from here on; an operand is the output
                // exactly or apart from it. The piece is a leaf, and has a place among the results of leaves.
                unsafe { link.run(count, at / PIECE, |operand| place(operand, at), addresses) };
            }
        }
    }
}

impl Link {
    /// # Safety
    /// `place` gives where `count` elements of each operand lie.
    #[inline(always)]
    unsafe fn run(
        &self,
        count: usize,
        leaf: usize,
        place: impl Fn(&Place) -> *mut u8,
        addresses: &Addresses<'_>,
    ) {
        match self {
            Link::Map { table, ins, out, params } => {
                let mut ptrs = [std::ptr::null::<u8>(); MAX_OPERANDS];
                for (ptr, argument) in ptrs.iter_mut().zip(ins) {
                    *ptr = place(argument);
                }
                // SAFETY: the caller's contract.
                unsafe { table(ptrs.as_ptr(), place(out), count, params.as_ptr()) };
            }
            Link::Reduction { loops, input, leaves, size, .. } => {
                let out = addresses.at(*leaves, 0).wrapping_add(leaf * size);
                // SAFETY: the caller's contract; the leaf's result has its place.
                unsafe { (loops.leaf)(place(input), count, out) };
            }
        }
    }
}

/// Fills a piece with one element.
///
/// # Safety
/// `from` holds an element of this size, `to` has room for a piece.
unsafe fn repeat(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: the caller's contract; elements are aligned.
    unsafe {
        match size {
            8 => fill(from.cast::<u64>(), to.cast()),
            4 => fill(from.cast::<u32>(), to.cast()),
            _ => fill(from, to),
        }
    }
}

/// # Safety
/// As `repeat`.
unsafe fn fill<T: Copy>(from: *const T, to: *mut T) {
    // SAFETY: the caller's contract.
    unsafe {
        let value = *from;
        (0..PIECE).for_each(|i| *to.add(i) = value);
    }
}

/// The addresses of a frame's buffers, for the threads of one run.
struct Addresses<'a>(&'a [*mut u8]);
// SAFETY: blocks write disjoint parts of the buffers.
unsafe impl Sync for Addresses<'_> {}

impl Addresses<'_> {
    fn at(&self, buffer: Id, offset: isize) -> *mut u8 {
        self.0[buffer as usize].wrapping_offset(offset)
    }
}
