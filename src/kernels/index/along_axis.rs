//! Gather, scatter and scatter-add along an axis without a list of offsets: indices are checked as they are
//! read.
//!
//! Invariant: elements are written and added in the C order of the index.

use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use super::gather_rows::BLOCK_ELEMENTS;
use super::offsets::{Indexed, checked_position, range_error};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::launch::launch;
use crate::kernels::multiversion::multiversion;
use crate::kernels::view::{Axes, View, ViewMut, one_dtype, with_word};
use crate::threads::parallel_for;

/// A line of the iteration over index, indexed array and rows: their start offsets, their steps, and the
/// range of elements.
type Line = ([isize; 3], [isize; 3], (usize, usize));

/// `out[i, j, …] = src[index[i, j, …], j, …]` for axis 0, and so on. The index (int64) has as many axes as
/// `src`, is no longer than it on the other axes, and has the dims of the output.
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
    launch!("take", [src, index] => [out];; take_elements(op, src, axis, index, &out))
}

fn take_elements(
    op: &'static str,
    src: View,
    axis: usize,
    index: View,
    out: &ViewMut,
) -> Result<()> {
    let (size, rows) = (one_dtype([src.dtype, out.dtype]).size(), (out.dims, out.strides));
    for_each_line(
        op,
        (src.dims, src.strides),
        axis,
        index,
        rows,
        true,
        &|indexed, line| with_word!(size, W => gather_line::<W>((src, index, out), indexed, line)),
    )
}

/// What happens to the indexed elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteMode {
    /// They are replaced; of equal indices the last wins.
    Put,
    /// Values are added to them. A boolean sum is an or.
    Add,
}

/// `dst[index[i, j, …], j, …]` is replaced by, or increased by, `rows[i, j, …]` for axis 0, and so on, for
/// dtypes that `supports_write_checked`. The index is as for `take_checked`, and the rows have its dims.
///
/// # Errors
/// `IndexRange` for the first index outside the axis; then some elements may have been written.
pub fn write_checked(
    op: &'static str,
    mode: WriteMode,
    dst: ViewMut,
    axis: usize,
    index: View,
    rows: View,
) -> Result<()> {
    launch!("put", [index, rows] => [dst];; write_elements(op, mode, &dst, axis, index, rows))
}

fn write_elements(
    op: &'static str,
    mode: WriteMode,
    dst: &ViewMut,
    axis: usize,
    index: View,
    rows: View,
) -> Result<()> {
    let (dtype, row_layout) = (one_dtype([rows.dtype, dst.dtype]), (rows.dims, rows.strides));
    let operands = (dst, index, rows);
    for_each_line(op, (dst.dims, dst.strides), axis, index, row_layout, false, &|indexed, line| {
        match (mode, dtype) {
            (WriteMode::Add, DType::F64) => {
                scatter_line::<f64>(operands, indexed, line, |a, b| a + b)
            }
            (WriteMode::Add, DType::F32) => {
                scatter_line::<f32>(operands, indexed, line, |a, b| a + b)
            }
            (WriteMode::Add, _) => scatter_line::<i64>(operands, indexed, line, i64::wrapping_add),
            (WriteMode::Put, _) if dtype.size() == 8 => {
                scatter_line::<u64>(operands, indexed, line, |_, new| new)
            }
            (WriteMode::Put, _) => scatter_line::<u32>(operands, indexed, line, |_, new| new),
        }
    })
}

/// Whether `write_checked` supports elements of this dtype.
pub fn supports_write_checked(mode: WriteMode, dtype: DType) -> bool {
    match mode {
        WriteMode::Put => matches!(dtype.size(), 4 | 8),
        WriteMode::Add => matches!(dtype, DType::F64 | DType::F32 | DType::I64),
    }
}

/// Calls `body` for the lines of an index, the indexed array and the rows; `body` returns whether every index
/// is in range.
fn for_each_line(
    op: &'static str,
    (dims, strides): (&[usize], &[isize]),
    axis: usize,
    index: View,
    (row_dims, row_strides): (&[usize], &[isize]),
    split: bool,
    body: &(dyn Fn(Indexed, Line) -> bool + Sync),
) -> Result<()> {
    assert!(index.dtype == DType::I64 && index.dims == row_dims, "along an axis: the index");
    let fits = (0..dims.len()).all(|a| a == axis || index.dims[a] <= dims[a]);
    assert!(fits && index.dims.len() == dims.len(), "along an axis: an index within the array");
    if index.numel() == 0 {
        return Ok(());
    }
    let indexed = Indexed { axis, size: dims[axis], stride: strides[axis] };
    if indexed.size == 0 {
        return Err(range_error(op, &index, indexed));
    }
    let mut others: SmallVec<[isize; 6]> = SmallVec::from_slice(strides);
    others[axis] = 0;
    let mut lines = Axes::new(index.dims, [index.strides, &others, row_strides]).collapse(false);
    let (inner, steps) = lines.pop();
    let (count, outside) = (lines.count(), AtomicBool::new(false));
    let blocks = if split { (inner * count / BLOCK_ELEMENTS).max(1) } else { 1 };
    // Several lines are distributed over threads, else the elements of the single one.
    let total = if count == 1 { inner } else { count };
    parallel_for(blocks.min(total), &|b| {
        let (start, end) = (b * total / blocks.min(total), (b + 1) * total / blocks.min(total));
        let (lines_here, range) =
            if count == 1 { ((0, 1), (start, end)) } else { ((start, end), (0, inner)) };
        lines.for_range(lines_here.0, lines_here.1, &mut |at| {
            if !body(indexed, (at, steps, range)) {
                outside.store(true, Ordering::Relaxed);
            }
        });
    });
    if outside.into_inner() { Err(range_error(op, &index, indexed)) } else { Ok(()) }
}

/// Gathers a range of a line; returns whether every index is in range.
fn gather_line<W: Copy>(
    (src, index, out): (View, View, &ViewMut),
    indexed: Indexed,
    ([index_at, src_at, out_at], [step, by, to], (start, end)): Line,
) -> bool {
    let mut outside = false;
    let (indices, table) = (index.at::<i64>(index_at), src.at::<W>(src_at));
    let (rows, size, stride) = (out.at::<W>(out_at), indexed.size, indexed.stride);
    let (start, end) = (start as isize, end as isize);
    // SAFETY: the views are valid for every position of their axes, and an index out of range counts as 0.
    unsafe {
        if (step, by, to, stride) == (1, 0, 1, 1) && matches!(size_of::<W>(), 4 | 8) {
            let n = (end - start) as usize;
            return gather_table::<W>((table, size), indices.offset(start), rows.offset(start), n);
        }
        for j in start..end {
            let at = checked_position(*indices.offset(j * step), size, &mut outside) * stride;
            *rows.offset(j * to) = *table.offset(j * by + at);
        }
    }
    !outside
}

multiversion! {
    /// Gathers from a table of `table.1` elements, at least one; returns whether all indices are in range.
    /// One out of range counts as 0.
    unsafe fn gather_table<W: Copy>(
        table: (*const W, usize), indices: *const i64, out: *mut W, n: usize,
    ) -> bool = gather_table_body
}

/// # Safety
/// The table, the indices and the result have as many elements as stated, and the result is other memory.
#[inline(always)]
unsafe fn gather_table_body<W: Copy>(
    (table, size): (*const W, usize),
    indices: *const i64,
    out: *mut W,
    n: usize,
) -> bool {
    // SAFETY: the caller's contract.
    let (table, indices, out) = unsafe {
        (
            std::slice::from_raw_parts(table, size),
            std::slice::from_raw_parts(indices, n),
            std::slice::from_raw_parts_mut(out, n),
        )
    };
    gather_slices(table, indices, out)
}

/// With slices the compiler knows that there is no aliasing: only then does it emit vector gathers.
#[inline(always)]
fn gather_slices<W: Copy>(table: &[W], indices: &[i64], out: &mut [W]) -> bool {
    let size = table.len() as i64;
    let mut outside = 0;
    for (out, &index) in out.iter_mut().zip(indices) {
        let at = if index < 0 { index.wrapping_add(size) } else { index };
        let inside = (at as u64) < size as u64;
        outside |= i64::from(!inside);
        // SAFETY: the index is in range, or counts as 0, and the table has an element.
        *out = unsafe { *table.get_unchecked(if inside { at as usize } else { 0 }) };
    }
    outside == 0
}

/// Writes a range of a line, combining old and new elements by `with`; returns whether every index is in
/// range.
#[inline(always)]
fn scatter_line<T: Copy>(
    (dst, index, rows): (&ViewMut, View, View),
    indexed: Indexed,
    ([index_at, dst_at, rows_at], [step, by, from], (start, end)): Line,
    with: impl Fn(T, T) -> T,
) -> bool {
    let (indices, table) = (index.at::<i64>(index_at), dst.at::<T>(dst_at));
    let (rows, size) = (rows.at::<T>(rows_at), indexed.size);
    // SAFETY: the views are valid for every position of their axes.
    unsafe {
        let n = end - start;
        let (indices, rows) =
            (indices.offset(start as isize * step), rows.offset(start as isize * from));
        let table = table.offset(start as isize * by);
        match (step, by, from, indexed.stride) {
            (1, 0, 1, 1) => write_line((indices, 1), (table, 0, 1), (rows, 1), (n, size), with),
            _ => {
                let stride = indexed.stride;
                write_line((indices, step), (table, by, stride), (rows, from), (n, size), with)
            }
        }
    }
}

/// # Safety
/// `n` indices and rows are readable, and for each of them the table has `size` elements, `stride` apart.
#[inline(always)]
unsafe fn write_line<T: Copy>(
    (indices, step): (*const i64, isize),
    (table, by, stride): (*mut T, isize, isize),
    (rows, from): (*const T, isize),
    (n, size): (usize, usize),
    with: impl Fn(T, T) -> T,
) -> bool {
    let mut outside = false;
    for j in 0..n as isize {
        // SAFETY: the caller's contract; an index out of range counts as 0.
        unsafe {
            let at = checked_position(*indices.offset(j * step), size, &mut outside) * stride;
            let slot = table.offset(j * by + at);
            *slot = with(*slot, *rows.offset(j * from));
        }
    }
    !outside
}
