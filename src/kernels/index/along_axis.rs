//! Elements at the places of an index along an axis, without a list of offsets.
//!
//! Owns: gather, scatter and scatter-add where nobody asks for the places later. An index is checked where it is read.
//! Never reads or writes outside of the axis. Invariant: elements are written and added in the C order of the index.

use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use super::offsets::{Indexed, placed, refused};
use super::rows::BLOCK;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::launch::launch;
use crate::kernels::multiversion::leveled;
use crate::kernels::view::{Axes, View, ViewMut, one_dtype, with_word};
use crate::threads::parallel_for;

/// A line of the walk over an index, the array with the axis, and the elements beside the index: where each begins, its
/// step, and the first and the last element.
type Line = ([isize; 3], [isize; 3], (usize, usize));

/// `out[i, j, …] = src[index[i, j, …], j, …]` for axis 0, and so on. The index (int64) has as many axes as `src`, no longer
/// than it but along `axis`, and the dims of the output.
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
    launch!("take", [src, index] => [out];; chosen(op, src, axis, index, &out))
}

fn chosen(op: &'static str, src: View, axis: usize, index: View, out: &ViewMut) -> Result<()> {
    let (size, rows) = (one_dtype([src.dtype, out.dtype]).size(), (out.dims, out.strides));
    walked(
        op,
        (src.dims, src.strides),
        axis,
        index,
        rows,
        true,
        &|indexed, line| with_word!(size, W => gathered::<W>((src, index, out), indexed, line)),
    )
}

/// What happens to the elements at an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// They are replaced; the last of equal places stays.
    Put,
    /// Something is added to them. A boolean sum is an or.
    Add,
}

/// `dst[index[i, j, …], j, …]` becomes or grows by `rows[i, j, …]` for axis 0, and so on. For dtypes that `writes_checked` names. The
/// index is as that of `take_checked`, and the rows have its dims.
///
/// # Errors
/// `IndexRange` for the first index outside the axis; then some elements may have been written.
pub fn write_checked(
    op: &'static str,
    way: Way,
    dst: ViewMut,
    axis: usize,
    index: View,
    rows: View,
) -> Result<()> {
    launch!("put", [index, rows] => [dst];; written(op, way, &dst, axis, index, rows))
}

fn written(
    op: &'static str,
    way: Way,
    dst: &ViewMut,
    axis: usize,
    index: View,
    rows: View,
) -> Result<()> {
    let (dtype, beside) = (one_dtype([rows.dtype, dst.dtype]), (rows.dims, rows.strides));
    let all = (dst, index, rows);
    walked(op, (dst.dims, dst.strides), axis, index, beside, false, &|indexed, line| match (
        way, dtype,
    ) {
        (Way::Add, DType::F64) => scattered::<f64>(all, indexed, line, |a, b| a + b),
        (Way::Add, DType::F32) => scattered::<f32>(all, indexed, line, |a, b| a + b),
        (Way::Add, _) => scattered::<i64>(all, indexed, line, i64::wrapping_add),
        (Way::Put, _) if dtype.size() == 8 => scattered::<u64>(all, indexed, line, |_, new| new),
        (Way::Put, _) => scattered::<u32>(all, indexed, line, |_, new| new),
    })
}

/// Whether `write_checked` serves elements of this dtype.
pub fn writes_checked(way: Way, dtype: DType) -> bool {
    match way {
        Way::Put => matches!(dtype.size(), 4 | 8),
        Way::Add => matches!(dtype, DType::F64 | DType::F32 | DType::I64),
    }
}

/// Calls `body` for the lines of an index beside an array with the axis and the elements of the index; `body` says whether
/// every index is inside.
fn walked(
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
        return Err(refused(op, &index, indexed));
    }
    let mut others: SmallVec<[isize; 6]> = SmallVec::from_slice(strides);
    others[axis] = 0;
    let mut lines = Axes::new(index.dims, [index.strides, &others, row_strides]).collapse(false);
    let (inner, steps) = lines.pop();
    let (count, outside) = (lines.count(), AtomicBool::new(false));
    let blocks = if split { (inner * count / BLOCK).max(1) } else { 1 };
    // Lines are shared out where there are several, else the elements of the only one.
    let total = if count == 1 { inner } else { count };
    parallel_for(blocks.min(total), &|b| {
        let (start, end) = (b * total / blocks.min(total), (b + 1) * total / blocks.min(total));
        let (lines_here, part) =
            if count == 1 { ((0, 1), (start, end)) } else { ((start, end), (0, inner)) };
        lines.for_range(lines_here.0, lines_here.1, &mut |at| {
            if !body(indexed, (at, steps, part)) {
                outside.store(true, Ordering::Relaxed);
            }
        });
    });
    if outside.into_inner() { Err(refused(op, &index, indexed)) } else { Ok(()) }
}

/// Gathers a part of a line; whether every index is inside.
fn gathered<W: Copy>(
    (src, index, out): (View, View, &ViewMut),
    indexed: Indexed,
    ([index_at, src_at, out_at], [step, by, to], (start, end)): Line,
) -> bool {
    let mut outside = false;
    let (numbers, table) = (index.at::<i64>(index_at), src.at::<W>(src_at));
    let (rows, size, stride) = (out.at::<W>(out_at), indexed.size, indexed.stride);
    let (start, end) = (start as isize, end as isize);
    // SAFETY: the views are valid for every position of their axes, and an index that is outside counts as 0.
    unsafe {
        if (step, by, to, stride) == (1, 0, 1, 1) && matches!(size_of::<W>(), 4 | 8) {
            let n = (end - start) as usize;
            return picked::<W>((table, size), numbers.offset(start), rows.offset(start), n);
        }
        for j in start..end {
            let at = placed(*numbers.offset(j * step), size, &mut outside) * stride;
            *rows.offset(j * to) = *table.offset(j * by + at);
        }
    }
    !outside
}

leveled! {
    /// Elements of a table of `table.1`, at least one, by `n` numbers; whether all are inside, one that is not counting as 0.
    unsafe fn picked<W: Copy>(
        table: (*const W, usize), numbers: *const i64, out: *mut W, n: usize,
    ) -> bool = picked_body
}

/// # Safety
/// The table, the numbers and the result have as many elements as said, and the result is other memory.
#[inline(always)]
unsafe fn picked_body<W: Copy>(
    (table, size): (*const W, usize),
    numbers: *const i64,
    out: *mut W,
    n: usize,
) -> bool {
    // SAFETY: the caller's contract.
    let (table, numbers, out) = unsafe {
        (
            std::slice::from_raw_parts(table, size),
            std::slice::from_raw_parts(numbers, n),
            std::slice::from_raw_parts_mut(out, n),
        )
    };
    from_table(table, numbers, out)
}

/// Slices, of which the compiler knows that they are apart: only then does it gather vectors.
#[inline(always)]
fn from_table<W: Copy>(table: &[W], numbers: &[i64], out: &mut [W]) -> bool {
    let size = table.len() as i64;
    let mut outside = 0;
    for (out, &number) in out.iter_mut().zip(numbers) {
        let at = if number < 0 { number.wrapping_add(size) } else { number };
        let inside = (at as u64) < size as u64;
        outside |= i64::from(!inside);
        // SAFETY: the number is inside, or counts as 0, and the table has an element.
        *out = unsafe { *table.get_unchecked(if inside { at as usize } else { 0 }) };
    }
    outside == 0
}

/// Writes a part of a line, `with` saying what becomes of an element and a new one; whether every index is inside.
#[inline(always)]
fn scattered<T: Copy>(
    (dst, index, rows): (&ViewMut, View, View),
    indexed: Indexed,
    ([index_at, dst_at, rows_at], [step, by, from], (start, end)): Line,
    with: impl Fn(T, T) -> T,
) -> bool {
    let (numbers, table) = (index.at::<i64>(index_at), dst.at::<T>(dst_at));
    let (rows, size) = (rows.at::<T>(rows_at), indexed.size);
    // SAFETY: the views are valid for every position of their axes.
    unsafe {
        let n = end - start;
        let (numbers, rows) =
            (numbers.offset(start as isize * step), rows.offset(start as isize * from));
        let table = table.offset(start as isize * by);
        match (step, by, from, indexed.stride) {
            (1, 0, 1, 1) => write_line((numbers, 1), (table, 0, 1), (rows, 1), (n, size), with),
            _ => {
                let stride = indexed.stride;
                write_line((numbers, step), (table, by, stride), (rows, from), (n, size), with)
            }
        }
    }
}

/// # Safety
/// There are `n` numbers and rows, and the table has elements at each of `size` places beside each of them.
#[inline(always)]
unsafe fn write_line<T: Copy>(
    (numbers, step): (*const i64, isize),
    (table, by, stride): (*mut T, isize, isize),
    (rows, from): (*const T, isize),
    (n, size): (usize, usize),
    with: impl Fn(T, T) -> T,
) -> bool {
    let mut outside = false;
    for j in 0..n as isize {
        // SAFETY: the caller's contract; an index that is outside counts as 0.
        unsafe {
            let at = placed(*numbers.offset(j * step), size, &mut outside) * stride;
            let slot = table.offset(j * by + at);
            *slot = with(*slot, *rows.offset(j * from));
        }
    }
    !outside
}
