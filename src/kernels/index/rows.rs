//! Moving rows to and from offsets: gather, scatter and scatter-add.
//!
//! Owns: the loops and their splitting. Never checks an offset, which is inside by construction; `take_checked` has none.
//! Invariant: rows are added in the order of the offsets, so a scatter-add is the same at any number of
//! threads.

use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use super::super::number::ring::Ring;
use super::super::view::{Axes, View, ViewMut, one_dtype, with_word};
use super::offsets::{Indexed, Offsets, placed, refused};
use super::recorded::{self, Move};
use crate::array::capture;
use crate::dtype::{DType, with_dtype};
use crate::error::Result;
use crate::kernels::launch::launch;
use crate::threads::parallel_for;

/// Elements per block of a split.
const BLOCK: usize = 1 << 16;

/// `out[i, …] = src[offsets[i] + …]`: `src` has the axes that are not indexed, `out` one more in front.
pub fn take(src: View, offsets: &Offsets, out: ViewMut) {
    let body: Move = |reads, out, offsets| taken(reads[0], offsets, out);
    let _paused = capture::active().then(|| recorded::moved("take", &[src], &out, offsets, body));
    taken(src, offsets, out);
}

fn taken(src: View, offsets: &Offsets, out: ViewMut) {
    assert!(out.dims[0] == offsets.len() && out.dims[1..] == *src.dims, "take: dims");
    let axes = Axes::new(src.dims, [&out.strides[1..], src.strides]);
    let (by, from, to) = (out.strides[0], src.ptr, out.ptr);
    let table = Table { table: from.cast_mut(), rows: to, by };
    with_word!(one_dtype([src.dtype, out.dtype]).size(), W => moved::<W>(offsets, axes, table, false));
}

/// `out[i, j, …] = src[index[i, j, …], j, …]` for axis 0, and so on, without a list of offsets: an index is checked where it
/// is read. The index (int64) has as many axes as `src`, no longer than it but along `axis`, and the dims of the output.
///
/// # Errors
/// `IndexRange` for the first index outside the axis.
pub fn take_checked(
    op: &'static str,
    src: View,
    axis: usize,
    index: View,
    out: ViewMut,
) -> Result<()> {
    launch!("take", [src, index] => [out];; checked(op, src, axis, index, &out))
}

fn checked(op: &'static str, src: View, axis: usize, index: View, out: &ViewMut) -> Result<()> {
    assert!(index.dtype == DType::I64 && index.dims == out.dims, "take: the index");
    let fits = (0..src.dims.len()).all(|a| a == axis || index.dims[a] <= src.dims[a]);
    assert!(fits && index.dims.len() == src.dims.len(), "take: an index within the array");
    if index.numel() == 0 {
        return Ok(());
    }
    let indexed = Indexed { axis, size: src.dims[axis], stride: src.strides[axis] };
    if indexed.size == 0 {
        return Err(refused(op, &index, indexed));
    }
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_slice(src.strides);
    strides[axis] = 0;
    let mut lines = Axes::new(index.dims, [index.strides, &strides, out.strides]).collapse(false);
    let line = lines.pop();
    let (count, outside) = (lines.count(), AtomicBool::new(false));
    let blocks = (line.0 * count / BLOCK).max(1);
    let size = one_dtype([src.dtype, out.dtype]).size();
    // Lines are shared out where there are several, else the elements of the only one.
    let total = if count == 1 { line.0 } else { count };
    parallel_for(blocks.min(total), &|b| {
        let (start, end) = (b * total / blocks.min(total), (b + 1) * total / blocks.min(total));
        let (lines_here, part) =
            if count == 1 { ((0, 1), (start, end)) } else { ((start, end), (0, line.0)) };
        lines.for_range(lines_here.0, lines_here.1, &mut |at| {
            let found = with_word!(size, W => gathered::<W>((src, index, out), indexed, (at, line.1), part));
            if !found {
                outside.store(true, Ordering::Relaxed);
            }
        });
    });
    if outside.into_inner() { Err(refused(op, &index, indexed)) } else { Ok(()) }
}

/// Gathers a part of a line, whose start and steps are those of the index, the source and the output; whether every index
/// is inside.
fn gathered<W: Copy>(
    (src, index, out): (View, View, &ViewMut),
    indexed: Indexed,
    ([index_at, src_at, out_at], [step, by, to]): ([isize; 3], [isize; 3]),
    (start, end): (usize, usize),
) -> bool {
    let mut outside = false;
    let (numbers, table) = (index.at::<i64>(index_at), src.at::<W>(src_at));
    let (rows, size, stride) = (out.at::<W>(out_at), indexed.size, indexed.stride);
    let (start, end) = (start as isize, end as isize);
    // SAFETY: the views are valid for every position of their axes, and an index that is outside counts as 0.
    unsafe {
        if (step, by, to, stride) == (1, 0, 1, 1) {
            for j in start..end {
                *rows.offset(j) = *table.offset(placed(*numbers.offset(j), size, &mut outside));
            }
        } else {
            for j in start..end {
                let at = placed(*numbers.offset(j * step), size, &mut outside) * stride;
                *rows.offset(j * to) = *table.offset(j * by + at);
            }
        }
    }
    !outside
}

/// `dst[offsets[i] + …] = src[i, …]`, in the order of `i`: the last of equal offsets stays.
pub fn put(dst: ViewMut, offsets: &Offsets, src: View) {
    let body: Move = |reads, dst, offsets| laid(dst, offsets, reads[0]);
    let _paused = capture::active().then(|| recorded::moved("put", &[src], &dst, offsets, body));
    laid(dst, offsets, src);
}

fn laid(dst: ViewMut, offsets: &Offsets, src: View) {
    assert!(src.dims[0] == offsets.len() && src.dims[1..] == *dst.dims, "put: dims");
    let axes = Axes::new(dst.dims, [&src.strides[1..], dst.strides]);
    let (by, from, to) = (src.strides[0], src.ptr, dst.ptr);
    let table = Table { table: to, rows: from.cast_mut(), by };
    with_word!(one_dtype([src.dtype, dst.dtype]).size(), W => moved::<W>(offsets, axes, table, true));
}

/// For each position, whether no later one equals it.
pub fn mark_last(offsets: &Offsets, out: ViewMut) {
    let body: Move = |_, out, offsets| marked(offsets, out);
    let _paused = capture::active().then(|| recorded::moved("mark_last", &[], &out, offsets, body));
    marked(offsets, out);
}

fn marked(offsets: &Offsets, out: ViewMut) {
    assert!(out.dtype == DType::Bool && out.dims == [offsets.len()], "mark_last: dims");
    let last = offsets.last_of_each();
    for i in 0..offsets.len() {
        let holds = last.as_ref().is_none_or(|last| last[i]);
        // SAFETY: the view is valid for every position of its axis.
        unsafe { *out.at::<bool>(i as isize * out.strides[0]) = holds };
    }
}

/// The two sides of a move: the indexed array and the rows, which lie `by` apart.
#[derive(Clone, Copy)]
struct Table {
    table: *mut u8,
    rows: *mut u8,
    by: isize,
}
// SAFETY: made from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl Sync for Table {}

impl Table {
    #[inline(always)]
    fn row<W>(&self, at: isize) -> *mut W {
        self.rows.cast::<W>().wrapping_offset(at)
    }

    #[inline(always)]
    fn entry<W>(&self, at: isize) -> *mut W {
        self.table.cast::<W>().wrapping_offset(at)
    }
}

/// Moves rows between the table and its offsets; `axes` has the strides of a row, then of the table.
fn moved<W: Copy>(offsets: &Offsets, axes: Axes<2>, sides: Table, into_table: bool) {
    let mut axes = axes.collapse(true);
    let (inner, [row_step, table_step]) = axes.pop();
    let work = offsets.len() * inner * axes.count();
    if work == 0 {
        return;
    }
    // Rows that are written into the table may coincide, so only reading is split.
    let n = offsets.len();
    let blocks = if into_table || work < 2 * BLOCK { 1 } else { (work / BLOCK).min(n) };
    let sides = &sides;
    let single = axes.dims.is_empty();
    parallel_for(blocks, &|b| {
        let (start, end) = (b * n / blocks, (b + 1) * n / blocks);
        if work == n {
            // Rows of one element.
            for (i, &offset) in offsets.list[start..end].iter().enumerate() {
                let row = sides.row::<W>((start + i) as isize * sides.by);
                let entry = sides.entry::<W>(offset);
                let (from, to) = if into_table { (row, entry) } else { (entry, row) };
                // SAFETY: as below.
                unsafe { *to = *from };
            }
            return;
        }
        if single && row_step == 1 && table_step == 1 && (2..=4).contains(&inner) {
            // Short rows, as points in the plane and in space have: a copy of known length.
            let rows = (start as isize * sides.by, &offsets.list[start..end]);
            match inner {
                2 => packed::<W, 2>(sides, rows, into_table),
                3 => packed::<W, 3>(sides, rows, into_table),
                _ => packed::<W, 4>(sides, rows, into_table),
            }
            return;
        }
        for i in start..end {
            let (in_rows, in_table) = (i as isize * sides.by, offsets.list[i]);
            let line = |[row, table]: [isize; 2]| {
                let row = (sides.row::<W>(in_rows + row), row_step);
                let table = (sides.entry::<W>(in_table + table), table_step);
                let (from, to) = if into_table { (row, table) } else { (table, row) };
                // SAFETY: the views are valid for every position, the offsets were checked, and the
                // two sides do not overlap.
                unsafe { move_line(from, to, inner) };
            };
            if single { line([0, 0]) } else { axes.for_each(line) }
        }
    });
}

/// Moves rows of `N` neighbours, the first of which lies at `first`.
fn packed<W: Copy, const N: usize>(
    sides: &Table,
    (first, list): (isize, &[isize]),
    into_table: bool,
) {
    for (i, &offset) in list.iter().enumerate() {
        let row = sides.row::<W>(first + i as isize * sides.by).cast::<[W; N]>();
        let entry = sides.entry::<W>(offset).cast::<[W; N]>();
        let (from, to) = if into_table { (row, entry) } else { (entry, row) };
        // SAFETY: the views are valid for every position, the offsets were checked, and the two sides do not overlap.
        unsafe { *to = *from };
    }
}

/// # Safety
/// Both sides hold `n` elements, each at its step, and do not overlap.
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
    let body: Move = |reads, dst, offsets| summed(dst, offsets, reads[0]);
    let _paused = capture::active().then(|| recorded::moved("add_at", &[src], &dst, offsets, body));
    summed(dst, offsets, src);
}

fn summed(dst: ViewMut, offsets: &Offsets, src: View) {
    assert!(src.dims[0] == offsets.len() && src.dims[1..] == *dst.dims, "add_at: dims");
    // Every dtype: the rows lie apart in memory of which the views know no end, so it cannot be converted.
    with_dtype!(stored one_dtype([dst.dtype, src.dtype]), T => added::<T>(dst, offsets, src));
}

fn added<T: Ring>(dst: ViewMut, offsets: &Offsets, src: View) {
    let mut axes = Axes::new(dst.dims, [dst.strides, &src.strides[1..]]).collapse(true);
    let (inner, [to_step, from_step]) = axes.pop();
    let (outer, single) = (axes.count(), axes.dims.is_empty());
    let by = src.strides[0];
    // Every block adds all rows to its own columns: disjoint, and in the order of the rows.
    let work = offsets.len() * inner * outer;
    let blocks = if work >= 2 * BLOCK { (work / BLOCK).min(inner / 64).max(1) } else { 1 };
    if work == offsets.len() {
        // Rows of one element.
        for (i, &offset) in offsets.list.iter().enumerate() {
            // SAFETY: as below.
            unsafe {
                let slot = dst.at::<T>(offset);
                *slot = (*slot).plus(*src.at::<T>(i as isize * by));
            }
        }
        return;
    }
    parallel_for(blocks, &|b| {
        let (start, end) = (b * inner / blocks, (b + 1) * inner / blocks);
        for (i, &offset) in offsets.list.iter().enumerate() {
            let line = |[to, from]: [isize; 2]| {
                let to = dst.at::<T>(offset + to + start as isize * to_step);
                let from = src.at::<T>(i as isize * by + from + start as isize * from_step);
                // SAFETY: the views are valid for every position, the offsets were checked, and the
                // two sides do not overlap.
                unsafe { add_line((to, to_step), (from, from_step), end - start) };
            };
            if single { line([0, 0]) } else { axes.for_each(line) }
        }
    });
}

/// # Safety
/// Both sides hold `n` elements, each at its step.
#[inline(always)]
unsafe fn add_line<T: Ring>(
    (to, to_step): (*mut T, isize),
    (from, from_step): (*const T, isize),
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if to_step == 1 && from_step == 1 {
            for j in 0..n {
                *to.add(j) = (*to.add(j)).plus(*from.add(j));
            }
        } else {
            for j in 0..n as isize {
                let slot = to.offset(j * to_step);
                *slot = (*slot).plus(*from.offset(j * from_step));
            }
        }
    }
}
