//! Reductions whose finest axis is kept: rows are merged into a row of accumulators.
//!
//! Owns: the tiles of accumulators, the grouping of narrow rows, and splitting into pieces.
//! Invariant: one tile is a tree of pieces, a piece a tree of row blocks, a block a left fold; all sizes
//! follow from the dims.

use super::super::view::{Axes, View, ViewMut};
use super::fold::{self, Fold};
use super::inner::Partials;
use super::run::Plan;
use crate::threads::parallel_for;

/// Accumulators of one tile: a few KiB, half of the L1 cache at most.
const TILE: usize = 1024;
/// Rows that are merged one after the other.
const ROWS: usize = 32;
/// Elements of one piece, about.
const PIECE: usize = 1 << 16;

/// The rows that one tile folds.
struct Rows<'a> {
    axes: &'a Axes<1>,
    count: usize,
    /// Set when the kept axis has a stride other than 1: a row is gathered before it is merged.
    gather: Option<isize>,
}

pub(super) fn reduce<F: Fold>(plan: &Plan, input: View, out: ViewMut) {
    let mut kept = plan.kept.clone();
    let (width, [to_step, from_step]) = kept.pop();
    let mut axes = plan.reduced.clone();
    let (group, tail) = if from_step == 1 { grouped(&mut axes, width) } else { (1, None) };
    let count = axes.count();
    let wide = width * group;
    let tile = TILE.min(wide);
    let piece_rows = (PIECE / tile).next_power_of_two();
    let gather = (from_step != 1).then_some(from_step);
    let job = Job {
        rows: Rows { axes: &axes, count, gather },
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
    job.run::<F>(&kept, kept.count(), input, out);
}

/// Groups rows that follow each other without a gap, so that narrow ones fill a tile: how many make a
/// group, and the rows left over.
fn grouped(axes: &mut Axes<1>, width: usize) -> (usize, Option<Tail>) {
    let ([dim], [[stride]]) = (axes.dims.as_mut_slice(), axes.strides.as_mut_slice()) else {
        return (1, None);
    };
    if *stride != width as isize || width >= TILE / 4 || *dim < 8 {
        return (1, None);
    }
    let group = prev_power_of_two((TILE / 2 / width).min(*dim / 4));
    let (groups, count) = (*dim / group, *dim % group);
    *dim = groups;
    *stride *= group as isize;
    (group, Some(Tail { start: (groups * group * width) as isize, count }))
}

fn prev_power_of_two(n: usize) -> usize {
    1 << n.ilog2()
}

/// Rows left over when the reduced axis is cut into groups: where they start and how many they are.
struct Tail {
    start: isize,
    count: usize,
}

struct Job<'a> {
    rows: Rows<'a>,
    tail: Option<Tail>,
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

impl Job<'_> {
    fn run<F: Fold>(&self, kept: &Axes<2>, outer: usize, input: View, out: ViewMut) {
        let units = self.pieces * self.tiles;
        let elements = outer * self.wide * self.rows.count;
        if self.pieces == 1 {
            // Every tile of every outer position is a result of its own.
            let total = outer * self.tiles;
            let blocks = (elements / PIECE).clamp(1, total);
            return parallel_for(blocks, &|b| {
                let mut row = vec![F::IDENTITY; self.tile];
                for unit in b * total / blocks..(b + 1) * total / blocks {
                    let (position, t) = (unit / self.tiles, unit % self.tiles);
                    kept.for_range(position, position + 1, &mut |[to, from]| {
                        // SAFETY: the views are valid at every position; the row holds a tile.
                        unsafe {
                            self.fold_tile::<F>(input.at(from), t, 0, row.as_mut_ptr());
                            self.finish::<F>(&mut row, t, input.at(from), out.at(to));
                        }
                    });
                }
            });
        }
        let mut partial = vec![F::IDENTITY; self.pieces * self.wide];
        for position in 0..outer {
            kept.for_range(position, position + 1, &mut |[to, from]| {
                let slots = Partials(partial.as_mut_ptr());
                parallel_for(units, &|unit| {
                    let (piece, t) = (unit / self.tiles, unit % self.tiles);
                    let acc = slots.slot(piece * self.wide + t * self.tile);
                    // SAFETY: the view is valid at every position; each unit has its own slots.
                    unsafe { self.fold_tile::<F>(input.at(from), t, piece, acc) };
                });
                // SAFETY: as above.
                unsafe {
                    self.merge_pieces::<F>(&mut partial);
                    for t in 0..self.tiles {
                        let row = &mut partial[t * self.tile..self.wide];
                        self.finish::<F>(row, t, input.at(from), out.at(to));
                    }
                }
            });
        }
    }

    /// Folds the rows of one piece, for one tile, into `acc`.
    ///
    /// # Safety
    /// `p` is readable at every position of the rows; `acc` has the slots of the tile.
    unsafe fn fold_tile<F: Fold>(&self, p: *const F::In, t: usize, piece: usize, acc: *mut F::Acc) {
        let left = t * self.tile;
        let n = self.tile.min(self.wide - left);
        let start = piece * self.piece_rows;
        let end = self.rows.count.min(start + self.piece_rows);
        let mut stack: Vec<Vec<F::Acc>> = Vec::new();
        let mut blocks = 0usize;
        let mut first = start;
        while first < end {
            let last = end.min(first + ROWS);
            // SAFETY: the caller's contract; the lower levels of the stack are `n` long.
            unsafe {
                let slots = std::slice::from_raw_parts_mut(acc, n);
                slots.fill(F::IDENTITY);
                self.fold_rows::<F>(p, left, n, first, last, acc);
                let mut level = 0;
                while blocks >> level & 1 == 1 {
                    fold::merge_rows::<F>(acc, stack[level].as_ptr(), n);
                    level += 1;
                }
                if last == end {
                    // The last block takes what is left on the stack, smallest first.
                    for (higher, part) in stack.iter().enumerate().skip(level) {
                        if blocks >> higher & 1 == 1 {
                            fold::merge_rows::<F>(acc, part.as_ptr(), n);
                        }
                    }
                } else if level == stack.len() {
                    stack.push(slots.to_vec());
                } else {
                    stack[level].copy_from_slice(slots);
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
    unsafe fn fold_rows<F: Fold>(
        &self,
        p: *const F::In,
        left: usize,
        n: usize,
        first: usize,
        last: usize,
        acc: *mut F::Acc,
    ) {
        let axes = self.rows.axes;
        if let Some(step) = self.rows.gather {
            let mut row = Vec::with_capacity(n);
            axes.for_range(first, last, &mut |[at]| {
                row.clear();
                // SAFETY: the caller's contract.
                row.extend((left..left + n).map(|j| unsafe { *p.offset(at + j as isize * step) }));
                // SAFETY: as above; the row has `n` elements.
                unsafe { fold::add_rows::<F>(acc, row.as_ptr(), n, 0, 1) };
            });
            return;
        }
        let p = p.wrapping_add(left);
        if let ([_], [[stride]]) = (axes.dims.as_slice(), axes.strides.as_slice()) {
            let at = p.wrapping_offset(first as isize * stride);
            // SAFETY: the caller's contract.
            return unsafe { fold::add_rows::<F>(acc, at, n, *stride, last - first) };
        }
        axes.for_range(first, last, &mut |[at]| {
            // SAFETY: the caller's contract.
            unsafe { fold::add_rows::<F>(acc, p.offset(at), n, 0, 1) };
        });
    }

    /// Merges the pieces into the first.
    fn merge_pieces<F: Fold>(&self, partial: &mut [F::Acc]) {
        let mut gap = 1;
        while gap < self.pieces {
            for piece in (0..self.pieces - gap).step_by(2 * gap) {
                let (low, high) = partial.split_at_mut((piece + gap) * self.wide);
                let low = &mut low[piece * self.wide..];
                // SAFETY: both are `wide` long and disjoint.
                unsafe { fold::merge_rows::<F>(low.as_mut_ptr(), high.as_ptr(), self.wide) };
            }
            gap *= 2;
        }
    }

    /// Merges the rows of a group and the rows left over, and writes the results of tile `t`.
    ///
    /// # Safety
    /// `p` and `out` are valid at every position of the kept axis and the rows left over.
    unsafe fn finish<F: Fold>(
        &self,
        row: &mut [F::Acc],
        t: usize,
        p: *const F::In,
        out: *mut F::Acc,
    ) {
        let left = t * self.tile;
        let n = if self.group > 1 { self.width } else { self.tile.min(self.wide - left) };
        let mut group = self.group;
        while group > 1 {
            group /= 2;
            let (low, high) = row.split_at_mut(group * n);
            // SAFETY: both halves hold `group * n` accumulators and are disjoint.
            unsafe { fold::merge_rows::<F>(low.as_mut_ptr(), high.as_ptr(), group * n) };
        }
        // SAFETY: the caller's contract.
        unsafe {
            if let Some(tail) = &self.tail {
                let rest = p.offset(tail.start);
                fold::add_rows::<F>(row.as_mut_ptr(), rest, n, n as isize, tail.count);
            }
            for (j, &value) in row[..n].iter().enumerate() {
                *out.offset((left + j) as isize * self.to_step) = value;
            }
        }
    }
}
