//! Moving rows to and from offsets: gather, scatter and scatter-add.
//!
//! Owns: the loops and their splitting. Never checks an offset, which is inside by construction; `take_checked` has none.
//! Invariant: rows are added in the order of the offsets, so a scatter-add is the same at any number of
//! threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::number::ring::Ring;
use super::super::view::{Axes, View, ViewMut, one_dtype, with_word};
use super::offsets::{Indexed, Offsets, out_of_range};
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

/// `out[i] = src[index[i]]` of a vector, without a list of offsets: an index is checked where it is read. The index (int64)
/// and the output are contiguous vectors.
///
/// # Errors
/// `IndexRange` for the first index outside the vector, which is called axis `axis`.
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
    assert!(index.dtype == DType::I64 && index.dims == out.dims && out.dims.len() == 1);
    assert!(src.dims.len() == 1 && index.is_contiguous() && out.is_contiguous());
    let (n, first) = (index.dims[0], AtomicUsize::new(usize::MAX));
    let blocks = (n / BLOCK).max(1);
    let size = one_dtype([src.dtype, out.dtype]).size();
    parallel_for(blocks, &|b| {
        let range = (b * n / blocks, (b + 1) * n / blocks);
        let bad = with_word!(size, W => gathered::<W>(src, index, out, range));
        first.fetch_min(bad, Ordering::Relaxed);
    });
    let indexed = Indexed { axis, size: src.dims[0], stride: src.strides[0] };
    match first.into_inner() {
        usize::MAX => Ok(()),
        // SAFETY: the position is inside the vector.
        at => Err(out_of_range(op, unsafe { *index.at::<i64>(at as isize) }, indexed)),
    }
}

/// Gathers a range and gives the first position whose index is outside, `usize::MAX` if there is none.
fn gathered<W: Copy>(src: View, index: View, out: &ViewMut, (start, end): (usize, usize)) -> usize {
    let (size, step) = (src.dims[0], src.strides[0]);
    if size == 0 {
        return if start < end { start } else { usize::MAX };
    }
    let (table, to) = (src.ptr.cast::<W>(), out.ptr.cast::<W>());
    let mut bad = usize::MAX;
    for i in start..end {
        // SAFETY: the range is inside both vectors, and an index that is outside counts as 0.
        unsafe {
            let index = *index.at::<i64>(i as isize);
            let at = if index < 0 { index.wrapping_add(size as i64) } else { index };
            let inside = (at as u64) < size as u64;
            if !inside {
                bad = bad.min(i);
            }
            *to.add(i) = *table.offset(if inside { at as isize } else { 0 } * step);
        }
    }
    bad
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
