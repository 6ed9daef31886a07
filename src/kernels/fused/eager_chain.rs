//! Loops over the same elements, run once as a chain: what one makes for the next stays in the cache.
//!
//! Owns: the way from views and numbers to the links of a chain. Never chooses a loop, and records nothing.
//! Invariant: the results hold the bits that the loops would write, one after the other; an operand that is written
//! over is read before.

use smallvec::SmallVec;

use super::broadcast::broadcast_form;
use super::chain::{Chain, Repeated, Shape, Value};
use super::chain_op::{BufferId, Link, Place};
use crate::dtype::DType;
use crate::kernels::elementwise::{In, Loop, LoopTable, MAX_OPERANDS, where_loop, word};
use crate::kernels::nontemporal;
use crate::kernels::{View, ViewMut};

/// Elements that loops read: those of a view, or what a loop before has made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Tile {
    /// The view of this number.
    Read(usize),
    /// The repeated value of this number.
    Value(usize),
    /// What the loop of this number makes.
    Made(usize),
}

/// A loop, its operands and how many they are, and its parameters.
struct Stage<'a> {
    table: Loop,
    ins: [Tile; MAX_OPERANDS],
    count: usize,
    params: &'a [f64],
}

impl Stage<'_> {
    fn operands(&self) -> &[Tile] {
        &self.ins[..self.count]
    }
}

/// Loops over elements of one shape and dtype.
pub(crate) struct Tiles<'a> {
    dtype: DType,
    dims: &'a [usize],
    reads: Vec<View<'a>>,
    values: Vec<Repeated>,
    steps: Vec<Stage<'a>>,
    cost: f32,
}

impl<'a> Tiles<'a> {
    /// No loops yet, over elements of this dtype and shape.
    pub(crate) fn new(dtype: DType, dims: &'a [usize]) -> Tiles<'a> {
        let (reads, values, steps) = (Vec::new(), Vec::new(), Vec::new());
        Tiles { dtype, dims, reads, values, steps, cost: 0.0 }
    }

    /// Elements to read; `None` where they are others, or neither lie in C order nor are one broadcast row or value.
    pub(crate) fn read(&mut self, view: View<'a>) -> Option<Tile> {
        if view.dtype() != self.dtype || view.dims() != self.dims {
            return None;
        }
        let (buffer, offset) = (self.reads.len() as BufferId, 0);
        let tile = if view.is_contiguous() {
            Tile::Read(self.reads.len())
        } else if view.strides.iter().zip(self.dims).all(|(&stride, &dim)| stride == 0 || dim == 1)
        {
            self.value(Repeated::Memory { buffer, offset })
        } else {
            let (count, inner) = broadcast_form(view.dims(), view.strides)?;
            self.value(Repeated::Broadcast { buffer, offset, count, inner })
        };
        self.reads.push(view);
        Some(tile)
    }

    /// A mask to read; `None` where it is of other elements, or does not lie in C order.
    pub(crate) fn mask(&mut self, view: View<'a>) -> Option<Tile> {
        let fits = view.dtype() == DType::Bool && view.dims() == self.dims && view.is_contiguous();
        fits.then(|| {
            self.reads.push(view);
            Tile::Read(self.reads.len() - 1)
        })
    }

    /// The elements of the first operand where the mask holds, of the second elsewhere.
    pub(crate) fn choose(&mut self, [mask, a, b]: [Tile; 3]) -> Tile {
        self.cost += 0.3;
        self.step(where_loop(self.dtype.size()), &[mask, a, b], &[])
    }

    /// A number for all elements.
    pub(crate) fn number(&mut self, number: f64) -> Tile {
        self.value(Repeated::Number(word(In::Float(number), self.dtype)))
    }

    fn value(&mut self, value: Repeated) -> Tile {
        let known = self.values.iter().position(|&known| known == value);
        Tile::Value(known.unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        }))
    }

    /// What a loop makes of its operands; `None` where the table has no loop for the dtype.
    pub(crate) fn apply(
        &mut self,
        table: &LoopTable,
        given: &[Tile],
        params: &'a [f64],
    ) -> Option<Tile> {
        self.cost += table.cost(self.dtype);
        Some(self.step(table.get(self.dtype)?, given, params))
    }

    fn step(&mut self, table: Loop, given: &[Tile], params: &'a [f64]) -> Tile {
        let mut ins = [Tile::Made(0); MAX_OPERANDS];
        ins[..given.len()].copy_from_slice(given);
        self.steps.push(Stage { table, ins, count: given.len(), params });
        Tile::Made(self.steps.len() - 1)
    }

    /// Runs the loops and writes what some of them make. A result may be written over a view that was read.
    ///
    /// # Panics
    /// When a result is of another shape or dtype, or was made by no loop: bugs of the caller.
    pub(crate) fn run(self, outs: &mut [(Tile, ViewMut<'_>)]) {
        let n: usize = self.dims.iter().product();
        let mut addresses: Vec<*mut u8> =
            self.reads.iter().map(|view| view.byte_at(0).cast_mut()).collect();
        let mut last: Vec<usize> = (0..self.steps.len()).collect();
        for (at, step) in self.steps.iter().enumerate() {
            for tile in step.operands() {
                if let Tile::Made(made) = tile {
                    last[*made] = at;
                }
            }
        }
        for (tile, out) in outs.iter() {
            let Tile::Made(made) = *tile else { unreachable!("a result that a loop makes") };
            assert!(out.is_contiguous() && out.dims == self.dims && out.dtype == self.dtype);
            last[made] = usize::MAX;
            addresses.push(out.byte_at(0));
        }
        let chain = self.chain(n, &last, outs);
        // SAFETY: operands and results are views of `n` elements of the dtype of the loops, which the table chose by it;
        // the results are written when a piece of every view has been read.
        unsafe { chain.run(&addresses) };
    }

    /// The chain of the loops; `last` says which loop is the last to read what another made, none for results.
    fn chain(self, n: usize, last: &[usize], outs: &[(Tile, ViewMut<'_>)]) -> Chain {
        let size = self.dtype.size();
        let memory = |buffer: usize| {
            let step = self.reads.get(buffer).map_or(size, |view| view.dtype().size());
            Place::Memory { buffer: buffer as BufferId, offset: 0, step }
        };
        let mut free: Vec<usize> = Vec::new();
        let mut slots = self.values.len();
        let mut made: Vec<usize> = Vec::with_capacity(self.steps.len());
        let mut links: Vec<Link> = Vec::with_capacity(self.steps.len() + outs.len());
        for (at, step) in self.steps.iter().enumerate() {
            // Loops in place are slow: what is read is given back behind the loop.
            let slot = free.pop().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            made.push(slot);
            free.extend((0..=at).filter(|&k| last[k] == at).map(|k| made[k]));
            let mut ins: SmallVec<[Place; 4]> = SmallVec::new();
            for tile in step.operands() {
                ins.push(match *tile {
                    Tile::Read(read) => memory(read),
                    Tile::Value(value) => Place::Slot(value),
                    Tile::Made(step) => Place::Slot(made[step]),
                });
            }
            let (table, out, params) = (step.table, Place::Slot(slot), step.params.into());
            links.push(Link::Map { table, ins, out, params, width: 1 });
        }
        for (k, (tile, out)) in outs.iter().enumerate() {
            let Tile::Made(step) = *tile else { continue };
            let (from, buffer) = (made[step], self.reads.len() + k);
            let target = out.byte_at(0);
            let cached = self.reads.iter().any(|view| view.byte_at(0) == target.cast_const());
            links.push(match nontemporal::pays(target, n * size) && !cached {
                true => {
                    Link::Stream { from: Place::Slot(from), buffer: buffer as BufferId, step: size }
                }
                false => Link::Copy { from: Place::Slot(from), to: memory(buffer), step: size },
            });
        }
        let values = self.values.into_iter().enumerate();
        let values = values.map(|(slot, from)| Value { slot, size, from }).collect();
        let shape = Shape { rows: n, row: 1 };
        Chain { links, values, shape, slots, cost: self.cost, texts: Vec::new() }
    }
}
