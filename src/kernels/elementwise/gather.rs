//! Moving strided elements to and from contiguous tiles, by element size only.
//!
//! Owns: gathering and scattering a range of the flat (C) index space of an operand.
//! Never interprets an element: its bytes are all it knows.
//! Invariant: a range is walked as runs along the last dimension, so the inner loops are plain.

use crate::kernels::view::with_word;

/// Walks `count` elements from flat index `start` as runs along the last dimension, calling `run`
/// with (element offset, done so far, length).
#[inline(always)]
fn runs(
    dims: &[usize],
    strides: &[isize],
    start: usize,
    count: usize,
    mut run: impl FnMut(isize, usize, usize),
) {
    let Some(last) = dims.len().checked_sub(1) else {
        return run(0, 0, count);
    };
    let (mut row, column) = (start / dims[last], start % dims[last]);
    let (mut done, mut column) = (0, column);
    while done < count {
        let mut offset = column as isize * strides[last];
        let mut rest = row;
        for axis in (0..last).rev() {
            offset += (rest % dims[axis]) as isize * strides[axis];
            rest /= dims[axis];
        }
        let len = (dims[last] - column).min(count - done);
        run(offset, done, len);
        done += len;
        row += 1;
        column = 0;
    }
}

/// # Safety
/// `src` addresses the elements that the range names; `dst` has room for `count` and is disjoint.
unsafe fn gather_as<T: Copy>(
    src: *const T,
    dims: &[usize],
    strides: &[isize],
    (start, count): (usize, usize),
    dst: *mut T,
) {
    let step = strides.last().copied().unwrap_or(1);
    runs(dims, strides, start, count, |offset, done, len| {
        // SAFETY: the offsets lie inside the operand, and done + len <= count.
        unsafe {
            let (from, to) = (src.offset(offset), dst.add(done));
            match step {
                1 => std::ptr::copy_nonoverlapping(from, to, len),
                0 => std::slice::from_raw_parts_mut(to.cast(), len)
                    .fill(std::mem::MaybeUninit::new(*from)),
                // Known steps are loaded as vectors and shuffled.
                2 => (0..len).for_each(|i| *to.add(i) = *from.add(2 * i)),
                -1 => (0..len).for_each(|i| *to.add(i) = *from.sub(i)),
                _ => (0..len).for_each(|i| *to.add(i) = *from.offset(i as isize * step)),
            }
        }
    });
}

/// # Safety
/// As `gather_as`, the other way round.
unsafe fn scatter_as<T: Copy>(
    src: *const T,
    dims: &[usize],
    strides: &[isize],
    (start, count): (usize, usize),
    dst: *mut T,
) {
    let step = strides.last().copied().unwrap_or(1);
    runs(dims, strides, start, count, |offset, done, len| {
        // SAFETY: the offsets lie inside the output, and done + len <= count.
        unsafe {
            let (from, to) = (src.add(done), dst.offset(offset));
            (0..len).for_each(|i| *to.offset(i as isize * step) = *from.add(i));
        }
    });
}

/// Copies `range` = (first flat index, count) of a strided operand into a tile.
///
/// # Safety
/// `src` addresses every element of the shape; `dst` has room for the count and is disjoint.
pub(super) unsafe fn gather(
    src: *const u8,
    itemsize: usize,
    dims: &[usize],
    strides: &[isize],
    range: (usize, usize),
    dst: *mut u8,
) {
    // SAFETY: the same contract; the element size decides the type, not its meaning.
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
    // SAFETY: the same contract; the element size decides the type, not its meaning.
    unsafe {
        with_word!(itemsize, W => scatter_as::<W>(src.cast(), dims, strides, range, dst.cast()));
    }
}
