//! Reductions whose finest axis is kept: rows are merged into a row of accumulators.
//!
//! Invariant: one tile is a tree of pieces, a piece a tree of row blocks, a block a left fold; all sizes
//! depend on the dims only.

use super::super::view::{Axes, View, ViewMut};
use super::inner::Partials;
use super::launch_reduce::ReducePlan;
use super::loop_table::{ReduceLoops, copy_strided};
use crate::array::repeated;
use crate::error::Result;
use crate::threads::parallel_for;

/// Accumulators of one tile: a few KiB, half of the L1 cache at most.
const TILE_ACCUMULATORS: usize = 1024;
/// Rows that are merged one after the other.
const BLOCK_ROWS: usize = 32;
/// Elements of one piece, about.
const PIECE_ELEMENTS: usize = 1 << 16;

/// The rows that one tile folds.
struct RowAxes<'a> {
    axes: &'a Axes<1>,
    count: usize,
    /// The stride of the kept axis if it is not 1: rows are then gathered before they are merged.
    gather: Option<isize>,
}

pub(super) fn reduce(
    loops: &ReduceLoops,
    plan: &ReducePlan,
    input: View,
    out: ViewMut,
) -> Result<()> {
    let mut kept = plan.kept.clone();
    let (width, [to_step, from_step]) = kept.pop();
    let mut axes = plan.reduced.clone();
    let (group, tail) = if from_step == 1 { group_rows(&mut axes, width) } else { (1, None) };
    let count = axes.count();
    let wide = width * group;
    let tile = TILE_ACCUMULATORS.min(wide);
    let piece_rows = (PIECE_ELEMENTS / tile).next_power_of_two();
    let gather = (from_step != 1).then_some(from_step);
    let reduction = ColumnReduction {
        loops,
        sizes: (input.dtype.size(), out.dtype.size()),
        rows: RowAxes { axes: &axes, count, gather },
        tail,
        width,
        group,
        wide,
        tile,
        tiles: wide.div_ceil(tile),
        piece_rows,
        pieces: count.div_ceil(piece_rows),
        to_step,
    };
    reduction.run(&kept, kept.count(), input, out)
}

/// Groups consecutive rows, so that narrow ones fill a tile: returns the rows of a group, and the remaining
/// rows.
fn group_rows(axes: &mut Axes<1>, width: usize) -> (usize, Option<RemainingRows>) {
    let ([dim], [[stride]]) = (axes.dims.as_mut_slice(), axes.strides.as_mut_slice()) else {
        return (1, None);
    };
    if *stride != width as isize || width >= TILE_ACCUMULATORS / 4 || *dim < 8 {
        return (1, None);
    }
    let group = prev_power_of_two((TILE_ACCUMULATORS / 2 / width).min(*dim / 4));
    let (groups, count) = (*dim / group, *dim % group);
    *dim = groups;
    *stride *= group as isize;
    (group, Some(RemainingRows { start: (groups * group * width) as isize, count }))
}

fn prev_power_of_two(n: usize) -> usize {
    1 << n.ilog2()
}

/// The remaining rows when the reduced axis is split into groups: their start and number.
struct RemainingRows {
    start: isize,
    count: usize,
}

struct ColumnReduction<'a> {
    loops: &'a ReduceLoops,
    /// Bytes of an element and of a result.
    sizes: (usize, usize),
    rows: RowAxes<'a>,
    tail: Option<RemainingRows>,
    /// Results of one row, rows of one group, and their product.
    width: usize,
    group: usize,
    wide: usize,
    tile: usize,
    tiles: usize,
    piece_rows: usize,
    pieces: usize,
    to_step: isize,
}

/// Memory for so many accumulators of this size, at most those of a tile.
fn accumulators(n: usize, size: usize) -> Vec<u64> {
    vec![0; (n * size).div_ceil(8)]
}

impl ColumnReduction<'_> {
    fn run(&self, kept: &Axes<2>, outer: usize, input: View, out: ViewMut) -> Result<()> {
        let units = self.pieces * self.tiles;
        let elements = outer * self.wide * self.rows.count;
        let (_, size) = self.sizes;
        if self.pieces == 1 {
            // Every tile of every outer position is a result of its own.
            let total = outer * self.tiles;
            let blocks = (elements / PIECE_ELEMENTS).clamp(1, total);
            parallel_for(blocks, &|b| {
                let mut row = accumulators(self.tile, size);
                let row = row.as_mut_ptr().cast::<u8>();
                for unit in b * total / blocks..(b + 1) * total / blocks {
                    let (position, t) = (unit / self.tiles, unit % self.tiles);
                    kept.for_range(position, position + 1, &mut |[to, from]| {
                        // SAFETY: the views are valid at every position; the row holds a tile.
                        unsafe {
                            self.fold_tile(input.byte_at(from), t, 0, row);
                            self.finish(row, t, input.byte_at(from), out.byte_at(to));
                        }
                    });
                }
            });
            return Ok(());
        }
        let mut partial = repeated(0u64, (self.pieces * self.wide * size).div_ceil(8))?;
        let slots = Partials(partial.as_mut_ptr().cast::<u8>());
        for position in 0..outer {
            kept.for_range(position, position + 1, &mut |[to, from]| {
                parallel_for(units, &|unit| {
                    let (piece, t) = (unit / self.tiles, unit % self.tiles);
                    let acc = slots.slot((piece * self.wide + t * self.tile) * size);
                    // SAFETY: the view is valid at every position; each unit has its own slots.
                    unsafe { self.fold_tile(input.byte_at(from), t, piece, acc) };
                });
                // SAFETY: as above.
                unsafe {
                    self.merge_pieces(slots.slot(0));
                    for t in 0..self.tiles {
                        let row = slots.slot(t * self.tile * size);
                        self.finish(row, t, input.byte_at(from), out.byte_at(to));
                    }
                }
            });
        }
        Ok(())
    }

    /// Folds the rows of one piece, for one tile, into `acc`.
    ///
    /// # Safety
    /// `p` is readable at every position of the rows; `acc` has the slots of the tile.
    unsafe fn fold_tile(&self, p: *const u8, t: usize, piece: usize, acc: *mut u8) {
        let left = t * self.tile;
        let n = self.tile.min(self.wide - left);
        let start = piece * self.piece_rows;
        let end = self.rows.count.min(start + self.piece_rows);
        let mut stack: Vec<Vec<u64>> = Vec::new();
        let mut blocks = 0usize;
        let mut first = start;
        while first < end {
            let last = end.min(first + BLOCK_ROWS);
            // SAFETY: the caller's contract; the levels of the stack hold `n` accumulators.
            unsafe {
                (self.loops.clear)(acc, n);
                self.fold_rows(p, left, n, first, last, acc);
                let mut level = 0;
                while blocks >> level & 1 == 1 {
                    (self.loops.merge_rows)(acc, stack[level].as_ptr().cast(), n);
                    level += 1;
                }
                if last == end {
                    // The last block merges the rest of the stack, smallest first.
                    for (higher, part) in stack.iter().enumerate().skip(level) {
                        if blocks >> higher & 1 == 1 {
                            (self.loops.merge_rows)(acc, part.as_ptr().cast(), n);
                        }
                    }
                } else {
                    if level == stack.len() {
                        stack.push(accumulators(n, self.sizes.1));
                    }
                    let kept = stack[level].as_mut_ptr().cast::<u8>();
                    std::ptr::copy_nonoverlapping(acc, kept, n * self.sizes.1);
                }
            }
            blocks += 1;
            first = last;
        }
    }

    /// Merges rows `first..last` into `acc`.
    ///
    /// # Safety
    /// As `fold_tile`.
    unsafe fn fold_rows(
        &self,
        p: *const u8,
        left: usize,
        n: usize,
        first: usize,
        last: usize,
        acc: *mut u8,
    ) {
        let (axes, (size, _)) = (self.rows.axes, self.sizes);
        let at = |skip: isize| p.wrapping_offset(skip * size as isize);
        let add_rows = self.loops.add_rows;
        if let Some(step) = self.rows.gather {
            let mut row = accumulators(n, size);
            let row = row.as_mut_ptr().cast::<u8>();
            axes.for_range(first, last, &mut |[skip]| {
                // SAFETY: the caller's contract; the row has space for `n` elements.
                unsafe {
                    copy_strided(size, (at(skip + left as isize * step), step), (row, 1), n);
                    add_rows(acc, row, n, 0, 1);
                }
            });
            return;
        }
        let left = left as isize;
        if let ([_], [[stride]]) = (axes.dims.as_slice(), axes.strides.as_slice()) {
            let rows = at(left + first as isize * stride);
            // SAFETY: the caller's contract.
            return unsafe { add_rows(acc, rows, n, *stride, last - first) };
        }
        axes.for_range(first, last, &mut |[skip]| {
            // SAFETY: the caller's contract.
            unsafe { add_rows(acc, at(left + skip), n, 0, 1) };
        });
    }

    /// Merges the pieces into the first.
    ///
    /// # Safety
    /// `partial` holds the accumulators of all pieces.
    unsafe fn merge_pieces(&self, partial: *mut u8) {
        let at = |piece: usize| partial.wrapping_add(piece * self.wide * self.sizes.1);
        let mut gap = 1;
        while gap < self.pieces {
            for piece in (0..self.pieces - gap).step_by(2 * gap) {
                // SAFETY: both are `wide` long and disjoint.
                unsafe { (self.loops.merge_rows)(at(piece), at(piece + gap), self.wide) };
            }
            gap *= 2;
        }
    }

    /// Merges the rows of a group and the remaining rows, and writes the results of tile `t`.
    ///
    /// # Safety
    /// `row` holds a tile, or a group; `p` and `out` are valid at every position of the kept axis and the
    /// remaining rows.
    unsafe fn finish(&self, row: *mut u8, t: usize, p: *const u8, out: *mut u8) {
        let (size, result) = self.sizes;
        let left = t * self.tile;
        let n = if self.group > 1 { self.width } else { self.tile.min(self.wide - left) };
        let mut group = self.group;
        // SAFETY: the caller's contract; both halves hold `group * n` accumulators and are disjoint.
        unsafe {
            while group > 1 {
                group /= 2;
                let half = group * n;
                (self.loops.merge_rows)(row, row.wrapping_add(half * result), half);
            }
            if let Some(tail) = &self.tail {
                let rest = p.wrapping_offset(tail.start * size as isize);
                (self.loops.add_rows)(row, rest, n, n as isize, tail.count);
            }
            let out = out.wrapping_offset(left as isize * self.to_step * result as isize);
            copy_strided(result, (row, 1), (out, self.to_step), n);
        }
    }
}
