//! Gather, scatter and scatter-add of rows by offsets.
//!
//! Invariant: rows are added in the order of the offsets, so the result of a scatter-add is the same at any
//! number of threads.

use super::offsets::Offsets;
use super::traced_offsets;
use super::traced_offsets::MoveRows;
use crate::array::observer;
use crate::dtype::with_dtype;
use crate::kernels::number::ring::Ring;
use crate::kernels::view::{Axes, View, ViewMut, one_dtype, with_word};
use crate::threads::parallel_for;

/// Elements per block of a split.
pub(super) const BLOCK_ELEMENTS: usize = 1 << 16;

/// `out[i, …] = src[offsets[i] + …]`: `src` has the axes that are not indexed, `out` one more in front.
pub fn take(src: View, offsets: &Offsets, out: ViewMut) {
    let body: MoveRows = |reads, out, offsets| take_rows(reads[0], offsets, out);
    let _paused = observer::is_active()
        .then(|| traced_offsets::record_move("take", &[src], &out, offsets, body));
    take_rows(src, offsets, out);
}

pub(super) fn take_rows(src: View, offsets: &Offsets, out: ViewMut) {
    assert!(out.dims[0] == offsets.len() && out.dims[1..] == *src.dims, "take: dims");
    with_word!(one_dtype([src.dtype, out.dtype]).size(), W => move_rows::<W>(offsets, src, out.as_view(), false));
}

/// `dst[offsets[i] + …] = src[i, …]`, in the order of `i`: of equal offsets the last wins.
pub fn put(dst: ViewMut, offsets: &Offsets, src: View) {
    let body: MoveRows = |reads, dst, offsets| put_rows(dst, offsets, reads[0]);
    let _paused = observer::is_active()
        .then(|| traced_offsets::record_move("put", &[src], &dst, offsets, body));
    put_rows(dst, offsets, src);
}

fn put_rows(dst: ViewMut, offsets: &Offsets, src: View) {
    assert!(src.dims[0] == offsets.len() && src.dims[1..] == *dst.dims, "put: dims");
    with_word!(one_dtype([src.dtype, dst.dtype]).size(), W => move_rows::<W>(offsets, dst.as_view(), src, true));
}

/// Moves rows between the table and their offsets, into the table or out of it.
fn move_rows<W: Copy>(offsets: &Offsets, table: View, rows: View, into_table: bool) {
    let (entries, lines) = (table.ptr.cast_mut().cast::<W>(), rows.ptr.cast_mut().cast::<W>());
    let operands = &MoveOperands(entries, lines);
    // Rows written into the table may coincide, so only reading is split.
    for_each_range(offsets, (table.dims, table.strides), rows.strides, !into_table, &|range| {
        let RowRange { first, steps, len, by, range: (start, end) } = range;
        let list = &offsets.list[start..end];
        let at = |i: usize, offset: isize| {
            let row = (start + i) as isize * by + first[1];
            (operands.0.wrapping_offset(offset + first[0]), operands.1.wrapping_offset(row))
        };
        // SAFETY: the views are valid for every position, the offsets were checked, and table and rows do not
        // overlap.
        unsafe {
            if len == 1 {
                for (i, &offset) in list.iter().enumerate() {
                    let (entry, row) = at(i, offset);
                    let (from, to) = if into_table { (row, entry) } else { (entry, row) };
                    *to = *from;
                }
                return;
            }
            for (i, &offset) in list.iter().enumerate() {
                let (entry, row) = at(i, offset);
                let ends = if into_table { [row, entry] } else { [entry, row] };
                let [own, other] = if into_table { [steps[1], steps[0]] } else { steps };
                match (steps, len) {
                    // Short rows, such as points in the plane and in space: a copy of constant length.
                    ([1, 1], 2) => move_exact::<W, 2>(ends),
                    ([1, 1], 3) => move_exact::<W, 3>(ends),
                    ([1, 1], 4) => move_exact::<W, 4>(ends),
                    _ => move_line((ends[0], own), (ends[1], other), len),
                }
            }
        }
    });
}

/// The two operands of a move: the indexed array and the rows.
struct MoveOperands<W>(*mut W, *mut W);
// SAFETY: made from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl<W> Sync for MoveOperands<W> {}

/// Moves `N` contiguous elements.
///
/// # Safety
/// Source and destination hold them, and do not overlap.
#[inline(always)]
unsafe fn move_exact<W: Copy, const N: usize>([from, to]: [*mut W; 2]) {
    // SAFETY: the caller's contract.
    unsafe { *to.cast::<[W; N]>() = *from.cast::<[W; N]>() };
}

/// # Safety
/// Source and destination hold `n` elements, each at its step, and do not overlap.
#[inline(always)]
unsafe fn move_line<W: Copy>(
    (from, from_step): (*mut W, isize),
    (to, to_step): (*mut W, isize),
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if from_step == 1 && to_step == 1 && n >= 8 {
            std::ptr::copy_nonoverlapping(from, to, n);
        } else {
            for j in 0..n as isize {
                *to.offset(j * to_step) = *from.offset(j * from_step);
            }
        }
    }
}

/// `dst[offsets[i] + …] += src[i, …]`, in the order of `i`, in place. A boolean sum is an or.
pub fn add_at(dst: ViewMut, offsets: &Offsets, src: View) {
    let body: MoveRows = |reads, dst, offsets| add_rows(dst, offsets, reads[0]);
    let _paused = observer::is_active()
        .then(|| traced_offsets::record_move("add_at", &[src], &dst, offsets, body));
    add_rows(dst, offsets, src);
}

fn add_rows(dst: ViewMut, offsets: &Offsets, src: View) {
    assert!(src.dims[0] == offsets.len() && src.dims[1..] == *dst.dims, "add_at: dims");
    // Unlike elsewhere, dtypes without loops cannot be converted: the extent of the table's memory is unknown
    // to the views.
    with_dtype!(stored one_dtype([dst.dtype, src.dtype]), T => combine_rows::<T>(dst, offsets, src, T::plus));
}

/// A range of row elements: the offsets of the first element in table (at offset 0) and rows (in row 0), the
/// element steps in both, the length, the row stride, and the range of rows.
struct RowRange {
    first: [isize; 2],
    steps: [isize; 2],
    len: usize,
    by: isize,
    range: (usize, usize),
}

/// Calls `body` for disjoint ranges: of elements of all rows, each in the order of the offsets, or, with
/// `split_rows`, of rows.
fn for_each_range(
    offsets: &Offsets,
    (dims, strides): (&[usize], &[isize]),
    rows: &[isize],
    split_rows: bool,
    body: &(dyn Fn(RowRange) + Sync),
) {
    let mut axes = Axes::new(dims, [strides, &rows[1..]]);
    // A move iterates in the memory order of the rows, a fold in that of the table.
    let key = usize::from(split_rows);
    axes.merge(true, |strides| if key == 1 { [strides[1], strides[0]] } else { strides });
    let (inner, steps) = axes.pop();
    let (n, by) = (offsets.len(), rows[0]);
    let work = n * inner * axes.count();
    if work == 0 {
        return;
    }
    let max_blocks = if split_rows { n } else { inner / 64 };
    let blocks =
        if work >= 2 * BLOCK_ELEMENTS { (work / BLOCK_ELEMENTS).min(max_blocks).max(1) } else { 1 };
    parallel_for(blocks, &|b| {
        let of = |n: usize| (b * n / blocks, (b + 1) * n / blocks);
        let (range, (start, end)) =
            if split_rows { (of(n), (0, inner)) } else { ((0, n), of(inner)) };
        axes.for_each(|at| {
            let first = [0, 1].map(|k| at[k] + start as isize * steps[k]);
            body(RowRange { first, steps, len: end - start, by, range });
        });
    });
}

/// Combines each row, in the order of the offsets, with the elements at its offset.
#[inline(always)]
pub(super) fn combine_rows<T: Copy>(
    dst: ViewMut,
    offsets: &Offsets,
    src: View,
    with: impl Fn(T, T) -> T + Copy + Sync,
) {
    let (to, from) = (&dst, &src);
    for_each_range(offsets, (dst.dims, dst.strides), src.strides, false, &|range| {
        let RowRange { first, steps, len, by, .. } = range;
        for (i, &offset) in offsets.list.iter().enumerate() {
            let to = to.at::<T>(offset + first[0]);
            let from = from.at::<T>(i as isize * by + first[1]);
            // SAFETY: the views are valid for every position, the offsets were checked, and table and rows do
            // not overlap.
            unsafe {
                if len == 1 {
                    *to = with(*to, *from);
                } else {
                    combine_line(to, from, steps, len, with);
                }
            }
        }
    });
}

/// # Safety
/// Both operands hold `n` elements, each at its step.
#[inline(always)]
unsafe fn combine_line<T: Copy>(
    to: *mut T,
    from: *const T,
    [to_step, from_step]: [isize; 2],
    n: usize,
    with: impl Fn(T, T) -> T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if to_step == 1 && from_step == 1 {
            for j in 0..n {
                *to.add(j) = with(*to.add(j), *from.add(j));
            }
        } else {
            for j in 0..n as isize {
                let slot = to.offset(j * to_step);
                *slot = with(*slot, *from.offset(j * from_step));
            }
        }
    }
}
