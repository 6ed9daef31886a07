//! Chains: neighbouring element-wise steps over the same elements run piece by piece, so that what one hands to the next
//! stays in the cache.
//!
//! Owns: which steps form a chain, which temporaries need no memory then, and the run of a chain. Never reorders steps.
//! Invariant: element `i` of every step is computed from elements `i` of the steps before, as if the steps ran one after
//! the other; how the work is cut changes no bit.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::step::{Action, Argument, Buffer, Id, Map, Slice, Source, Step};
use crate::kernels::elementwise::{Loop, MAX_OPERANDS};
use crate::threads::parallel_for;

/// Shorter steps gain nothing: their operands are in the cache anyway.
const SHORTEST: usize = 2048;
/// Elements of a piece: 4 KiB of float64 for each operand.
const PIECE: usize = 512;
/// The most temporaries and repeated values of a chain that stay in the cache.
const SLOTS: usize = 12;
/// Work below this many nanoseconds stays on the calling thread.
const SPLIT_ABOVE: f32 = 80_000.0;
/// Nanoseconds of one block of a split.
const BLOCK: f32 = 40_000.0;
/// Blocks are multiples of this many elements.
const BLOCK_UNIT: usize = 4096;

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
struct Link {
    table: Loop,
    ins: SmallVec<[Place; 4]>,
    out: Place,
    params: SmallVec<[f64; 2]>,
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

/// Joins neighbouring steps into chains.
pub(super) fn join(steps: Vec<Step>, buffers: &[Buffer]) -> Vec<Step> {
    let mut uses: Vec<usize> = vec![0; buffers.len()];
    steps.iter().flat_map(Step::buffers).for_each(|buffer| uses[buffer as usize] += 1);
    let mut joined: Vec<Step> = Vec::with_capacity(steps.len());
    let mut open = Open::default();
    for step in steps {
        if !open.takes(&step, buffers) {
            open.close(&mut joined, buffers, &uses);
            if !open.takes(&step, buffers) {
                joined.push(step);
                continue;
            }
        }
        open.add(step);
    }
    open.close(&mut joined, buffers, &uses);
    joined
}

/// A chain that may grow.
#[derive(Default)]
struct Open {
    steps: Vec<Step>,
    /// How each buffer is touched: where, by elements of which size, whether it is written.
    touched: HashMap<Id, (isize, usize, bool)>,
}

impl Open {
    /// Whether a step may stand next in this chain.
    fn takes(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let Action::Map(map) = &step.action else { return false };
        let n = map.out.numel();
        let same_length = self.steps.first().is_none_or(|first| first.writes[0].numel() == n);
        let own =
            matches!(buffers[map.out.buffer as usize].source, Source::Temporary | Source::Output);
        if n < SHORTEST || !same_length || !own || !map.out.is_contiguous() {
            return false;
        }
        let reads = map.ins.iter().all(|argument| match argument {
            Argument::Number(_) => true,
            Argument::Slice(slice) if is_value(slice) => {
                self.touched.get(&slice.buffer).is_none_or(|&(_, _, written)| !written)
                    && slice.buffer != map.out.buffer
            }
            Argument::Slice(slice) => {
                slice.is_contiguous() && self.agrees(slice, false) && meets(slice, &map.out)
            }
        });
        reads && self.agrees(&map.out, true)
    }

    /// Whether a buffer is touched here as it is by the steps before, unless nobody writes to it.
    fn agrees(&self, slice: &Slice, writes: bool) -> bool {
        self.touched.get(&slice.buffer).is_none_or(|&(offset, size, written)| {
            (offset, size) == (slice.offset, slice.dtype.size()) || !(written || writes)
        })
    }

    fn add(&mut self, step: Step) {
        let Action::Map(map) = &step.action else { return };
        for argument in &map.ins {
            if let Argument::Slice(slice) = argument {
                // A value is read at one place only: whoever writes there later does not agree with it.
                let offset = if is_value(slice) { isize::MIN } else { slice.offset };
                self.touched.entry(slice.buffer).or_insert((offset, slice.dtype.size(), false));
            }
        }
        let out = &map.out;
        self.touched.insert(out.buffer, (out.offset, out.dtype.size(), true));
        self.steps.push(step);
    }

    /// Ends the chain and appends it to `joined`.
    fn close(&mut self, joined: &mut Vec<Step>, buffers: &[Buffer], uses: &[usize]) {
        let open = std::mem::take(self);
        if open.steps.len() < 2 {
            joined.extend(open.steps);
        } else {
            joined.push(chained(open.steps, buffers, uses));
        }
    }
}

/// Whether one element stands for all.
fn is_value(slice: &Slice) -> bool {
    slice.strides.iter().zip(&slice.dims).all(|(&stride, &dim)| stride == 0 || dim == 1)
}

/// Whether a step that reads and writes one buffer does so at the same elements.
fn meets(read: &Slice, out: &Slice) -> bool {
    read.buffer != out.buffer || (read.offset, read.dtype.size()) == (out.offset, out.dtype.size())
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
    fn new(maps: &[&Map], steps: &[Step], buffers: &'a [Buffer], uses: &'a [usize]) -> Places<'a> {
        let (mut inside, mut last) = (HashMap::new(), HashMap::new());
        for (at, step) in steps.iter().enumerate() {
            for buffer in step.buffers() {
                *inside.entry(buffer).or_insert(0) += 1;
                last.insert(buffer, at);
            }
        }
        let mut values: Vec<Value> = Vec::new();
        let mut free: Vec<usize> = (0..SLOTS).rev().collect();
        for (from, size) in maps.iter().flat_map(|map| repeated(map)) {
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
    fn argument(&self, argument: &Argument, width: usize) -> Option<Place> {
        if let Some(value) = value_of(argument, width) {
            let found = self.values.iter().find(|known| (known.from, known.size) == value);
            return found.map(|value| Place::Slot(value.slot));
        }
        let Argument::Slice(slice) = argument else { return None };
        let (buffer, size) = (slice.buffer, slice.dtype.size());
        Some(match self.slots.get(&buffer) {
            Some(&slot) => Place::Slot(slot),
            None => Place::Memory { buffer, offset: slice.offset, size },
        })
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
fn value_of(argument: &Argument, width: usize) -> Option<(Repeated, usize)> {
    match argument {
        Argument::Number(bits) => Some((Repeated::Number(*bits), width)),
        Argument::Slice(slice) if is_value(slice) => {
            let Slice { buffer, offset, .. } = *slice;
            Some((Repeated::Memory { buffer, offset }, slice.dtype.size()))
        }
        Argument::Slice(_) => None,
    }
}

/// What the operands of a step repeat.
fn repeated(map: &Map) -> impl Iterator<Item = (Repeated, usize)> + '_ {
    let width = width(map);
    map.ins.iter().filter_map(move |argument| value_of(argument, width))
}

/// The width of numbers beside the operands of a step.
fn width(map: &Map) -> usize {
    let of = |argument: &Argument| match argument {
        Argument::Slice(slice) => Some(slice.dtype.size()),
        Argument::Number(_) => None,
    };
    map.ins.iter().find_map(of).unwrap_or(map.out.dtype.size())
}

/// One step for a chain.
fn chained(steps: Vec<Step>, buffers: &[Buffer], uses: &[usize]) -> Step {
    let maps: Vec<&Map> = steps.iter().filter_map(Step::map).collect();
    let mut places = Places::new(&maps, &steps, buffers, uses);
    let mut links: Vec<Link> = Vec::with_capacity(maps.len());
    for (at, map) in maps.iter().enumerate() {
        let width = width(map);
        let ins: Option<SmallVec<[Place; 4]>> =
            map.ins.iter().map(|argument| places.argument(argument, width)).collect();
        let Some(ins) = ins else { return halves(steps, buffers, uses) };
        let out = places.out(&map.out);
        links.push(Link { table: map.table, ins, out, params: map.params.clone() });
        places.release(at);
    }
    let cost = maps.iter().map(|map| map.cost).sum();
    let n = maps[0].out.numel();
    let lasting = |slice: &&Slice| !places.local.contains(&slice.buffer);
    let mut reads: SmallVec<[Slice; 3]> = SmallVec::new();
    for slice in steps.iter().flat_map(|s| &s.reads).filter(lasting) {
        if !reads.contains(slice) {
            reads.push(slice.clone());
        }
    }
    let writes = steps.iter().flat_map(|s| &s.writes).filter(lasting).cloned().collect();
    let chain = Chain { links, values: places.values, n, cost };
    Step { name: "chain", reads, writes, action: Action::Chain(Box::new(chain)) }
}

/// A chain that repeats more values than there are slots: its first half and its second.
fn halves(mut steps: Vec<Step>, buffers: &[Buffer], uses: &[usize]) -> Step {
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
        if self.n as f32 * self.cost < SPLIT_ABOVE {
            // SAFETY: the caller's contract.
            return unsafe { self.block(&addresses, 0, self.n) };
        }
        let block = ((BLOCK / self.cost) as usize).next_multiple_of(BLOCK_UNIT);
        parallel_for(self.n.div_ceil(block), &|i| {
            let addresses = &addresses;
            // SAFETY: the caller's contract; blocks are disjoint.
            unsafe { self.block(addresses, i * block, self.n.min((i + 1) * block)) };
        });
    }

    /// # Safety
    /// As `run`, for a range of the elements.
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
        let mut at = start;
        while at < end {
            let count = PIECE.min(end - at);
            for link in &self.links {
                let mut ptrs = [std::ptr::null::<u8>(); MAX_OPERANDS];
                for (ptr, argument) in ptrs.iter_mut().zip(&link.ins) {
                    *ptr = place(argument, at);
                }
                let out = place(&link.out, at);
                // SAFETY: every place holds `count` elements of the loop's types from here on; an operand is the output
                // exactly or apart from it.
                unsafe { (link.table)(ptrs.as_ptr(), out, count, link.params.as_ptr()) };
            }
            at += count;
        }
    }
}

/// Fills a piece with one element.
///
/// # Safety
/// `from` holds an element of this size, `to` has room for a piece.
unsafe fn repeat(from: *const u8, to: *mut u8, size: usize) {
    for i in 0..PIECE {
        // SAFETY: the caller's contract.
        unsafe { to.add(i * size).copy_from_nonoverlapping(from, size) };
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
