//! Plans: how operands that are strided, broadcast or written in place reach a contiguous loop.
//!
//! Owns: collapsing of dimensions, the access of each operand, and the walk over rows and tiles.
//! Never splits over threads; a span is any range of the flat index space.
//! Invariant: a span reads and writes the elements of its own range only.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::direct::Work;
use super::drive::{MAX_OPERANDS, Operand, OutOperand};
use super::gather::{gather, scatter};
use crate::array::sort_axes;

/// Elements of a tile: 4 KiB of float64 per operand.
const TILE: usize = 512;
/// Rows at least this long are run one by one, shorter ones are gathered into tiles.
const LONG_ROW: usize = 128;

type Tile = [MaybeUninit<[u64; 2]>; TILE];
type Axes<T> = SmallVec<[T; 6]>;

/// How a span reaches the elements of an operand.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    /// Flat: the operand is contiguous over the whole shape.
    Flat,
    /// Rows are contiguous and the spans do not cross rows.
    Row,
    /// One value for the whole shape.
    Value,
    /// One row again and again, which lies in a tile as often as it fits.
    Repeated,
    /// Through a tile.
    Tile,
}

/// Operands of which some are strided, broadcast, or the output itself.
pub(super) struct Plan {
    work: Work,
    ins: SmallVec<[Arg; MAX_OPERANDS]>,
    out: Arg,
    /// Elements of the longest rows that are rows of every operand.
    row: usize,
    by_row: bool,
    tiled: bool,
    /// Elements of a tile: whole rows, if one fits.
    tile: usize,
}

/// One operand of a plan (the output's pointer is mutable in truth), its dimensions collapsed by themselves.
struct Arg {
    ptr: *mut u8,
    dims: Axes<usize>,
    strides: Axes<isize>,
    size: usize,
    access: Access,
}

// SAFETY: the pointers are read and written by disjoint ranges, under the contract of `run`.
unsafe impl Sync for Plan {}

impl Plan {
    pub(super) fn new(
        work: Work,
        ins: &[Operand<'_>],
        out: OutOperand<'_>,
        dims: &[usize],
        in_place: bool,
    ) -> Plan {
        let order = order(dims, out.strides);
        let arg = |ptr: *mut u8, strides: &[isize], size| {
            let (dims, strides) = collapsed(&order, dims, strides);
            Arg { ptr, dims, strides, size, access: Access::Tile }
        };
        let mut plan = Plan {
            work,
            ins: ins.iter().map(|x| arg(x.ptr.cast_mut(), x.strides, x.itemsize)).collect(),
            out: arg(out.ptr, out.strides, out.itemsize),
            row: 0,
            by_row: false,
            tiled: false,
            tile: TILE,
        };
        // What runs on in one operand is made of whole rows of the others.
        plan.row = plan.ins.iter().map(Arg::row).fold(plan.out.row(), usize::min);
        plan.by_row = plan.row >= LONG_ROW;
        if !plan.by_row {
            // Whole vectors of whole rows, where they fit.
            let unit = if 8 * plan.row <= TILE { 8 * plan.row } else { plan.row };
            plan.tile = TILE / unit * unit;
        }
        let (by_row, row) = (plan.by_row, plan.row);
        plan.ins.iter_mut().for_each(|a| a.access = a.reached(by_row, row));
        if !in_place {
            plan.out.access = plan.out.reached(by_row, row);
        }
        let tiled = |a: &Arg| !matches!(a.access, Access::Flat | Access::Row);
        plan.tiled = tiled(&plan.out) || plan.ins.iter().any(tiled);
        plan
    }

    /// # Safety
    /// The range is inside the shape.
    pub(super) unsafe fn span(&self, start: usize, end: usize) {
        let mut tiles = [[MaybeUninit::uninit(); TILE]; MAX_OPERANDS + 1];
        let (out_tile, tiles) = tiles.split_last_mut().expect("there is a tile for the output");
        let mut sizes = [0; MAX_OPERANDS];
        for (k, a) in self.ins.iter().enumerate() {
            sizes[k] = a.size;
            if matches!(a.access, Access::Value | Access::Repeated) {
                // What lies before the first element, if anything, is gathered with it.
                let range = (0, self.tile.min(end - start + start % self.row));
                let tile = tiles[k].as_mut_ptr().cast();
                // SAFETY: the shape begins with such a range; the tile has room.
                unsafe { gather(a.ptr, a.size, &a.dims, &a.strides, range, tile) };
            }
        }
        let sizes = (&sizes[..self.ins.len()], self.out.size);
        let row = self.row;
        let mut pos = start;
        while pos < end {
            let mut n = end - pos;
            if self.by_row {
                n = n.min(row - pos % row);
            }
            if self.tiled {
                n = n.min(self.tile - if self.by_row { 0 } else { pos % row });
            }
            // SAFETY: pos + n <= end, and n fits a tile if one is used.
            unsafe { self.step((pos, n), tiles, out_tile, sizes) };
            pos += n;
        }
    }

    /// # Safety
    /// The range (first flat index, count) is inside the shape and fits the tiles in use.
    unsafe fn step(
        &self,
        range: (usize, usize),
        tiles: &mut [Tile],
        out_tile: &mut Tile,
        sizes: (&[usize], usize),
    ) {
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        // SAFETY: the range is inside the shape, over which everything is valid.
        unsafe {
            for (k, a) in self.ins.iter().enumerate() {
                let tile = tiles[k].as_mut_ptr().cast::<u8>();
                if a.access == Access::Tile {
                    gather(a.ptr, a.size, &a.dims, &a.strides, range, tile);
                }
                ptrs[k] = match a.access {
                    Access::Repeated => tile.add(range.0 % self.row * a.size),
                    _ => self.address(a, range.0).unwrap_or(tile),
                };
            }
            let out = self.address(&self.out, range.0);
            let target = out.unwrap_or(out_tile.as_mut_ptr().cast());
            self.work.call(&ptrs, target, range.1, sizes);
            if out.is_none() {
                let o = &self.out;
                scatter(target, o.size, &o.dims, &o.strides, range, o.ptr);
            }
        }
    }

    /// The address of a flat index of an operand that needs no tile.
    ///
    /// # Safety
    /// The index is inside the shape.
    unsafe fn address(&self, a: &Arg, flat: usize) -> Option<*mut u8> {
        let offset = match a.access {
            Access::Flat => flat as isize,
            Access::Row => {
                let mut rest = flat;
                let mut offset = 0;
                for (&d, &s) in a.dims.iter().zip(&a.strides).rev() {
                    offset += (rest % d) as isize * s;
                    rest /= d;
                }
                offset
            }
            Access::Value | Access::Repeated | Access::Tile => return None,
        };
        // SAFETY: the element is inside the operand.
        Some(unsafe { a.ptr.offset(offset * a.size as isize) })
    }
}

impl Arg {
    /// Elements of a row: neighbours that lie evenly apart.
    fn row(&self) -> usize {
        self.dims[self.dims.len() - 1]
    }

    /// How spans reach it, with the row that all operands share.
    fn reached(&self, by_row: bool, row: usize) -> Access {
        match *self.strides {
            [0] => Access::Value,
            [1] => Access::Flat,
            [.., 1] if by_row => Access::Row,
            [0, _] if !by_row && self.row() == row => Access::Repeated,
            _ => Access::Tile,
        }
    }
}

/// The axes of `order` with one operand's strides, neighbours merged where it runs on.
fn collapsed(order: &[usize], dims: &[usize], strides: &[isize]) -> (Axes<usize>, Axes<isize>) {
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

/// The axes longer than 1, in the order in which the output lies in memory.
fn order(dims: &[usize], out: &[isize]) -> Axes<usize> {
    let mut order: Axes<usize> = (0..dims.len()).filter(|&axis| dims[axis] != 1).collect();
    sort_axes(&mut order, |a, b| out[a].unsigned_abs() > out[b].unsigned_abs());
    order
}
