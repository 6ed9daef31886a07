//! Eager fusion: runs several loops over the same elements once, as a chain, so that intermediates stay in
//! the cache.
//!
//! Invariant: the results have the bits of running the loops one after another; an operand that is
//! overwritten is read before.

use smallvec::SmallVec;

use super::broadcast::broadcast_pattern;
use super::chain::{Chain, ChainShape, RepeatedOperand, RepeatedSource};
use super::chain_op::{BufferId, ChainOp, Location};
use crate::dtype::DType;
use crate::kernels::elementwise::{Loop, LoopOperand, LoopTable, MAX_OPERANDS, where_loop, word};
use crate::kernels::nontemporal;
use crate::kernels::{View, ViewMut};

/// An operand of a fused loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum FusedOperand {
    /// The view of this number.
    Read(usize),
    /// The repeated operand of this number.
    Repeated(usize),
    /// The result of the loop of this number.
    Result(usize),
}

/// A loop, its operands and their number, and its parameters.
struct ChainLoop<'a> {
    table: Loop,
    ins: [FusedOperand; MAX_OPERANDS],
    count: usize,
    params: &'a [f64],
}

impl ChainLoop<'_> {
    fn operands(&self) -> &[FusedOperand] {
        &self.ins[..self.count]
    }
}

/// Loops over elements of one shape and dtype.
pub(crate) struct EagerChain<'a> {
    dtype: DType,
    dims: &'a [usize],
    reads: Vec<View<'a>>,
    values: Vec<RepeatedSource>,
    steps: Vec<ChainLoop<'a>>,
    cost: f32,
}

impl<'a> EagerChain<'a> {
    /// A chain without loops, over elements of this dtype and shape.
    pub(crate) fn new(dtype: DType, dims: &'a [usize]) -> EagerChain<'a> {
        let (reads, values, steps) = (Vec::new(), Vec::new(), Vec::new());
        EagerChain { dtype, dims, reads, values, steps, cost: 0.0 }
    }

    /// Adds a view; `None` if dtype or shape differ, or if it is neither contiguous nor one broadcast row or
    /// scalar.
    pub(crate) fn read(&mut self, view: View<'a>) -> Option<FusedOperand> {
        if view.dtype() != self.dtype || view.dims() != self.dims {
            return None;
        }
        let (buffer, offset) = (self.reads.len() as BufferId, 0);
        let tile = if view.is_contiguous() {
            FusedOperand::Read(self.reads.len())
        } else if view.strides.iter().zip(self.dims).all(|(&stride, &dim)| stride == 0 || dim == 1)
        {
            self.value(RepeatedSource::Memory { buffer, offset })
        } else {
            let (count, inner) = broadcast_pattern(view.dims(), view.strides)?;
            self.value(RepeatedSource::Broadcast { buffer, offset, count, inner })
        };
        self.reads.push(view);
        Some(tile)
    }

    /// Adds a mask; `None` if the shape differs or it is not contiguous.
    pub(crate) fn mask(&mut self, view: View<'a>) -> Option<FusedOperand> {
        let fits = view.dtype() == DType::Bool && view.dims() == self.dims && view.is_contiguous();
        fits.then(|| {
            self.reads.push(view);
            FusedOperand::Read(self.reads.len() - 1)
        })
    }

    /// `where`: the first operand where the mask holds, else the second.
    pub(crate) fn choose(&mut self, [mask, a, b]: [FusedOperand; 3]) -> FusedOperand {
        self.cost += 0.3;
        self.step(where_loop(self.dtype.size()), &[mask, a, b], &[])
    }

    /// A scalar operand.
    pub(crate) fn number(&mut self, number: f64) -> FusedOperand {
        self.value(RepeatedSource::Number(word(LoopOperand::Float(number), self.dtype)))
    }

    fn value(&mut self, value: RepeatedSource) -> FusedOperand {
        let known = self.values.iter().position(|&known| known == value);
        FusedOperand::Repeated(known.unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        }))
    }

    /// Adds a loop and returns its result; `None` if the table has no loop for the dtype.
    pub(crate) fn apply(
        &mut self,
        table: &LoopTable,
        operands: &[FusedOperand],
        params: &'a [f64],
    ) -> Option<FusedOperand> {
        self.cost += table.cost(self.dtype);
        Some(self.step(table.get(self.dtype)?, operands, params))
    }

    fn step(&mut self, table: Loop, operands: &[FusedOperand], params: &'a [f64]) -> FusedOperand {
        let mut ins = [FusedOperand::Result(0); MAX_OPERANDS];
        ins[..operands.len()].copy_from_slice(operands);
        self.steps.push(ChainLoop { table, ins, count: operands.len(), params });
        FusedOperand::Result(self.steps.len() - 1)
    }

    /// Runs the loops and writes some of their results. A result may overwrite a view that was read.
    ///
    /// # Panics
    /// When a result is of another shape or dtype, or was made by no loop: bugs of the caller.
    pub(crate) fn run(self, outs: &mut [(FusedOperand, ViewMut<'_>)]) {
        let n: usize = self.dims.iter().product();
        let mut addresses: Vec<*mut u8> =
            self.reads.iter().map(|view| view.byte_at(0).cast_mut()).collect();
        let mut last: Vec<usize> = (0..self.steps.len()).collect();
        for (at, step) in self.steps.iter().enumerate() {
            for tile in step.operands() {
                if let FusedOperand::Result(step) = tile {
                    last[*step] = at;
                }
            }
        }
        for (tile, out) in outs.iter() {
            let FusedOperand::Result(step) = *tile else {
                unreachable!("a result that a loop makes")
            };
            assert!(out.is_contiguous() && out.dims == self.dims && out.dtype == self.dtype);
            last[step] = usize::MAX;
            addresses.push(out.byte_at(0));
        }
        let chain = self.chain(n, &last, outs);
        // SAFETY: operands and results are views of `n` elements of the loops' dtype; the results are written
        // after a tile of every view was read.
        unsafe { chain.run(&addresses) };
    }

    /// The chain of the loops; `last[k]` is the last loop that reads the result of loop `k`, `usize::MAX` for
    /// outputs.
    fn chain(self, n: usize, last: &[usize], outs: &[(FusedOperand, ViewMut<'_>)]) -> Chain {
        let size = self.dtype.size();
        let memory = |buffer: usize| {
            let step = self.reads.get(buffer).map_or(size, |view| view.dtype().size());
            Location::Memory { buffer: buffer as BufferId, offset: 0, step }
        };
        let mut free: Vec<usize> = Vec::new();
        let mut slots = self.values.len();
        let mut slot_of: Vec<usize> = Vec::with_capacity(self.steps.len());
        let mut ops: Vec<ChainOp> = Vec::with_capacity(self.steps.len() + outs.len());
        for (at, step) in self.steps.iter().enumerate() {
            // In-place loops are not vectorised: an operand's slot is only freed after the loop.
            let slot = free.pop().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            slot_of.push(slot);
            free.extend((0..=at).filter(|&k| last[k] == at).map(|k| slot_of[k]));
            let mut ins: SmallVec<[Location; 4]> = SmallVec::new();
            for tile in step.operands() {
                ins.push(match *tile {
                    FusedOperand::Read(read) => memory(read),
                    FusedOperand::Repeated(value) => Location::Slot(value),
                    FusedOperand::Result(step) => Location::Slot(slot_of[step]),
                });
            }
            let (table, out, params) = (step.table, Location::Slot(slot), step.params.into());
            ops.push(ChainOp::Map { table, ins, out, params, width: 1 });
        }
        for (k, (tile, out)) in outs.iter().enumerate() {
            let FusedOperand::Result(step) = *tile else { continue };
            let (from, buffer) = (slot_of[step], self.reads.len() + k);
            let target = out.byte_at(0);
            let cached = self.reads.iter().any(|view| view.byte_at(0) == target.cast_const());
            ops.push(match nontemporal::should_stream(target, n * size) && !cached {
                true => ChainOp::Stream {
                    from: Location::Slot(from),
                    buffer: buffer as BufferId,
                    step: size,
                },
                false => {
                    ChainOp::Copy { from: Location::Slot(from), to: memory(buffer), step: size }
                }
            });
        }
        let values = self.values.into_iter().enumerate();
        let values = values.map(|(slot, from)| RepeatedOperand { slot, size, from }).collect();
        let shape = ChainShape { rows: n, row: 1 };
        Chain { ops, values, shape, slots, cost: self.cost, formulas: Vec::new() }
    }
}
