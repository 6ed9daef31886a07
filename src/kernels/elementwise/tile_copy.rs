//! Gather and scatter between strided operands and contiguous tiles, by element size.
//!
//! Invariant: a range of the flat C index space is processed as blocks of evenly spaced rows, so the inner
//! loops are plain.

use crate::kernels::copy::{INLINE_RUN_BYTES, copy_runs};
use crate::kernels::multiversion::{Levels, multiversion};
use crate::kernels::view::with_word;

/// Rows of fewer elements are copied column by column.
const SHORT_ROW: usize = 8;

/// Splits a range = (first flat index, count) into blocks of evenly spaced rows and calls `block` with
/// (offset of the first element, elements done so far, rows, row length).
#[inline(always)]
fn for_each_block(
    dims: &[usize],
    strides: &[isize],
    (start, count): (usize, usize),
    mut block: impl FnMut(isize, usize, usize, usize),
) {
    let Some(last) = dims.len().checked_sub(1) else {
        return block(0, 0, 1, count);
    };
    let (width, max_rows) = (dims[last], if last == 0 { 1 } else { dims[last - 1] });
    let (mut row, mut column) = (start / width, start % width);
    let mut done = 0;
    while done < count {
        let mut offset = column as isize * strides[last];
        let mut rest = row;
        for axis in (0..last).rev() {
            offset += (rest % dims[axis]) as isize * strides[axis];
            rest /= dims[axis];
        }
        let left = count - done;
        let whole_rows = column == 0 && left >= width;
        let rows = if whole_rows { (left / width).min(max_rows - row % max_rows) } else { 1 };
        let len = (width - column).min(left);
        block(offset, done, rows, len);
        done += rows * len;
        row += rows;
        column = 0;
    }
}

/// The strides of the last dimension and the one before it.
fn inner_strides(strides: &[isize]) -> (isize, isize) {
    match *strides {
        [] => (1, 0),
        [step] => (step, 0),
        [.., by, step] => (step, by),
    }
}

/// # Safety
/// `src` addresses the elements of the range; `dst` has space for `count` and is disjoint.
unsafe fn gather_as<T: Copy>(
    src: *const T,
    dims: &[usize],
    strides: &[isize],
    range: (usize, usize),
    dst: *mut T,
) {
    let (step, by) = inner_strides(strides);
    for_each_block(dims, strides, range, |offset, done, rows, len| {
        // SAFETY: the offsets are inside the operand, and done + rows * len <= count.
        unsafe {
            let (from, to) = (src.offset(offset), dst.add(done));
            if rows > 1 && by == 0 {
                gather_rows(from, 0, step, to, 1, len);
                repeat(to, len, rows * len);
            } else if is_short_runs::<T>(rows, len, step) {
                let (size, bytes) = (size_of::<T>() as isize, len * size_of::<T>());
                copy_runs((from.cast(), to.cast()), bytes, rows, [bytes as isize, by * size]);
            } else {
                gather_rows(from, by, step, to, rows, len);
            }
        }
    });
}

/// Whether the rows are short runs of bytes.
fn is_short_runs<T>(rows: usize, len: usize, step: isize) -> bool {
    rows > 1 && step == 1 && INLINE_RUN_BYTES.contains(&(len * size_of::<T>()))
}

/// Repeats the first `done` elements up to `total`.
///
/// # Safety
/// There is space for `total` elements, and the first `done` are written.
unsafe fn repeat<T: Copy>(to: *mut T, mut done: usize, total: usize) {
    while done < total {
        let more = done.min(total - done);
        // SAFETY: the caller's contract; the source was written.
        unsafe { std::ptr::copy_nonoverlapping(to, to.add(done), more) };
        done += more;
    }
}

/// # Safety
/// `rows` rows, `by` apart, of `len` elements, `step` apart, are readable; `to` has space for them and is
/// disjoint.
#[inline(always)]
unsafe fn gather_rows_body<T: Copy>(
    from: *const T,
    by: isize,
    step: isize,
    to: *mut T,
    rows: usize,
    len: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if len < SHORT_ROW && rows > len {
            for j in 0..len {
                let (from, to) = (from.offset(j as isize * step), to.add(j));
                for i in 0..rows {
                    *to.add(i * len) = *from.offset(i as isize * by);
                }
            }
            return;
        }
        for i in 0..rows {
            let (from, to) = (from.offset(i as isize * by), to.add(i * len));
            match step {
                1 => std::ptr::copy_nonoverlapping(from, to, len),
                0 => {
                    let value = *from;
                    for j in 0..len {
                        *to.add(j) = value;
                    }
                }
                // Constant steps are loaded as vectors and shuffled.
                2 => {
                    for j in 0..len {
                        *to.add(j) = *from.add(2 * j);
                    }
                }
                -1 => {
                    for j in 0..len {
                        *to.add(j) = *from.sub(j);
                    }
                }
                _ => {
                    for j in 0..len {
                        *to.add(j) = *from.offset(j as isize * step);
                    }
                }
            }
        }
    }
}

/// One-byte and 16-byte elements are rare.
const fn levels(size: usize) -> Levels {
    if matches!(size, 4 | 8) { Levels::All } else { Levels::Baseline }
}

multiversion! {
    /// Gathers rows.
    unsafe fn gather_rows<T: Copy>(
        from: *const T, by: isize, step: isize, to: *mut T, rows: usize, len: usize,
    ) = gather_rows_body, levels(size_of::<T>())
}

/// # Safety
/// As `gather_as`, with source and destination exchanged.
unsafe fn scatter_as<T: Copy>(
    src: *const T,
    dims: &[usize],
    strides: &[isize],
    range: (usize, usize),
    dst: *mut T,
) {
    let (step, by) = inner_strides(strides);
    for_each_block(dims, strides, range, |offset, done, rows, len| {
        // SAFETY: the offsets are inside the output, and done + rows * len <= count.
        unsafe {
            let (from, to) = (src.add(done), dst.offset(offset));
            if is_short_runs::<T>(rows, len, step) {
                let (size, bytes) = (size_of::<T>() as isize, len * size_of::<T>());
                return copy_runs(
                    (from.cast(), to.cast()),
                    bytes,
                    rows,
                    [by * size, bytes as isize],
                );
            }
            if len < SHORT_ROW && rows > len {
                for j in 0..len {
                    let (from, to) = (from.add(j), to.offset(j as isize * step));
                    (0..rows).for_each(|i| *to.offset(i as isize * by) = *from.add(i * len));
                }
                return;
            }
            for i in 0..rows {
                let (from, to) = (from.add(i * len), to.offset(i as isize * by));
                if step == 1 {
                    std::ptr::copy_nonoverlapping(from, to, len);
                } else {
                    (0..len).for_each(|i| *to.offset(i as isize * step) = *from.add(i));
                }
            }
        }
    });
}

/// Copies `range` = (first flat index, count) of a strided operand into a tile.
///
/// # Safety
/// `src` addresses every element of the shape; `dst` has space for the count and is disjoint.
pub(super) unsafe fn gather(
    src: *const u8,
    itemsize: usize,
    dims: &[usize],
    strides: &[isize],
    range: (usize, usize),
    dst: *mut u8,
) {
    // SAFETY: the same contract; the element size selects the type.
    unsafe {
        with_word!(itemsize, W => gather_as::<W>(src.cast(), dims, strides, range, dst.cast()));
    }
}

/// Copies a tile into `range` = (first flat index, count) of a strided output.
///
/// # Safety
/// `dst` addresses every element of the shape; `src` holds the count and is disjoint.
pub(super) unsafe fn scatter(
    src: *const u8,
    itemsize: usize,
    dims: &[usize],
    strides: &[isize],
    range: (usize, usize),
    dst: *mut u8,
) {
    // SAFETY: the same contract; the element size selects the type.
    unsafe {
        with_word!(itemsize, W => scatter_as::<W>(src.cast(), dims, strides, range, dst.cast()));
    }
}
