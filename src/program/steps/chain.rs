//! Chains: element-wise steps over the same elements, and reductions of all of them, run piece by piece, so that what one
//! hands to the next stays in the cache.
//!
//! Owns: the run of a chain. Never says which steps form one, or what needs no memory then: `join` and `slots` do.
//! Invariant: element `i` of every step is computed from elements `i` of the steps before, as if the steps ran one after
//! the other; how the work is cut changes no bit, and a reduction merges the leaves that it has anywhere else.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::repeat::{Broadcast, repeat};
use super::step::Id;
use crate::kernels::elementwise::{Loop, MAX_OPERANDS, in_blocks};
use crate::kernels::reduce::{WHOLE_LEAF, Whole};

/// Shorter steps gain nothing: their operands are in the cache anyway.
pub(in crate::program) const SHORTEST: usize = 2048;
/// Elements of a piece: all slots together lie in the nearest cache. Divides a leaf of a reduction.
const PIECE: usize = 256;
/// Bytes of the largest element that has room in a piece.
pub(in crate::program) const WIDEST: usize = 8;
/// The most temporaries and repeated values of a chain that stay in the cache.
pub(in crate::program) const SLOTS: usize = 12;
/// The most reductions of a chain.
pub(in crate::program) const REDUCTIONS: usize = 3;
/// Nanoseconds per element of a reduction.
pub(in crate::program) const REDUCING: f32 = 0.15;

/// Where the elements of an operand of a link are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::program) enum Place {
    /// In a buffer, from this byte on.
    Memory { buffer: Id, offset: isize, size: usize },
    /// In a piece of the cache.
    Slot(usize),
}

/// One step of a chain.
#[derive(Clone)]
pub(in crate::program) enum Link {
    Map {
        table: Loop,
        ins: SmallVec<[Place; 4]>,
        out: Place,
        params: SmallVec<[f64; 2]>,
    },
    /// A copy of elements of this size.
    Copy {
        from: Place,
        to: Place,
        size: usize,
    },
    /// A reduction: its number in the chain, the results of its leaves, and the size of one of them.
    Reduction {
        loops: Whole,
        number: usize,
        input: Place,
        leaves: Id,
        size: usize,
        out: (Id, isize),
    },
}

/// A value, or a few, that stand for all elements: repeated in a piece of the cache.
#[derive(Clone)]
pub(in crate::program) struct Value {
    pub(in crate::program) slot: usize,
    pub(in crate::program) size: usize,
    pub(in crate::program) from: Repeated,
}

#[derive(Clone, Copy, PartialEq)]
pub(in crate::program) enum Repeated {
    Number(u64),
    Memory {
        buffer: Id,
        offset: isize,
    },
    /// Neighbours that are broadcast: each stands for `inner` elements, and all of them again for the next ones.
    Broadcast {
        buffer: Id,
        offset: isize,
        count: usize,
        inner: usize,
    },
}

/// Element-wise steps over the same elements.
#[derive(Clone)]
pub struct Chain {
    pub(in crate::program) links: Vec<Link>,
    pub(in crate::program) values: Vec<Value>,
    pub(in crate::program) n: usize,
    pub(in crate::program) cost: f32,
    /// What its links compute, for people.
    pub(in crate::program) texts: Vec<String>,
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
    pub(in crate::program) unsafe fn run(&self, addresses: &[*mut u8]) {
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
        // Where the pieces of a leaf meet.
        let mut whole = [[MaybeUninit::<u64>::uninit(); WHOLE_LEAF]; REDUCTIONS];
        let base = slots.as_mut_ptr().cast::<u8>();
        let slot = |slot: usize| base.wrapping_add(slot * PIECE * WIDEST);
        let mut broadcasts: SmallVec<[(&Value, Broadcast); 4]> = SmallVec::new();
        for value in &self.values {
            let from: *const u8 = match &value.from {
                Repeated::Number(bits) => (&raw const *bits).cast(),
                Repeated::Memory { buffer, offset } => addresses.at(*buffer, *offset),
                &Repeated::Broadcast { buffer, offset, count, inner } => {
                    let from = addresses.at(buffer, offset);
                    broadcasts.push((value, Broadcast { from, size: value.size, count, inner }));
                    continue;
                }
            };
            // SAFETY: one element is read, and the slot holds the piece.
            unsafe { repeat((from, value.size), slot(value.slot), PIECE) };
        }
        let place = |place: &Place, at: usize| match *place {
            Place::Memory { buffer, offset, size } => {
                addresses.at(buffer, offset).wrapping_add(at * size)
            }
            Place::Slot(number) => slot(number),
        };
        for at in (start..end).step_by(PIECE) {
            let count = PIECE.min(end - at);
            for (value, broadcast) in &broadcasts {
                // SAFETY: the elements lie inside their buffer, and the slot holds the piece.
                unsafe { broadcast.fill(at, count, slot(value.slot)) };
            }
            for link in &self.links {
                let piece = (at, count, at + count == end);
                // SAFETY: every place holds `count` elements of the loop's types from here on; an operand is the output
                // exactly or apart from it. The block begins with a leaf.
                unsafe { link.run(piece, |operand| place(operand, at), &mut whole, addresses) };
            }
        }
    }
}

impl Link {
    /// Runs a piece: where it begins, how many elements it has, whether it is the last of its block.
    ///
    /// # Safety
    /// `place` gives where the elements of each operand lie; pieces come one after the other from the beginning of a leaf.
    #[inline(always)]
    unsafe fn run(
        &self,
        (at, count, last): (usize, usize, bool),
        place: impl Fn(&Place) -> *mut u8,
        whole: &mut [[MaybeUninit<u64>; WHOLE_LEAF]; REDUCTIONS],
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
            Link::Copy { from, to, size } => {
                // SAFETY: the caller's contract; the two sides are apart.
                unsafe { place(to).copy_from_nonoverlapping(place(from), count * size) };
            }
            Link::Reduction { loops, number, input, leaves, size, .. } => {
                let leaf = whole[*number].as_mut_ptr().cast::<u8>();
                let (before, after) = (at % WHOLE_LEAF, at % WHOLE_LEAF + count);
                let out = addresses.at(*leaves, 0).wrapping_add(at / WHOLE_LEAF * size);
                // SAFETY: the caller's contract; the leaf has room for its pieces, and its result has its place.
                unsafe {
                    let piece = leaf.add(before * size);
                    piece.copy_from_nonoverlapping(place(input), count * size);
                    if last || after == WHOLE_LEAF {
                        (loops.leaf)(leaf, after, out);
                    }
                }
            }
        }
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
