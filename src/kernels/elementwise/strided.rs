//! Strided plans: call a contiguous loop with operands that are strided, broadcast or written in place, row by
//! row or through gathered tiles.
//!
//! Invariant: a span (a range of flat C indices) reads and writes only its own elements.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::contiguous::PaddedLoop;
use super::dispatch::{MAX_OPERANDS, Operand, OutOperand};
use super::tile_copy::{gather, scatter};
use crate::array::sort_axes;

/// Elements of a tile: 4 KiB of float64 per operand.
const TILE: usize = 512;
/// Rows of at least this many elements are run one by one, shorter ones are gathered into tiles.
const ROW_ELEMENTS: usize = 128;

/// Stretches of an operand, contiguous or of one repeated value, are not gathered element by element if they have at
/// least this many elements; no step then crosses the end of one.
const STRETCH_ELEMENTS: usize = 2 * TILE;

type TileBuffer = [MaybeUninit<[u64; 2]>; TILE];
type Axes<T> = SmallVec<[T; 6]>;

/// How a span reaches the elements of an operand.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    /// By address: the operand is contiguous over the whole shape.
    Flat,
    /// By address: stretches are contiguous, and no step crosses the end of one.
    Row,
    /// A scalar, or a row, that repeats for so many elements: a tile holds as many repetitions as fit.
    Repeated(usize),
    /// Gathered into, or scattered from, a tile.
    Tile,
}

/// A call whose operands are partly strided, broadcast, or the output itself.
pub(super) struct StridedPlan<'a> {
    work: PaddedLoop<'a>,
    ins: SmallVec<[StridedArg; MAX_OPERANDS]>,
    out: StridedArg,
    /// The length of the longest rows that are rows of every operand.
    row: usize,
    by_row: bool,
    tiled: bool,
    /// No step crosses a multiple of this flat index.
    limit: usize,
    /// Elements of a tile: whole rows, if one fits.
    tile: usize,
}

/// An operand of a plan, its dimensions collapsed independently of the others; the output's pointer is
/// written through.
struct StridedArg {
    ptr: *mut u8,
    dims: Axes<usize>,
    strides: Axes<isize>,
    size: usize,
    access: Access,
}

// SAFETY: the pointers are read and written by disjoint ranges, under the contract of `run`.
unsafe impl Sync for StridedPlan<'_> {}

impl<'a> StridedPlan<'a> {
    pub(super) fn new(
        work: PaddedLoop<'a>,
        ins: &[Operand<'_>],
        out: OutOperand<'_>,
        dims: &[usize],
        in_place: bool,
    ) -> StridedPlan<'a> {
        let order = order(dims, out.strides);
        let arg = |ptr: *mut u8, strides: &[isize], size| {
            let (dims, strides) = collapse(&order, dims, strides);
            StridedArg { ptr, dims, strides, size, access: Access::Tile }
        };
        let mut plan = StridedPlan {
            work,
            ins: ins.iter().map(|x| arg(x.ptr.cast_mut(), x.strides, x.itemsize)).collect(),
            out: arg(out.ptr, out.strides, out.itemsize),
            row: 0,
            by_row: false,
            tiled: false,
            limit: usize::MAX,
            tile: TILE,
        };
        // A row of the operand with the longest rows consists of whole rows of the others.
        plan.row = plan.ins.iter().map(StridedArg::row).fold(plan.out.row(), usize::min);
        plan.by_row = plan.row >= ROW_ELEMENTS;
        if !plan.by_row {
            // Whole vectors of whole rows, if they fit.
            let unit = if 8 * plan.row <= TILE { 8 * plan.row } else { plan.row };
            plan.tile = TILE / unit * unit;
        }
        let (by_row, row) = (plan.by_row, plan.row);
        plan.ins.iter_mut().for_each(|a| a.access = a.classify(by_row, row));
        if !in_place {
            plan.out.access = plan.out.classify(by_row, row);
        }
        for a in plan.ins.iter().chain([&plan.out]) {
            match a.access {
                Access::Row => plan.limit = plan.limit.min(if by_row { row } else { a.row() }),
                Access::Repeated(len) => plan.limit = plan.limit.min(len),
                Access::Flat | Access::Tile => {}
            }
        }
        if by_row {
            plan.limit = plan.limit.min(row);
        }
        let tiled = |a: &StridedArg| !matches!(a.access, Access::Flat | Access::Row);
        plan.tiled = tiled(&plan.out) || plan.ins.iter().any(tiled);
        plan
    }

    /// # Safety
    /// The range is inside the shape.
    pub(super) unsafe fn span(&self, start: usize, end: usize) {
        let mut tiles = [[MaybeUninit::uninit(); TILE]; MAX_OPERANDS + 1];
        let (out_tile, tiles) = tiles.split_last_mut().expect("there is a tile for the output");
        let mut sizes = [0; MAX_OPERANDS];
        self.ins.iter().zip(&mut sizes).for_each(|(a, size)| *size = a.size);
        let sizes = (&sizes[..self.ins.len()], self.out.size);
        let mut repeated = [usize::MAX; MAX_OPERANDS];
        let mut pos = start;
        while pos < end {
            let mut n = end - pos;
            if self.limit != usize::MAX {
                n = n.min(self.limit - pos % self.limit);
            }
            if self.tiled {
                n = n.min(self.tile - if self.by_row { 0 } else { pos % self.row });
            }
            // SAFETY: pos + n <= end, and n fits a tile if one is used.
            unsafe { self.step((pos, n), tiles, out_tile, &mut repeated, sizes) };
            pos += n;
        }
    }

    /// # Safety
    /// The range (first flat index, count) is inside the shape and fits the tiles in use; `repeated` says
    /// which stretch is in the tile of each `Repeated` operand.
    unsafe fn step(
        &self,
        range: (usize, usize),
        tiles: &mut [TileBuffer],
        out_tile: &mut TileBuffer,
        repeated: &mut [usize; MAX_OPERANDS],
        sizes: (&[usize], usize),
    ) {
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        // SAFETY: the range is inside the shape, over which everything is valid.
        unsafe {
            for (k, a) in self.ins.iter().enumerate() {
                let tile = tiles[k].as_mut_ptr().cast::<u8>();
                ptrs[k] = match a.access {
                    Access::Flat | Access::Row => self.address(a, range.0),
                    Access::Tile => {
                        gather(a.ptr, a.size, &a.dims, &a.strides, range, tile);
                        tile
                    }
                    Access::Repeated(len) => {
                        let stretch = range.0 / len;
                        if repeated[k] != stretch {
                            let first = (stretch * len, self.tile.min(len));
                            gather(a.ptr, a.size, &a.dims, &a.strides, first, tile);
                            repeated[k] = stretch;
                        }
                        let value = a.strides[a.strides.len() - 1] == 0;
                        tile.add(if value { 0 } else { range.0 % self.row * a.size })
                    }
                };
            }
            let o = &self.out;
            if o.access == Access::Tile {
                let target = out_tile.as_mut_ptr().cast();
                self.work.call(&ptrs, target, range.1, sizes);
                scatter(target, o.size, &o.dims, &o.strides, range, o.ptr);
            } else {
                self.work.call(&ptrs, self.address(o, range.0), range.1, sizes);
            }
        }
    }

    /// The address of a flat index of an operand that is accessed without a tile.
    ///
    /// # Safety
    /// The index is inside the shape.
    unsafe fn address(&self, a: &StridedArg, flat: usize) -> *mut u8 {
        let mut offset = flat as isize;
        if a.access != Access::Flat {
            let mut rest = flat;
            offset = 0;
            for (&d, &s) in a.dims.iter().zip(&a.strides).rev() {
                offset += (rest % d) as isize * s;
                rest /= d;
            }
        }
        // SAFETY: the element is inside the operand.
        unsafe { a.ptr.offset(offset * a.size as isize) }
    }
}

impl StridedArg {
    /// The length of a row: the innermost collapsed dimension.
    fn row(&self) -> usize {
        self.dims[self.dims.len() - 1]
    }

    /// How spans access it, given the row that all operands share.
    fn classify(&self, by_row: bool, row: usize) -> Access {
        let last = self.row();
        match *self.strides {
            [1] => Access::Flat,
            [.., 1] if by_row || last >= STRETCH_ELEMENTS => Access::Row,
            [0] => Access::Repeated(last),
            [.., 0] if last >= STRETCH_ELEMENTS => Access::Repeated(last),
            [.., 0, _] if !by_row && last == row => match self.dims[self.dims.len() - 2] * row {
                len if len >= STRETCH_ELEMENTS || self.dims.len() == 2 => Access::Repeated(len),
                _ => Access::Tile,
            },
            _ => Access::Tile,
        }
    }
}

/// The axes of `order` with one operand's strides, adjacent axes merged where possible.
fn collapse(order: &[usize], dims: &[usize], strides: &[isize]) -> (Axes<usize>, Axes<isize>) {
    let (mut sizes, mut steps) = (Axes::<usize>::new(), Axes::<isize>::new());
    for &axis in order {
        let (size, step) = (dims[axis], strides[axis]);
        match (sizes.last_mut(), steps.last_mut()) {
            (Some(last), Some(by)) if *by == step * size as isize => {
                *last *= size;
                *by = step;
            }
            _ => {
                sizes.push(size);
                steps.push(step);
            }
        }
    }
    (sizes, steps)
}

/// The axes longer than 1, in the memory order of the output.
fn order(dims: &[usize], out: &[isize]) -> Axes<usize> {
    let mut order: Axes<usize> = (0..dims.len()).filter(|&axis| dims[axis] != 1).collect();
    sort_axes(&mut order, |a, b| out[a].unsigned_abs() > out[b].unsigned_abs());
    order
}
