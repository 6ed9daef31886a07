//! Reductions whose finest axis is reduced: each result folds contiguous or strided runs.
//!
//! Invariant: one result is a tree of pieces, a piece a tree of runs, a run a tree of leaves; all three sizes
//! depend on the dims only.

use std::mem::MaybeUninit;

use super::super::view::{Axes, View, ViewMut};
use super::fold::{self, Fold, LEAF_ELEMENTS, PairwiseTree};
use super::launch_reduce::ReducePlan;
use super::loop_table::{ReduceLoops, copy_strided};
use crate::array::repeated;
use crate::error::Result;
use crate::threads::parallel_for;

/// Elements of one piece, about; two pieces occupy a second thread.
pub(super) const PIECE_ELEMENTS: usize = 1 << 16;

/// The input of one result: `rows` runs of `n` elements.
pub(super) struct ResultShape<'a> {
    rows: &'a Axes<1>,
    count: usize,
    n: usize,
    step: isize,
    /// Runs per piece, and elements of a run per piece; one of the two is all of them.
    piece_rows: usize,
    piece_n: usize,
}

pub(super) fn reduce(
    loops: &ReduceLoops,
    plan: &mut ReducePlan,
    input: View,
    out: ViewMut,
) -> Result<()> {
    let ReducePlan { kept, reduced: rows } = plan;
    let (n, [step]) = rows.pop();
    let count = rows.count();
    let (piece_rows, piece_n) = match count {
        1 => (1, PIECE_ELEMENTS),
        _ => ((PIECE_ELEMENTS / n).max(1).next_power_of_two(), n),
    };
    let pieces = count.div_ceil(piece_rows) * if count == 1 { n.div_ceil(piece_n) } else { 1 };
    let shape = ResultShape { rows, count, n, step, piece_rows, piece_n };
    let results = kept.count();
    if pieces == 1 {
        reduce_results(loops, kept, &shape, results, input, out);
        return Ok(());
    }
    let size = out.dtype.size();
    let mut partial = repeated(0u64, (results * pieces * size).div_ceil(8))?;
    let partial = Partials(partial.as_mut_ptr().cast::<u8>());
    parallel_for(results * pieces, &|i| {
        kept.for_range(i / pieces, i / pieces + 1, &mut |[_, from]| {
            // SAFETY: the view is valid for every position; slot `i` belongs to this block.
            unsafe {
                (loops.piece)(&shape, input.byte_at(from), i % pieces, partial.slot(i * size))
            };
        });
    });
    let mut first = 0;
    kept.for_each(|[to, _]| {
        // SAFETY: the view is valid for every position of the kept axes; every piece was folded.
        unsafe { (loops.tree)(partial.slot(first * size), pieces, out.byte_at(to)) };
        first += pieces;
    });
    Ok(())
}

/// Reduces results of one piece each, in blocks of results.
fn reduce_results(
    loops: &ReduceLoops,
    kept: &mut Axes<2>,
    shape: &ResultShape,
    results: usize,
    input: View,
    out: ViewMut,
) {
    let per_block = (PIECE_ELEMENTS / (shape.n * shape.count)).max(1);
    let row_wise = shape.count == 1 && (shape.step == 1 || shape.n == 1) && !kept.dims.is_empty();
    if !row_wise {
        return parallel_for(blocks(results, per_block), &|block| {
            let (start, end) = span(block, results, per_block);
            kept.for_range(start, end, &mut |[to, from]| {
                // SAFETY: the views are valid for every position of the axes.
                unsafe { (loops.piece)(shape, input.byte_at(from), 0, out.byte_at(to)) };
            });
        });
    }
    // Plain rows: one call folds all evenly spaced rows.
    let (line, [to_step, from_step]) = kept.pop();
    let lines = results / line;
    parallel_for(blocks(results, per_block), &|block| {
        let (start, end) = span(block, results, per_block);
        let mut at_line = start / line;
        kept.for_range(at_line, end.div_ceil(line).min(lines), &mut |[to, from]| {
            let first = start.max(at_line * line) - at_line * line;
            let last = end.min((at_line + 1) * line) - at_line * line;
            let src = input.byte_at(from + first as isize * from_step);
            let dst = out.byte_at(to + first as isize * to_step);
            // SAFETY: the views are valid for every position of the axes.
            unsafe { (loops.rows)(src, shape.n, from_step, dst, to_step, last - first) };
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

/// Folds piece `i` of the result whose input starts at `p`.
///
/// # Safety
/// `p` is readable at every position of the reduced axes.
pub(super) unsafe fn fold_piece<F: Fold>(shape: &ResultShape, p: *const F::In, i: usize) -> F::Acc {
    if shape.count == 1 {
        let start = i * shape.piece_n;
        let n = shape.piece_n.min(shape.n - start);
        // SAFETY: the caller's contract.
        return unsafe {
            fold_strided_run::<F>(p.offset(start as isize * shape.step), shape.step, n)
        };
    }
    let (start, end) = (i * shape.piece_rows, shape.count.min((i + 1) * shape.piece_rows));
    let mut tree = PairwiseTree::new();
    shape.rows.for_range(start, end, &mut |[at]| {
        // SAFETY: the caller's contract.
        tree.push(unsafe { fold_strided_run::<F>(p.offset(at), shape.step, shape.n) }, F::merge);
    });
    tree.finish(F::merge).unwrap_or(F::EMPTY)
}

/// Folds a run of evenly spaced elements.
///
/// # Safety
/// `n` elements, `step` apart, are readable.
#[inline]
unsafe fn fold_strided_run<F: Fold>(p: *const F::In, step: isize, n: usize) -> F::Acc {
    // SAFETY: the caller's contract.
    unsafe { if step == 1 { fold::fold_run::<F>(p, n) } else { fold_gathered::<F>(p, step, n) } }
}

/// Folds a strided run by leaves that are gathered into a buffer.
///
/// # Safety
/// As `fold_strided_run`.
#[inline(never)]
unsafe fn fold_gathered<F: Fold>(p: *const F::In, step: isize, n: usize) -> F::Acc {
    let mut buffer = [MaybeUninit::<F::In>::uninit(); LEAF_ELEMENTS];
    let mut tree = PairwiseTree::new();
    for start in (0..n).step_by(LEAF_ELEMENTS) {
        let (len, from) = (LEAF_ELEMENTS.min(n - start), p.wrapping_offset(start as isize * step));
        let to = buffer.as_mut_ptr().cast::<u8>();
        // SAFETY: the caller's contract; the buffer has space for a leaf.
        unsafe {
            copy_strided(size_of::<F::In>(), (from.cast(), step), (to, 1), len);
            tree.push(fold::fold_run::<F>(to.cast(), len), F::merge);
        }
    }
    tree.finish(F::merge).unwrap_or(F::EMPTY)
}
