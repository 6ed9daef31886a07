//! Strided copies of one dtype: memcpy for runs, tiles for transposes, blocks for threads.
//!
//! Source and destination must not overlap. Invariant: every element of the destination is written exactly
//! once.

use std::ptr;

use super::transpose::transpose_block;
use crate::array::{Storage, observer, try_with_capacity};
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::kernels::launch::{LaunchKind, c_strides, known_to_programs, launch};
use crate::kernels::multiversion::multiversion;
use crate::kernels::view::{Axes, View, ViewMut, one_dtype, with_word};
use crate::threads::parallel_ranges;

/// Copies of at least this many bytes are split over threads, in blocks of half the size.
const SPLIT_BYTES: usize = 2 << 20;
/// Edge of the square tile of a transposing copy.
const TILE_EDGE: usize = 32;
/// An innermost axis of at most this size is not copied as a line.
const SHORT_LINE: usize = 4;

/// Below this size, copying up to two axes is faster than sorting and merging them.
const SMALL_BYTES: usize = 1 << 10;

/// Runs of this many bytes are copied inline, without calling memcpy.
pub(in crate::kernels) const INLINE_RUN_BYTES: std::ops::RangeInclusive<usize> = MOVE_BYTES..=512;
/// Bytes moved at once.
const MOVE_BYTES: usize = 16;

/// Copies `src` to `dst`, which has the same dims and does not overlap it.
pub fn copy(src: View, dst: ViewMut) {
    if known_to_programs(dst.dtype) {
        launch!("copy", [src] => [dst] as LaunchKind::Copy; copy_elements(src, dst));
    } else {
        launch!("copy", [src] => [dst];; copy_elements(src, dst));
    }
}

/// Copies the element at `offset` (in elements) to the start of another storage; false in a trace, which
/// must record it.
///
/// # Panics
/// When either element is outside its storage: a bug of the caller.
#[inline]
pub fn copy_element(from: &Storage, offset: isize, to: &Storage, dtype: DType) -> bool {
    if observer::is_active() {
        return false;
    }
    let (size, at) = (dtype.size(), offset as usize);
    let inside = at < from.nbytes() / size && size <= to.nbytes();
    assert!(inside, "an element outside its storage");
    // SAFETY: both elements are inside; the caller's storage holds aligned elements of the dtype.
    with_word!(size, W => unsafe { *to.ptr().cast::<W>() = *from.ptr().cast::<W>().add(at) });
    true
}

impl View<'_> {
    /// The elements in C order.
    ///
    /// # Panics
    /// When `T` is not the type of the elements: a bug of the caller.
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        self.copied_to(Vec::with_capacity(self.numel()))
    }

    /// As `to_vec`, for many elements.
    ///
    /// # Errors
    /// `Memory` when the system refuses the vector.
    pub fn try_to_vec<T: Element>(&self) -> Result<Vec<T>> {
        Ok(self.copied_to(try_with_capacity(self.numel())?))
    }

    fn copied_to<T: Element>(&self, mut out: Vec<T>) -> Vec<T> {
        assert!(T::DTYPE == self.dtype, "{} read as {}", self.dtype, T::DTYPE);
        // SAFETY: the vector has capacity for the elements, of this type, and all of them are written.
        unsafe {
            self.copy_to(out.as_mut_ptr().cast());
            out.set_len(self.numel());
        }
        out
    }

    /// The first element in C order that satisfies the predicate, and its index.
    ///
    /// # Panics
    /// As `to_vec`.
    pub fn find<T: Element>(&self, mut is: impl FnMut(T) -> bool) -> Option<(usize, T)> {
        assert!(T::DTYPE == self.dtype, "{} read as {}", self.dtype, T::DTYPE);
        let (mut found, mut number) = (None, 0);
        let mut rows = Axes::new(self.dims, [self.strides]);
        let (n, [step]) = rows.pop();
        rows.for_each(|[at]| {
            for i in 0..if found.is_none() { n } else { 0 } {
                // SAFETY: the view is valid for every position of its axes.
                let element = unsafe { *self.at::<T>(at + i as isize * step) };
                if is(element) {
                    found = Some((number + i, element));
                    break;
                }
            }
            number += n;
        });
        found
    }

    /// Writes the elements in C order.
    ///
    /// # Safety
    /// `to` has space for them and is not shared.
    unsafe fn copy_to(&self, to: *mut u8) {
        let strides = c_strides(self.dims);
        // SAFETY: the caller's contract.
        let to = unsafe { ViewMut::from_raw(self.dtype, to, self.dims, &strides) };
        copy_elements(*self, to);
    }
}

fn copy_elements(src: View, dst: ViewMut) {
    if src.dims.is_empty() && dst.dims.is_empty() {
        // SAFETY: both views are valid for their element.
        return with_word!(one_dtype([src.dtype, dst.dtype]).size(), W => unsafe {
            *dst.ptr.cast::<W>() = *src.ptr.cast::<W>();
        });
    }
    assert_eq!(src.dims, dst.dims, "copy needs equal dims");
    with_word!(one_dtype([src.dtype, dst.dtype]).size(), W => copy_words::<W>(src, dst));
}

fn copy_words<W: Copy + Send + Sync>(src: View, dst: ViewMut) {
    let numel = dst.numel();
    if numel == 0 {
        return;
    }
    let bytes = numel * size_of::<W>();
    // SAFETY: both views are valid for their elements and do not overlap.
    if bytes <= SMALL_BYTES && unsafe { copy_small::<W>(&src, &dst) } {
        return;
    }
    if bytes < SPLIT_BYTES && src.is_contiguous() && dst.is_contiguous() {
        // SAFETY: both views are valid for their elements, which are contiguous, and do not overlap.
        return unsafe {
            ptr::copy_nonoverlapping(src.ptr.cast::<W>(), dst.ptr.cast::<W>(), numel);
        };
    }
    let axes = Axes::new(dst.dims, [dst.strides, src.strides]).collapse(true);
    let job = CopyJob { src: src.ptr.cast::<W>(), dst: dst.ptr.cast::<W>() };
    let outer = axes.dims.first().copied().unwrap_or(1);
    let blocks = if bytes < SPLIT_BYTES { 1 } else { (bytes / (SPLIT_BYTES / 2)).min(outer) };
    if blocks <= 1 {
        // SAFETY: the views are valid for every position of the axes and do not overlap.
        return unsafe { job.run(&axes) };
    }
    parallel_ranges(outer, blocks, &|start, end| {
        let [to, from] = axes.strides[0];
        let mut part = Axes { dims: axes.dims.clone(), strides: axes.strides.clone() };
        part.dims[0] = end - start;
        let job = job.shifted(to * start as isize, from * start as isize);
        // SAFETY: as above; the blocks are disjoint along the first axis.
        unsafe { job.run(&part) };
    });
}

/// Copies element by element, if there are at most two axes; else returns false.
///
/// # Safety
/// Both views are valid for their elements, have the same dims and do not overlap.
#[inline(always)]
unsafe fn copy_small<W: Copy>(src: &View, dst: &ViewMut) -> bool {
    let (rows, by, n, step) = match (dst.dims, dst.strides, src.strides) {
        ([], _, _) => (1, [0, 0], 1, [1, 1]),
        (&[n], &[to], &[from]) => (1, [0, 0], n, [to, from]),
        (&[rows, n], &[to_row, to], &[from_row, from]) => (rows, [to_row, from_row], n, [to, from]),
        _ => return false,
    };
    let (mut to, mut from) = (dst.ptr.cast::<W>(), src.ptr.cast::<W>());
    for _ in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            if step == [1, 1] && n >= SHORT_LINE {
                ptr::copy_nonoverlapping(from, to, n);
            } else {
                let (mut to, mut from) = (to, from);
                for _ in 0..n {
                    *to = *from;
                    (to, from) = (to.wrapping_offset(step[0]), from.wrapping_offset(step[1]));
                }
            }
        }
        (to, from) = (to.wrapping_offset(by[0]), from.wrapping_offset(by[1]));
    }
    true
}

/// What is copied for each position of the outer axes.
#[derive(Clone, Copy)]
enum InnerCopy {
    /// A line: element count and steps.
    Line(usize, [isize; 2]),
    /// Runs of bytes: their length, their number, and the steps in bytes.
    Runs(usize, usize, [isize; 2]),
    /// A plane, copied in tiles.
    Tiles([usize; 2], [[isize; 2]; 2]),
}

/// Splits the axes into outer ones and the copy at each of their positions.
fn split_axes(axes: &Axes<2>, size: usize) -> (Axes<2>, InnerCopy) {
    let n = axes.dims.len();
    let mut outer = Axes { dims: axes.dims.clone(), strides: axes.strides.clone() };
    if n == 0 {
        return (outer, InnerCopy::Line(1, [1, 1]));
    }
    let (inner, strides) = outer.pop();
    let fastest = (0..n).min_by_key(|&i| axes.strides[i][1].unsigned_abs()).unwrap_or(n - 1);
    let transposed = fastest != n - 1
        && axes.strides[fastest][1] != 0
        && axes.strides[fastest][1].unsigned_abs() < strides[1].unsigned_abs();
    let part = if inner <= SHORT_LINE && n > 1 && outer.dims[n - 2] > inner {
        // Calls for a short innermost axis would dominate: the next axis becomes the line.
        let (line, step) = outer.pop();
        InnerCopy::Tiles([inner, line], [strides, step])
    } else if n > 1 && strides == [1, 1] && INLINE_RUN_BYTES.contains(&(inner * size)) {
        let (count, steps) = outer.pop();
        InnerCopy::Runs(inner * size, count, steps.map(|step| step * size as isize))
    } else if transposed {
        let (rows, row) = (outer.dims.remove(fastest), outer.strides.remove(fastest));
        InnerCopy::Tiles([rows, inner], [row, strides])
    } else {
        InnerCopy::Line(inner, strides)
    };
    (outer, part)
}

#[derive(Clone, Copy)]
struct CopyJob<W> {
    src: *const W,
    dst: *mut W,
}
// SAFETY: the pointers come from views, which are Send + Sync; jobs write disjoint parts.
unsafe impl<W> Send for CopyJob<W> {}
// SAFETY: as above.
unsafe impl<W> Sync for CopyJob<W> {}

impl<W: Copy> CopyJob<W> {
    fn shifted(&self, to: isize, from: isize) -> CopyJob<W> {
        CopyJob { src: self.src.wrapping_offset(from), dst: self.dst.wrapping_offset(to) }
    }

    /// # Safety
    /// Source and destination are valid for every position of the axes and do not overlap.
    unsafe fn run(self, axes: &Axes<2>) {
        let (outer, part) = split_axes(axes, size_of::<W>());
        outer.for_each(|at| {
            let job = self.shifted(at[0], at[1]);
            // SAFETY: the caller's contract.
            unsafe {
                match part {
                    InnerCopy::Line(n, steps) => job.line(n, steps),
                    InnerCopy::Tiles(dims, strides) => job.tiles(dims, strides),
                    InnerCopy::Runs(bytes, count, steps) => {
                        copy_runs((job.src.cast(), job.dst.cast()), bytes, count, steps);
                    }
                }
            }
        });
    }

    /// # Safety
    /// As `run`, for one axis.
    #[inline(always)]
    unsafe fn line(self, n: usize, [to, from]: [isize; 2]) {
        // SAFETY: the caller's contract.
        unsafe {
            match (to, from) {
                (1, 1) if n >= 8 => ptr::copy_nonoverlapping(self.src, self.dst, n),
                (1, 0) => std::slice::from_raw_parts_mut(self.dst, n).fill(*self.src),
                (1, -1) if matches!(size_of::<W>(), 4 | 8) => {
                    copy_reversed(self.src.sub(n - 1), self.dst, n)
                }
                (1, _) => {
                    for i in 0..n {
                        *self.dst.add(i) = *self.src.offset(i as isize * from);
                    }
                }
                _ => {
                    for i in 0..n as isize {
                        *self.dst.offset(i * to) = *self.src.offset(i * from);
                    }
                }
            }
        }
    }

    /// Copies a plane in square tiles, so that both sides stay within cache lines.
    ///
    /// # Safety
    /// As `run`, for two axes.
    unsafe fn tiles(self, dims: [usize; 2], strides: [[isize; 2]; 2]) {
        for top in (0..dims[0]).step_by(TILE_EDGE) {
            for left in (0..dims[1]).step_by(TILE_EDGE) {
                let at = |k: usize| top as isize * strides[0][k] + left as isize * strides[1][k];
                let tile = self.shifted(at(0), at(1));
                let width = TILE_EDGE.min(dims[1] - left);
                if strides[0][1] == 1 && strides[1][0] == 1 {
                    let block = (TILE_EDGE.min(dims[0] - top), width);
                    // SAFETY: the caller's contract.
                    unsafe {
                        transpose_block(tile.src, strides[1][1], tile.dst, strides[0][0], block)
                    };
                    continue;
                }
                for row in 0..TILE_EDGE.min(dims[0] - top) as isize {
                    let line = tile.shifted(row * strides[0][0], row * strides[0][1]);
                    // SAFETY: the caller's contract.
                    unsafe { line.line(width, strides[1]) };
                }
            }
        }
    }
}

multiversion! {
    /// Copies at least one element in reverse order. Source and destination do not overlap.
    unsafe fn copy_reversed<W: Copy>(src: *const W, dst: *mut W, n: usize) = copy_reversed_body, crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// `n` elements are valid in source and destination, which do not overlap.
#[inline(always)]
unsafe fn copy_reversed_body<W: Copy>(src: *const W, dst: *mut W, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let (from, to) =
            (std::slice::from_raw_parts(src, n), std::slice::from_raw_parts_mut(dst, n));
        for (to, from) in to.iter_mut().zip(from.iter().rev()) {
            *to = *from;
        }
    }
}

multiversion! {
    /// Copies `count` runs of `bytes` bytes, at least `MOVE_BYTES`; steps are in bytes. Source and
    /// destination do not overlap.
    pub(in crate::kernels) unsafe fn copy_runs(
        sides: (*const u8, *mut u8), bytes: usize, count: usize, steps: [isize; 2],
    ) = copy_runs_body, crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// The runs are readable and writable, have at least `MOVE_BYTES` bytes, and do not overlap.
#[inline(always)]
unsafe fn copy_runs_body(
    (src, dst): (*const u8, *mut u8),
    bytes: usize,
    count: usize,
    [to, from]: [isize; 2],
) {
    for run in 0..count as isize {
        // SAFETY: the caller's contract.
        unsafe {
            let (src, dst) = (src.offset(run * from), dst.offset(run * to));
            if bytes < 2 * MOVE_BYTES {
                copy_overlapping::<MOVE_BYTES>(src, dst, bytes)
            } else {
                copy_overlapping::<{ 2 * MOVE_BYTES }>(src, dst, bytes)
            }
        }
    }
}

/// Copies `bytes` bytes, `N` at a time; the last move overlaps the one before.
///
/// # Safety
/// Source and destination have at least `N` bytes and do not overlap.
#[inline(always)]
unsafe fn copy_overlapping<const N: usize>(src: *const u8, dst: *mut u8, bytes: usize) {
    let mut at = 0;
    // SAFETY: every move is inside the bytes.
    unsafe {
        while at + N < bytes {
            dst.add(at).cast::<[u8; N]>().write(*src.add(at).cast());
            at += N;
        }
        dst.add(bytes - N).cast::<[u8; N]>().write(*src.add(bytes - N).cast());
    }
}
