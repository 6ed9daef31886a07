//! im2col and col2im by tiles, matrix products with the tiles, and scratch memory.
//!
//! Invariant: a position outside the image is zero in im2col and ignored in col2im.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::geometry::Geometry;
use super::simd_loops::ConvTile;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::kernels::gemm;
use crate::kernels::gemm::FloatGemm;

/// A float type with a matrix product and SIMD tiles.
pub(super) trait ConvFloat: Element + FloatGemm + ConvTile {}
impl ConvFloat for f64 {}
impl ConvFloat for f32 {}

/// A matrix operand: pointer, row stride, column stride.
pub(super) type Mat<P> = (P, usize, usize);

/// `c = a b`, or `c += a b`, for sizes (m, n, k).
///
/// # Safety
/// The operands hold these sizes, and `c` overlaps neither.
pub(super) unsafe fn multiply<T: ConvFloat>(
    (m, n, k): (usize, usize, usize),
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
    accumulate: bool,
) {
    let (a, b) = (
        gemm::Mat::new(a.0, [a.1 as isize, a.2 as isize]),
        gemm::Mat::new(b.0, [b.1 as isize, b.2 as isize]),
    );
    let c = gemm::Mat::new(c.0, [c.1 as isize, c.2 as isize]);
    // SAFETY: the caller's contract.
    unsafe { gemm::multiply(gemm::Size { m, n, k }, c, accumulate, a, b, T::ONE) }
}

/// im2col: fills `columns`, (channels × taps) rows of `rows × width` positions, from the channels
/// at `x`; `first` is the first output row.
///
/// # Safety
/// `x` holds `channels` planes, and `columns` the matrix.
pub(super) unsafe fn gather<T: ConvFloat>(
    g: &Geometry,
    x: *const T,
    channels: usize,
    first: usize,
    rows: usize,
    columns: *mut T,
) {
    let (width, line) = (g.result[1], rows * g.result[1]);
    for row in 0..channels * g.taps() {
        let (channel, tap) = (row / g.taps(), row % g.taps());
        let (ki, kj) = (tap / g.kernel[1], tap % g.kernel[1]);
        let ((top, bottom), (left, right)) = (g.inside(0, ki), g.inside(1, kj));
        for i in 0..rows {
            // SAFETY: the caller's contract; positions between the bounds lie inside the image.
            unsafe {
                let to = std::slice::from_raw_parts_mut(columns.add(row * line + i * width), width);
                let at = first + i;
                if !(top..bottom).contains(&at) || left == right {
                    to.fill(T::default());
                    continue;
                }
                let from = x.add(
                    channel * g.plane()
                        + g.image_position(0, ki, at) * g.image[1]
                        + g.image_position(1, kj, left),
                );
                to[..left].fill(T::default());
                to[right..].fill(T::default());
                if g.stride[1] == 1 {
                    std::ptr::copy_nonoverlapping(from, to.as_mut_ptr().add(left), right - left);
                } else {
                    for (k, slot) in to[left..right].iter_mut().enumerate() {
                        *slot = *from.add(k * g.stride[1]);
                    }
                }
            }
        }
    }
}

/// col2im: adds `columns` to the channels at `x`, the adjoint of `gather`.
///
/// # Safety
/// As `gather`.
pub(super) unsafe fn scatter<T: ConvFloat>(
    g: &Geometry,
    columns: *const T,
    channels: usize,
    first: usize,
    rows: usize,
    x: *mut T,
) {
    let (width, line) = (g.result[1], rows * g.result[1]);
    for row in 0..channels * g.taps() {
        let (channel, tap) = (row / g.taps(), row % g.taps());
        let (ki, kj) = (tap / g.kernel[1], tap % g.kernel[1]);
        let ((top, bottom), (left, right)) = (g.inside(0, ki), g.inside(1, kj));
        if left == right {
            continue;
        }
        for at in top.max(first)..bottom.min(first + rows) {
            // SAFETY: the caller's contract; positions between the bounds lie inside the image.
            unsafe {
                let from = columns.add(row * line + (at - first) * width);
                let to = x.add(
                    channel * g.plane()
                        + g.image_position(0, ki, at) * g.image[1]
                        + g.image_position(1, kj, left),
                );
                for k in 0..right - left {
                    let slot = to.add(k * g.stride[1]);
                    *slot = *slot + *from.add(left + k);
                }
            }
        }
    }
}

/// Elements from which `memcpy` is called.
const MEMCPY_ELEMENTS: usize = 64;

/// Copies contiguous elements. Short runs are copied four at a time; the last four overlap.
///
/// # Safety
/// Both sides hold `len` elements and do not overlap.
#[inline(never)]
pub(super) unsafe fn copy_run<T: ConvFloat>(from: *const T, to: *mut T, len: usize) {
    let four = |at: usize| {
        // SAFETY: called for positions that the caller's contract covers.
        unsafe {
            let some = from.add(at).cast::<[T; 4]>().read_unaligned();
            to.add(at).cast::<[T; 4]>().write_unaligned(some);
        }
    };
    if len >= MEMCPY_ELEMENTS {
        // SAFETY: the caller's contract.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len) }
    } else if len >= 4 {
        (0..len - 4).step_by(4).for_each(four);
        four(len - 4);
    } else {
        for at in 0..len {
            // SAFETY: the caller's contract.
            unsafe { *to.add(at) = *from.add(at) }
        }
    }
}

/// Copies strided elements.
///
/// # Safety
/// Both sides hold `len` elements at their strides and do not overlap.
#[inline]
pub(super) unsafe fn copy_strided<T: ConvFloat>(
    (from, from_step): (*const T, usize),
    (to, to_step): (*mut T, usize),
    len: usize,
) {
    for at in 0..len {
        // SAFETY: the caller's contract.
        unsafe { *to.add(at * to_step) = *from.add(at * from_step) }
    }
}

/// Allocates scratch memory for the blocks and records the largest allocation that failed.
#[derive(Default)]
pub(super) struct Scratch(AtomicUsize);

impl Scratch {
    /// An empty buffer with this capacity; `None` if the allocation fails.
    #[inline(never)]
    pub(super) fn reserve<T: ConvFloat>(&self, len: usize) -> Option<Vec<T>> {
        let mut buffer = Vec::new();
        if buffer.try_reserve_exact(len).is_err() {
            self.0.fetch_max(len.saturating_mul(size_of::<T>()), Ordering::Relaxed);
            return None;
        }
        Some(buffer)
    }

    /// A zeroed buffer; `None` if the allocation fails.
    #[inline(never)]
    pub(super) fn zeros<T: ConvFloat>(&self, len: usize) -> Option<Vec<T>> {
        let mut buffer = self.reserve(len)?;
        buffer.resize(len, T::default());
        Some(buffer)
    }

    pub(super) fn finish(self) -> Result<()> {
        match self.0.into_inner() {
            0 => Ok(()),
            bytes => Err(Box::new(Error::Memory { bytes })),
        }
    }
}
