//! Chains: element-wise steps over the same elements, and reductions of all of them or of their rows, run piece by piece,
//! so that what one hands to the next stays in the cache.
//!
//! Owns: the run of a chain. Never says which steps form one, or what needs no memory then: `join` and `slots` do.
//! Invariant: element `i` of every step is computed from elements `i` of the steps before, as if the steps ran one after
//! the other; how the work is cut changes no bit, and reductions merge what they merge anywhere else.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::broadcast::{Broadcast, repeat};
use super::chain_op::{Addresses, BufferId, Leaves, Link, Piece, Place, REDUCTIONS};
use super::scratch::{Line, with_room};
use crate::kernels::elementwise::in_units;
use crate::kernels::nontemporal;
use crate::kernels::reduce::WHOLE_LEAF;

/// Shorter steps gain nothing: their operands are in the cache anyway.
pub(crate) const SHORTEST: usize = 2048;
/// Elements of a piece: all slots together lie in the nearest cache. Divides a leaf of a reduction.
const PIECE: usize = 256;
/// The most elements of a piece that is several rows.
const MOST: usize = 1024;
/// The longest rows: the slots of one lie in the second cache.
pub(crate) const LONGEST_ROW: usize = 1 << 14;
/// Bytes of the largest element that has room in a piece.
pub(crate) const WIDEST: usize = 8;
/// Elements from which on operands lie beyond the nearer caches: the memory of a piece is called for a piece ahead.
const FAR: usize = 1 << 17;
/// Nanoseconds per element of a reduction.
pub(crate) const REDUCING: f32 = 0.15;
/// Elements from which on a chain is split, and of which its parts are multiples: whole pages.
const UNIT: usize = 4096;
/// The widest vector, in elements: a piece that is a multiple has no tail.
const VECTOR: usize = 16;

/// Values that stand for all elements: repeated in a piece of the cache.
#[derive(Clone)]
pub(crate) struct Value {
    pub(crate) slot: usize,
    pub(crate) size: usize,
    pub(crate) from: Repeated,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Repeated {
    Number(u64),
    Memory {
        buffer: BufferId,
        offset: isize,
    },
    /// Neighbours that are broadcast: each stands for `inner` elements, and all of them again for the next ones.
    Broadcast {
        buffer: BufferId,
        offset: isize,
        count: usize,
        inner: usize,
    },
}

/// How the elements of a chain lie: rows, and elements of a row. Where no step knows rows, each element is one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) row: usize,
}

impl Shape {
    /// The number of elements.
    pub(crate) fn n(self) -> usize {
        self.rows * self.row
    }

    /// Rows of a piece.
    fn piece(self) -> usize {
        let alike = VECTOR / gcd(VECTOR, self.row);
        let fits = PIECE / self.row;
        match fits / alike * alike {
            0 if alike * self.row <= MOST => alike,
            0 => fits.max(1),
            rows => rows,
        }
    }

    /// Rows of which parts for threads are multiples: reductions of all elements begin with a leaf.
    fn unit(self, whole: bool) -> usize {
        match (self.row, whole) {
            (1, _) => UNIT,
            (row, true) => WHOLE_LEAF / gcd(WHOLE_LEAF, row),
            (_, false) => self.piece(),
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Element-wise steps over the same elements.
#[derive(Clone)]
pub struct Chain {
    pub(crate) links: Vec<Link>,
    pub(crate) values: Vec<Value>,
    pub(crate) shape: Shape,
    /// How many slots there are.
    pub(crate) slots: usize,
    pub(crate) cost: f32,
    /// What its links compute, for people.
    pub(crate) texts: Vec<String>,
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
    pub(crate) unsafe fn run(&self, addresses: &[*mut u8]) {
        let addresses = Addresses(addresses);
        let whole = self.links.iter().any(|link| matches!(link, Link::Reduction { .. }));
        let Shape { rows, row } = self.shape;
        in_units(rows, self.shape.unit(whole), self.cost * row as f32, &|start, end| {
            let addresses = &addresses;
            let lines = self.shape.piece() * row * WIDEST / size_of::<Line>() + 1;
            // SAFETY: the caller's contract; blocks are disjoint, and a slot has room for a piece.
            with_room(self.slots * lines, |room| unsafe {
                let slot = |slot: usize| room.wrapping_add(slot * lines).cast::<u8>();
                self.block(addresses, slot, start, end);
            });
        });
        for link in &self.links {
            if let Link::Reduction { loops, leaves, out: (out, offset), .. } = link {
                let (leaves, out) = (addresses.at(*leaves, 0), addresses.at(*out, *offset));
                // SAFETY: the blocks wrote every leaf, and the result lies inside its buffer.
                unsafe { (loops.merge)(leaves, self.shape.n().div_ceil(WHOLE_LEAF), out) };
            }
        }
    }

    /// Fills the slots of what is repeated alike in every piece, and gives back what is not.
    ///
    /// # Safety
    /// As `block`.
    unsafe fn repeated(
        &self,
        addresses: &Addresses<'_>,
        slot: impl Fn(usize) -> *mut u8,
    ) -> SmallVec<[(&Value, Broadcast); 4]> {
        let (row, rows) = (self.shape.row, self.shape.piece());
        let mut broadcasts: SmallVec<[(&Value, Broadcast); 4]> = SmallVec::new();
        for value in &self.values {
            let from: *const u8 = match &value.from {
                Repeated::Number(bits) => (&raw const *bits).cast(),
                Repeated::Memory { buffer, offset } => addresses.at(*buffer, *offset),
                &Repeated::Broadcast { buffer, offset, count, inner } => {
                    let from = addresses.at(buffer, offset);
                    let broadcast = Broadcast { from, size: value.size, count, inner };
                    if row.is_multiple_of(count * inner) {
                        // SAFETY: the elements lie inside their buffer, and the slot holds the piece.
                        unsafe { broadcast.fill(0, rows * row, slot(value.slot)) };
                    } else {
                        broadcasts.push((value, broadcast));
                    }
                    continue;
                }
            };
            // SAFETY: one element is read, and the slot holds the piece.
            unsafe { repeat((from, value.size), slot(value.slot), rows * row) };
        }
        broadcasts
    }

    /// # Safety
    /// As `run`, for a range of the rows that begins with a leaf, with slots that hold a piece.
    unsafe fn block(
        &self,
        addresses: &Addresses<'_>,
        slot: impl Fn(usize) -> *mut u8,
        start: usize,
        end: usize,
    ) {
        // Where the pieces of a leaf meet.
        let mut leaves: Leaves = [[MaybeUninit::uninit(); WHOLE_LEAF]; REDUCTIONS];
        let (row, rows) = (self.shape.row, self.shape.piece());
        let far = self.shape.n() >= FAR;
        // SAFETY: the caller's contract.
        let broadcasts = unsafe { self.repeated(addresses, &slot) };
        let place = |place: &Place, at: usize| match *place {
            Place::Memory { buffer, offset, step } => {
                let piece = addresses.at(buffer, offset).wrapping_add(at * step);
                if far {
                    nontemporal::call_for(piece.wrapping_add(rows * step), rows * step);
                }
                piece
            }
            Place::Slot(number) => slot(number),
        };
        for at in (start..end).step_by(rows) {
            let count = rows.min(end - at);
            for (value, broadcast) in &broadcasts {
                // SAFETY: the elements lie inside their buffer, and the slot holds the piece.
                unsafe { broadcast.fill(at * row, count * row, slot(value.slot)) };
            }
            let piece = Piece { at, rows: count, row, last: at + count == end };
            for link in &self.links {
                // SAFETY: every place holds the elements of the loop's types from here on; an operand is the output
                // exactly or apart from it. The block begins with a leaf.
                unsafe { link.run(piece, |operand| place(operand, at), &mut leaves, addresses) };
            }
        }
        if self.links.iter().any(|link| matches!(link, Link::Stream { .. })) {
            nontemporal::finish();
        }
    }
}
