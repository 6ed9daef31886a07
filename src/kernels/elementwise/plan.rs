//! Plans: how operands that are strided, broadcast or written in place reach a contiguous loop.
//!
//! Owns: collapsing of dimensions, the access of each operand, and the walk over rows and tiles.
//! Never splits over threads; a span is any range of the flat index space.
//! Invariant: a span reads and writes the elements of its own range only.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::direct::{Work, contiguous};
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
    /// Through a tile.
    Tile,
}

/// Operands of which some are strided, broadcast, or the output itself.
pub(super) struct Plan {
    work: Work,
    dims: Axes<usize>,
    ins: SmallVec<[Arg; MAX_OPERANDS]>,
    out: Arg,
    by_row: bool,
    tiled: bool,
}

/// One operand of a plan (the output's pointer is mutable in truth).
struct Arg {
    ptr: *mut u8,
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
        let arg = |ptr: *mut u8, strides: &[isize], size| Arg {
            ptr,
            strides: order.iter().map(|&axis| strides[axis]).collect(),
            size,
            access: Access::Tile,
        };
        let mut plan = Plan {
            work,
            dims: order.iter().map(|&axis| dims[axis]).collect(),
            ins: ins.iter().map(|x| arg(x.ptr.cast_mut(), x.strides, x.itemsize)).collect(),
            out: arg(out.ptr, out.strides, out.itemsize),
            by_row: false,
            tiled: false,
        };
        plan.collapse();
        plan.by_row = plan.dims[plan.dims.len() - 1] >= LONG_ROW;
        for k in 0..plan.ins.len() {
            plan.ins[k].access = plan.access(&plan.ins[k]);
        }
        plan.out.access = if in_place { Access::Tile } else { plan.access(&plan.out) };
        let tiled = |a: &Arg| matches!(a.access, Access::Tile | Access::Value);
        plan.tiled = tiled(&plan.out) || plan.ins.iter().any(tiled);
        plan
    }

    /// Merges neighbouring dimensions that every operand walks with one stride.
    fn collapse(&mut self) {
        let mut kept = 0;
        for axis in 1..self.dims.len() {
            let size = self.dims[axis] as isize;
            let joins = |a: &Arg| a.strides[kept] == a.strides[axis] * size;
            if joins(&self.out) && self.ins.iter().all(joins) {
                self.dims[kept] *= self.dims[axis];
            } else {
                kept += 1;
                self.dims[kept] = self.dims[axis];
            }
            let args = self.ins.iter_mut().chain(std::iter::once(&mut self.out));
            args.for_each(|a| a.strides[kept] = a.strides[axis]);
        }
        self.dims.truncate(kept + 1);
        let args = self.ins.iter_mut().chain(std::iter::once(&mut self.out));
        args.for_each(|a| a.strides.truncate(kept + 1));
    }

    fn access(&self, a: &Arg) -> Access {
        if a.strides.iter().all(|&s| s == 0) {
            Access::Value
        } else if contiguous(&self.dims, &a.strides) {
            Access::Flat
        } else if self.by_row && a.strides[a.strides.len() - 1] == 1 {
            Access::Row
        } else {
            Access::Tile
        }
    }

    /// # Safety
    /// The range is inside the shape.
    pub(super) unsafe fn span(&self, start: usize, end: usize) {
        let mut tiles = [[MaybeUninit::uninit(); TILE]; MAX_OPERANDS + 1];
        let (out_tile, tiles) = tiles.split_last_mut().expect("there is a tile for the output");
        let mut sizes = [0; MAX_OPERANDS];
        for (k, a) in self.ins.iter().enumerate() {
            sizes[k] = a.size;
            if a.access == Access::Value {
                let range = (0, TILE.min(end - start));
                let tile = tiles[k].as_mut_ptr().cast();
                // SAFETY: one element, repeated; the tile has room.
                unsafe { gather(a.ptr, a.size, &[TILE], &[0], range, tile) };
            }
        }
        let sizes = (&sizes[..self.ins.len()], self.out.size);
        let row = self.dims[self.dims.len() - 1];
        let mut pos = start;
        while pos < end {
            let mut n = end - pos;
            if self.tiled {
                n = n.min(TILE);
            }
            if self.by_row {
                n = n.min(row - pos % row);
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
                    gather(a.ptr, a.size, &self.dims, &a.strides, range, tile);
                }
                ptrs[k] = self.address(a, range.0).unwrap_or(tile);
            }
            let out = self.address(&self.out, range.0);
            let target = out.unwrap_or(out_tile.as_mut_ptr().cast());
            self.work.call(&ptrs, target, range.1, sizes);
            if out.is_none() {
                let (o, dims) = (&self.out, &self.dims);
                scatter(target, o.size, dims, &o.strides, range, o.ptr);
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
                for (&d, &s) in self.dims.iter().zip(&a.strides).rev() {
                    offset += (rest % d) as isize * s;
                    rest /= d;
                }
                offset
            }
            Access::Value | Access::Tile => return None,
        };
        // SAFETY: the element is inside the operand.
        Some(unsafe { a.ptr.offset(offset * a.size as isize) })
    }
}

/// The axes longer than 1, in the order in which the output lies in memory.
fn order(dims: &[usize], out: &[isize]) -> Axes<usize> {
    let mut order: Axes<usize> = (0..dims.len()).filter(|&axis| dims[axis] != 1).collect();
    sort_axes(&mut order, |a, b| out[a].unsigned_abs() > out[b].unsigned_abs());
    order
}
