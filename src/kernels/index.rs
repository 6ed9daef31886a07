//! Indexed access: gather, scatter and scatter-add by precomputed offsets.
//!
//! Owns: the translation of integer indices and masks into element offsets, with their range checks,
//! and the loops that move rows to and from those offsets. Never parses an index expression.
//! Invariant: `Offsets` lie inside the axes they were made for; rows are added in the order of the
//! offsets, so a scatter-add is the same at any number of threads.

use super::cast::Truth;
use super::view::{Axes, View, ViewMut};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::threads::parallel_for;

/// Elements per block of a split.
const BLOCK: usize = 1 << 16;

/// Positions, in elements, relative to the first element of the array they were made for.
#[derive(Clone, Debug)]
pub struct Offsets(Vec<isize>);

impl Offsets {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One indexed axis: its number (for messages), size and stride.
#[derive(Clone, Copy, Debug)]
pub struct Indexed {
    /// The number of the axis.
    pub axis: usize,
    /// Its size.
    pub size: usize,
    /// Its stride in elements.
    pub stride: isize,
}

/// The offset of every combination `indices[0][p], indices[1][p], …` in C order of `p`. The views are
/// int64 and have equal dims (broadcast before); negative indices count from the end.
pub fn offsets(op: &'static str, indices: &[View], axes: &[Indexed]) -> Result<Offsets> {
    assert_eq!(indices.len(), axes.len(), "one index per axis");
    let numel = indices.first().map_or(1, View::numel);
    let mut out = vec![0isize; numel];
    for (index, &axis) in indices.iter().zip(axes) {
        assert_eq!(index.dims, indices[0].dims, "indices of equal dims");
        let (mut at, mut bad) = (0, None);
        Axes::new(index.dims, [index.strides])
            .collapse(false)
            .for_each(|[from]| {
                // SAFETY: the view is valid for every position of its axes.
                let i = unsafe { *index.at::<i64>(from) };
                match position(i, axis.size) {
                    Some(p) => out[at] += p as isize * axis.stride,
                    None => bad = bad.or(Some(i)),
                }
                at += 1;
            });
        if let Some(index) = bad {
            return Err(out_of_range(op, index, axis));
        }
    }
    Ok(Offsets(out))
}

/// The offsets of `take_along_axis`: those of `index` itself, with the value of `index` in the place
/// of its coordinate along `axis`. `dims` and `strides` are the array's; `index` (int64) has dims that
/// do not exceed them on the other axes.
pub fn offsets_along(
    op: &'static str,
    index: View,
    axis: usize,
    dims: &[usize],
    strides: &[isize],
) -> Result<Offsets> {
    assert_eq!(
        index.dims.len(),
        dims.len(),
        "an index of the array's dimensions"
    );
    let fits = (0..dims.len()).all(|a| a == axis || index.dims[a] <= dims[a]);
    assert!(fits, "an index within the array");
    let indexed = Indexed {
        axis,
        size: dims[axis],
        stride: strides[axis],
    };
    let others: Vec<isize> = strides
        .iter()
        .enumerate()
        .map(|(a, &s)| if a == axis { 0 } else { s })
        .collect();
    let mut out = Vec::with_capacity(index.numel());
    let mut bad = None;
    Axes::new(index.dims, [index.strides, &others])
        .collapse(false)
        .for_each(|[from, at]| {
            // SAFETY: the view is valid for every position of its axes.
            let i = unsafe { *index.at::<i64>(from) };
            match position(i, indexed.size) {
                Some(p) => out.push(at + p as isize * indexed.stride),
                None => bad = bad.or(Some(i)),
            }
        });
    match bad {
        Some(index) => Err(out_of_range(op, index, indexed)),
        None => Ok(Offsets(out)),
    }
}

/// The offsets of the true elements of a mask, in C order, in an array of the mask's dims with these
/// strides.
pub fn offsets_where(mask: View, strides: &[isize]) -> Offsets {
    let mut out = Vec::new();
    Axes::new(mask.dims, [mask.strides, strides])
        .collapse(false)
        .for_each(|[from, at]| {
            // SAFETY: the view is valid for every position of its axes.
            if unsafe { *mask.at::<Truth>(from) }.0 != 0 {
                out.push(at);
            }
        });
    Offsets(out)
}

#[inline(always)]
fn position(index: i64, size: usize) -> Option<usize> {
    let at = if index < 0 {
        index.wrapping_add(size as i64)
    } else {
        index
    };
    (0..size as i64).contains(&at).then_some(at as usize)
}

#[cold]
fn out_of_range(op: &'static str, index: i64, axis: Indexed) -> Box<Error> {
    Box::new(Error::IndexRange {
        op: op.into(),
        index,
        axis: axis.axis,
        size: axis.size,
    })
}

/// `out[i, …] = src[offsets[i] + …]`: `src` has the axes that are not indexed, `out` one more in front.
pub fn take(dtype: DType, src: View, offsets: &Offsets, out: ViewMut) {
    assert!(
        out.dims[0] == offsets.len() && out.dims[1..] == *src.dims,
        "take: dims"
    );
    let axes = Axes::new(src.dims, [&out.strides[1..], src.strides]);
    let (by, from, to) = (out.strides[0], src.ptr, out.ptr);
    match dtype.size() {
        8 => moved::<u64>(
            offsets,
            axes,
            Table {
                table: from.cast_mut(),
                rows: to,
                by,
            },
            false,
        ),
        4 => moved::<u32>(
            offsets,
            axes,
            Table {
                table: from.cast_mut(),
                rows: to,
                by,
            },
            false,
        ),
        _ => moved::<u8>(
            offsets,
            axes,
            Table {
                table: from.cast_mut(),
                rows: to,
                by,
            },
            false,
        ),
    }
}

/// `dst[offsets[i] + …] = src[i, …]`, in the order of `i`: the last of equal offsets stays.
pub fn put(dtype: DType, dst: ViewMut, offsets: &Offsets, src: View) {
    assert!(
        src.dims[0] == offsets.len() && src.dims[1..] == *dst.dims,
        "put: dims"
    );
    let axes = Axes::new(dst.dims, [&src.strides[1..], dst.strides]);
    let (by, from, to) = (src.strides[0], src.ptr, dst.ptr);
    match dtype.size() {
        8 => moved::<u64>(
            offsets,
            axes,
            Table {
                table: to,
                rows: from.cast_mut(),
                by,
            },
            true,
        ),
        4 => moved::<u32>(
            offsets,
            axes,
            Table {
                table: to,
                rows: from.cast_mut(),
                by,
            },
            true,
        ),
        _ => moved::<u8>(
            offsets,
            axes,
            Table {
                table: to,
                rows: from.cast_mut(),
                by,
            },
            true,
        ),
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
    let blocks = if into_table || work < 2 * BLOCK {
        1
    } else {
        (work / BLOCK).min(n)
    };
    let sides = &sides;
    parallel_for(blocks, &|b| {
        for i in b * n / blocks..(b + 1) * n / blocks {
            axes.for_each(|[in_row, in_table]| {
                let row = sides.row::<W>(i as isize * sides.by + in_row);
                let table = sides.entry::<W>(offsets.0[i] + in_table);
                // SAFETY: the views are valid for every position, the offsets were checked, and the
                // two sides do not overlap.
                unsafe {
                    if into_table {
                        move_line((row, row_step), (table, table_step), inner);
                    } else {
                        move_line((table, table_step), (row, row_step), inner);
                    }
                }
            });
        }
    });
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
pub fn add_at(dtype: DType, dst: ViewMut, offsets: &Offsets, src: View) {
    assert!(
        src.dims[0] == offsets.len() && src.dims[1..] == *dst.dims,
        "add_at: dims"
    );
    match dtype {
        DType::F64 => added::<f64>(dst, offsets, src, |a, b| a + b),
        DType::F32 => added::<f32>(dst, offsets, src, |a, b| a + b),
        DType::I64 => added::<i64>(dst, offsets, src, i64::wrapping_add),
        DType::I32 => added::<i32>(dst, offsets, src, i32::wrapping_add),
        DType::U8 => added::<u8>(dst, offsets, src, u8::wrapping_add),
        DType::Bool => added::<u8>(dst, offsets, src, |a, b| ((a | b) != 0) as u8),
    }
}

fn added<T: Copy>(
    dst: ViewMut,
    offsets: &Offsets,
    src: View,
    add: impl Fn(T, T) -> T + Copy + Sync,
) {
    let mut axes = Axes::new(dst.dims, [dst.strides, &src.strides[1..]]).collapse(true);
    let (inner, [to_step, from_step]) = axes.pop();
    let outer = axes.count();
    let by = src.strides[0];
    // Every block adds all rows to its own columns: disjoint, and in the order of the rows.
    let work = offsets.len() * inner * outer;
    let blocks = if work >= 2 * BLOCK {
        (work / BLOCK).min(inner / 64).max(1)
    } else {
        1
    };
    parallel_for(blocks, &|b| {
        let (start, end) = (b * inner / blocks, (b + 1) * inner / blocks);
        for (i, &offset) in offsets.0.iter().enumerate() {
            axes.for_each(|[to, from]| {
                let to = dst.at::<T>(offset + to + start as isize * to_step);
                let from = src.at::<T>(i as isize * by + from + start as isize * from_step);
                // SAFETY: the views are valid for every position, the offsets were checked, and the
                // two sides do not overlap.
                unsafe { add_line((to, to_step), (from, from_step), end - start, add) };
            });
        }
    });
}

/// # Safety
/// Both sides hold `n` elements, each at its step.
#[inline(always)]
unsafe fn add_line<T: Copy>(
    (to, to_step): (*mut T, isize),
    (from, from_step): (*const T, isize),
    n: usize,
    add: impl Fn(T, T) -> T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if to_step == 1 && from_step == 1 {
            for j in 0..n {
                *to.add(j) = add(*to.add(j), *from.add(j));
            }
        } else {
            for j in 0..n as isize {
                let slot = to.offset(j * to_step);
                *slot = add(*slot, *from.offset(j * from_step));
            }
        }
    }
}
