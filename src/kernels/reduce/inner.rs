//! Reductions whose finest axis is reduced: each result folds runs of neighbours.
//!
//! Owns: the walk over kept positions, the gathering of strided runs, and splitting into pieces.
//! Invariant: one result is a tree of pieces, a piece a tree of runs, a run a tree of leaves; all three
//! sizes follow from the dims.

use std::mem::MaybeUninit;

use super::super::view::{Axes, View, ViewMut};
use super::fold::{self, Fold, LEAF, Tree};
use super::run::Plan;
use crate::threads::parallel_for;

/// Elements of one piece, about; two pieces are worth a second thread.
pub(super) const PIECE: usize = 1 << 16;

/// One result's share of the input: `rows` runs of `n` elements.
struct Shape<'a> {
    rows: &'a Axes<1>,
    count: usize,
    n: usize,
    step: isize,
    /// Runs per piece and elements of a run per piece; one of the two is all of them.
    piece_rows: usize,
    piece_n: usize,
    pieces: usize,
}

pub(super) fn reduce<F: Fold>(plan: &Plan, input: View, out: ViewMut) {
    let mut rows = plan.reduced.clone();
    let (n, [step]) = rows.pop();
    let count = rows.count();
    let (piece_rows, piece_n) = match count {
        1 => (1, PIECE),
        _ => ((PIECE / n).max(1).next_power_of_two(), n),
    };
    let pieces = count.div_ceil(piece_rows) * if count == 1 { n.div_ceil(piece_n) } else { 1 };
    let shape = Shape { rows: &rows, count, n, step, piece_rows, piece_n, pieces };
    let results = plan.kept.count();
    if pieces == 1 {
        return many::<F>(plan, &shape, results, input, out);
    }
    let partial: Vec<F::Acc> = partials::<F>(plan, &shape, results, input);
    let mut at_piece = 0;
    plan.kept.for_each(|[to, _]| {
        let mut tree = Tree::new();
        for &part in &partial[at_piece..at_piece + pieces] {
            tree.push(part, F::merge);
        }
        at_piece += pieces;
        // SAFETY: the view is valid for every position of the kept axes.
        unsafe { *out.at::<F::Acc>(to) = tree.finish(F::merge).unwrap_or(F::EMPTY) };
    });
}

/// Results of one piece each, in blocks of results.
fn many<F: Fold>(plan: &Plan, shape: &Shape, results: usize, input: View, out: ViewMut) {
    let per_block = (PIECE / (shape.n * shape.count)).max(1);
    let mut kept = plan.kept.clone();
    let row_wise = shape.count == 1 && (shape.step == 1 || shape.n == 1) && !kept.dims.is_empty();
    if !row_wise {
        return parallel_for(blocks(results, per_block), &|block| {
            let (start, end) = span(block, results, per_block);
            kept.for_range(start, end, &mut |[to, from]| {
                // SAFETY: the views are valid for every position of the axes.
                unsafe { *out.at::<F::Acc>(to) = shape.piece::<F>(input.at(from), 0) };
            });
        });
    }
    // Plain rows: one call folds all that lie evenly apart.
    let (line, [to_step, from_step]) = kept.pop();
    let lines = results / line;
    parallel_for(blocks(results, per_block), &|block| {
        let (start, end) = span(block, results, per_block);
        let mut at_line = start / line;
        kept.for_range(at_line, end.div_ceil(line).min(lines), &mut |[to, from]| {
            let first = start.max(at_line * line) - at_line * line;
            let last = end.min((at_line + 1) * line) - at_line * line;
            let src = input.at::<F::In>(from + first as isize * from_step);
            let dst = out.at::<F::Acc>(to + first as isize * to_step);
            // SAFETY: the views are valid for every position of the axes.
            unsafe { fold::rows::<F>(src, shape.n, from_step, dst, to_step, last - first) };
            at_line += 1;
        });
    });
}

fn blocks(results: usize, per_block: usize) -> usize {
    // A block of less than half a piece is not worth a thread, so two pieces make the first split.
    (results / per_block).max(1)
}

fn span(block: usize, results: usize, per_block: usize) -> (usize, usize) {
    let count = blocks(results, per_block);
    (block * results / count, (block + 1) * results / count)
}

/// Every piece of every result.
fn partials<F: Fold>(plan: &Plan, shape: &Shape, results: usize, input: View) -> Vec<F::Acc> {
    let total = results * shape.pieces;
    let mut partial: Vec<F::Acc> = vec![F::IDENTITY; total];
    let target = Partials(partial.as_mut_ptr());
    parallel_for(total, &|i| {
        let result = i / shape.pieces;
        plan.kept.for_range(result, result + 1, &mut |[_, from]| {
            // SAFETY: the view is valid for every position; `i` is this block's own slot.
            unsafe { *target.slot(i) = shape.piece::<F>(input.at(from), i % shape.pieces) };
        });
    });
    partial
}

/// Slots that the blocks of a split write, one each.
pub(super) struct Partials<A>(pub(super) *mut A);
// SAFETY: each slot is written by one block and read after all have finished.
unsafe impl<A: Send> Sync for Partials<A> {}

impl<A> Partials<A> {
    #[inline(always)]
    pub(super) fn slot(&self, i: usize) -> *mut A {
        self.0.wrapping_add(i)
    }
}

impl Shape<'_> {
    /// Folds piece `i` of the result whose input starts at `p`.
    ///
    /// # Safety
    /// `p` is readable at every position of the reduced axes.
    #[inline]
    unsafe fn piece<F: Fold>(&self, p: *const F::In, i: usize) -> F::Acc {
        if self.count == 1 {
            let start = i * self.piece_n;
            let n = self.piece_n.min(self.n - start);
            // SAFETY: the caller's contract.
            return unsafe { strided::<F>(p.offset(start as isize * self.step), self.step, n) };
        }
        let (start, end) = (i * self.piece_rows, self.count.min((i + 1) * self.piece_rows));
        let mut tree = Tree::new();
        self.rows.for_range(start, end, &mut |[at]| {
            // SAFETY: the caller's contract.
            tree.push(unsafe { strided::<F>(p.offset(at), self.step, self.n) }, F::merge);
        });
        tree.finish(F::merge).unwrap_or(F::EMPTY)
    }
}

/// Folds a run of evenly spaced elements, by leaves gathered into a buffer.
///
/// # Safety
/// `n` elements, `step` apart, are readable.
#[inline]
unsafe fn strided<F: Fold>(p: *const F::In, step: isize, n: usize) -> F::Acc {
    if step == 1 {
        // SAFETY: the caller's contract.
        return unsafe { fold::run::<F>(p, n) };
    }
    let mut buffer = [MaybeUninit::<F::In>::uninit(); LEAF];
    let mut tree = Tree::new();
    for start in (0..n).step_by(LEAF) {
        let len = LEAF.min(n - start);
        for (i, slot) in buffer[..len].iter_mut().enumerate() {
            // SAFETY: the caller's contract.
            slot.write(unsafe { *p.offset((start + i) as isize * step) });
        }
        // SAFETY: the first `len` elements were just written.
        tree.push(unsafe { fold::run::<F>(buffer.as_ptr().cast(), len) }, F::merge);
    }
    tree.finish(F::merge).unwrap_or(F::EMPTY)
}
