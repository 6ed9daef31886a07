//! Pooling of planes: max pooling with positions, window sums, and the adjoints of both. A mean is a sum
//! times a constant, applied by the caller.
//!
//! Invariant: planes are independent, so any split of them gives the same result; of equal elements the first
//! is the maximum, and NaN is larger than any number.

use super::convolution::Geometry;
use super::launch::launch;
use super::multiversion::multiversion;
use super::view::{View, ViewMut, with_float};
use crate::dtype::{DType, Element};
use crate::threads::parallel_for;

/// Elements per block of a split.
const BLOCK_ELEMENTS: usize = 1 << 15;

trait Float: Element + PartialOrd + std::ops::Add<Output = Self> + Default {
    const LOWEST: Self;
    fn is_nan_value(self) -> bool;
}
impl Float for f64 {
    const LOWEST: f64 = f64::NEG_INFINITY;
    #[inline(always)]
    fn is_nan_value(self) -> bool {
        self.is_nan()
    }
}
impl Float for f32 {
    const LOWEST: f32 = f32::NEG_INFINITY;
    #[inline(always)]
    fn is_nan_value(self) -> bool {
        self.is_nan()
    }
}

/// Addresses shared by all planes; each plane is accessed by one thread.
#[derive(Clone, Copy)]
struct PlanePointers<A, B, C>(*const A, *mut B, *mut C);
// SAFETY: the pointers come from views, which are Send + Sync; planes are disjoint.
unsafe impl<A, B, C> Send for PlanePointers<A, B, C> {}
// SAFETY: as above.
unsafe impl<A, B, C> Sync for PlanePointers<A, B, C> {}

/// Runs `body` for every plane.
fn for_each_plane(g: &Geometry, body: impl Fn(usize) + Sync) {
    if g.batch * g.output_plane() * g.plane() == 0 {
        return;
    }
    let work = g.batch.saturating_mul(g.output_plane() * g.kernel[0] * g.kernel[1]);
    let blocks = (work / BLOCK_ELEMENTS).clamp(1, g.batch);
    parallel_for(blocks, &|block| {
        for plane in block * g.batch / blocks..(block + 1) * g.batch / blocks {
            body(plane);
        }
    });
}

/// The positions of an axis under the window at `at`: first, step, count.
#[inline(always)]
fn window(g: &Geometry, axis: usize, at: usize) -> (usize, usize, usize) {
    let (start, step) = (at * g.stride[axis], g.dilation[axis]);
    let skipped = g.padding[axis].saturating_sub(start).div_ceil(step).min(g.kernel[axis]);
    let end =
        (g.image[axis] + g.padding[axis]).saturating_sub(start).div_ceil(step).min(g.kernel[axis]);
    let first = (start + skipped * step).saturating_sub(g.padding[axis]);
    (first, step, end.saturating_sub(skipped))
}

/// Calls `body(output, input)` for every output position and every image position under its window, and
/// `next(output)` after each output position.
#[inline(always)]
fn for_each_window_element(
    g: &Geometry,
    mut body: impl FnMut(usize, usize),
    mut next: impl FnMut(usize),
) {
    let columns: Vec<_> = (0..g.result[1]).map(|at| window(g, 1, at)).collect();
    for i in 0..g.result[0] {
        let (top, down, rows) = window(g, 0, i);
        for (k, &(left, right, width)) in columns.iter().enumerate() {
            let output = i * g.result[1] + k;
            for row in 0..rows {
                let line = (top + row * down) * g.image[1] + left;
                for column in 0..width {
                    body(output, line + column * right);
                }
            }
            next(output);
        }
    }
}

fn check(g: &Geometry, image: &[usize], result: &[usize], contiguous: &[bool]) {
    assert!(contiguous.iter().all(|&c| c), "pooling takes contiguous planes");
    assert!(
        image == [g.batch, g.image[0], g.image[1]] && result == [g.batch, g.result[0], g.result[1]],
        "pooling: the shapes do not agree"
    );
}

/// The maximum of each window and its position (int64) in the plane, -1 for a window outside the image.
pub fn max_pool(g: &Geometry, x: View, y: ViewMut, positions: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous(), positions.is_contiguous()]);
    assert!(positions.dims == y.dims && positions.dtype == DType::I64, "pooling: the positions");
    launch!(
        "max_pool", [x] => [y, positions]; g = *g;
        with_float!([x, y], T => max_pool_planes::<T>(&g, x, y, positions))
    );
}

fn max_pool_planes<T: Float>(g: &Geometry, x: View, y: ViewMut, positions: ViewMut) {
    let at = PlanePointers(x.at::<T>(0), y.at::<T>(0), positions.at::<i64>(0));
    for_each_plane(g, |plane| {
        let at = &at;
        // SAFETY: `check` has compared the views with the geometry.
        let (from, to, found_positions) = unsafe {
            let skip = plane * g.output_plane();
            (at.0.add(plane * g.plane()), at.1.add(skip), at.2.add(skip))
        };
        let best = std::cell::Cell::new((T::LOWEST, -1i64));
        for_each_window_element(
            g,
            |_, input| {
                // SAFETY: windows stay inside the image.
                let value = unsafe { *from.add(input) };
                let (so_far, found) = best.get();
                if value > so_far || found < 0 || (value.is_nan_value() && !so_far.is_nan_value()) {
                    best.set((value, input as i64));
                }
            },
            // SAFETY: output positions stay inside the result.
            |output| unsafe {
                (*to.add(output), *found_positions.add(output)) = best.replace((T::LOWEST, -1));
            },
        );
    });
}

/// The maximum of each window, -inf for a window outside the image.
pub fn max_pool_values(g: &Geometry, x: View, y: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous()]);
    launch!(
        "max_pool", [x] => [y]; g = *g;
        with_float!([x, y], T => max_pool_value_planes::<T>(&join_planes(&g), x, y))
    );
}

/// Planes of one row with non-overlapping windows, as one long plane.
fn join_planes(g: &Geometry) -> Geometry {
    let reach = g.dilation[1] * (g.kernel[1] - 1);
    let disjoint = reach < g.stride[1] && g.image[1] == g.result[1] * g.stride[1];
    let rows = [g.image[0], g.result[0], g.kernel[0]];
    if rows != [1; 3] || g.padding != [0; 2] || !disjoint {
        return *g;
    }
    let row = |columns: usize| [1, columns * g.batch];
    Geometry { batch: 1, image: row(g.image[1]), result: row(g.result[1]), ..*g }
}

fn max_pool_value_planes<T: Float>(g: &Geometry, x: View, y: ViewMut) {
    let at = PlanePointers(x.at::<T>(0), y.at::<T>(0), std::ptr::null_mut::<T>());
    let columns: Vec<_> = (0..g.kernel[1]).map(|tap| valid_outputs(g, tap)).collect();
    for_each_plane(g, |plane| {
        let at = &at;
        for i in 0..g.result[0] {
            let (top, down, rows) = window(g, 0, i);
            // SAFETY: `check` has compared the views with the geometry; windows stay inside the image.
            unsafe {
                let line = at.1.add(plane * g.output_plane() + i * g.result[1]);
                std::slice::from_raw_parts_mut(line, g.result[1]).fill(T::LOWEST);
                for row in 0..rows {
                    let from = at.0.add(plane * g.plane() + (top + row * down) * g.image[1]);
                    for &(first, column, n) in &columns {
                        max_strided::<T>(line.add(first), from.add(column), g.stride[1], n);
                    }
                }
            }
        }
    });
}

/// The output positions of a row for which a column of the windows is inside the image: the first of them,
/// its image column, and their number.
fn valid_outputs(g: &Geometry, tap: usize) -> (usize, usize, usize) {
    let (step, reach, padding) = (g.stride[1], tap * g.dilation[1], g.padding[1]);
    let first = padding.saturating_sub(reach).div_ceil(step);
    let end = (g.image[1] + padding).saturating_sub(reach).div_ceil(step).min(g.result[1]);
    if first >= end {
        return (0, 0, 0);
    }
    (first, first * step + reach - padding, end - first)
}

multiversion! {
    /// `to = max(to, from)` for `n` elements, `from` with a step; the first of equals stays, and NaN
    /// propagates.
    unsafe fn max_strided<T: Float>(to: *mut T, from: *const T, step: usize, n: usize) = max_strided_body,
        crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// `to` has `n` elements and `from` has `n` at its step, and they do not overlap.
#[inline(always)]
unsafe fn max_strided_body<T: Float>(to: *mut T, from: *const T, step: usize, n: usize) {
    // SAFETY: the caller's contract.
    let to = unsafe { std::slice::from_raw_parts_mut(to, n) };
    let pick = |to: &mut T, new: T| {
        // Branch-free: the outcome is unpredictable.
        *to = if (new > *to) | (new.is_nan_value() & !to.is_nan_value()) { new } else { *to };
    };
    // SAFETY: as above.
    unsafe {
        match step {
            1 => (0..n).for_each(|j| pick(to.get_unchecked_mut(j), *from.add(j))),
            2 => (0..n).for_each(|j| pick(to.get_unchecked_mut(j), *from.add(2 * j))),
            _ => (0..n).for_each(|j| pick(to.get_unchecked_mut(j), *from.add(step * j))),
        }
    }
}

/// Gathers the elements at positions found by `max_pool`; 0 at -1.
pub fn take(g: &Geometry, x: View, positions: View, y: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous(), positions.is_contiguous()]);
    assert!(positions.dims == y.dims && positions.dtype == DType::I64, "pooling: the positions");
    launch!(
        "pool_take", [x, positions] => [y]; g = *g;
        with_float!([x, y], T => take_planes::<T>(&g, x, positions, y))
    );
}

fn take_planes<T: Float>(g: &Geometry, x: View, positions: View, y: ViewMut) {
    let at = PlanePointers(x.at::<T>(0), y.at::<T>(0), positions.at::<i64>(0).cast_mut());
    for_each_plane(g, |plane| {
        let at = &at;
        for output in plane * g.output_plane()..(plane + 1) * g.output_plane() {
            // SAFETY: `check` has compared the views with the geometry; positions are inside their plane.
            unsafe {
                *at.1.add(output) = match *at.2.add(output) {
                    input if input < 0 => T::default(),
                    input => *at.0.add(plane * g.plane() + input as usize),
                };
            }
        }
    });
}

/// Scatter-adds elements of `y` at their positions: the adjoint of `take`.
pub fn scatter_add(g: &Geometry, y: View, positions: View, x: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous(), positions.is_contiguous()]);
    assert!(positions.dims == y.dims && positions.dtype == DType::I64, "pooling: the positions");
    launch!(
        "pool_put", [y, positions] => [x]; g = *g;
        with_float!([y, x], T => scatter_add_planes::<T>(&g, y, positions, x))
    );
}

fn scatter_add_planes<T: Float>(g: &Geometry, y: View, positions: View, x: ViewMut) {
    let at = PlanePointers(y.at::<T>(0), x.at::<T>(0), positions.at::<i64>(0).cast_mut());
    for_each_plane(g, |plane| {
        let at = &at;
        for output in plane * g.output_plane()..(plane + 1) * g.output_plane() {
            // SAFETY: as in `take`; the plane belongs to this thread.
            unsafe {
                let input = *at.2.add(output);
                if input >= 0 {
                    let slot = at.1.add(plane * g.plane() + input as usize);
                    *slot = *slot + *at.0.add(output);
                }
            }
        }
    });
}

/// The sum of each window.
pub fn window_sums(g: &Geometry, x: View, y: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous()]);
    launch!(
        "pool_sums", [x] => [y]; g = *g;
        with_float!([x, y], T => window_sum_planes::<T>(&g, x, y))
    );
}

fn window_sum_planes<T: Float>(g: &Geometry, x: View, y: ViewMut) {
    let at = PlanePointers(x.at::<T>(0), y.at::<T>(0), std::ptr::null_mut::<T>());
    for_each_plane(g, |plane| {
        let at = &at;
        let sum = std::cell::Cell::new(T::default());
        // SAFETY: `check` has compared the views with the geometry; windows stay inside the image.
        unsafe {
            let (from, to) = (at.0.add(plane * g.plane()), at.1.add(plane * g.output_plane()));
            for_each_window_element(
                g,
                |_, input| sum.set(sum.get() + *from.add(input)),
                |output| *to.add(output) = sum.replace(T::default()),
            );
        }
    });
}

/// Adds each element of `y` to its window in `x`, which holds zeros: the adjoint of `window_sums`.
pub fn add_to_windows(g: &Geometry, y: View, x: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous()]);
    launch!(
        "pool_spread", [y] => [x]; g = *g;
        with_float!([y, x], T => add_to_window_planes::<T>(&g, y, x))
    );
}

fn add_to_window_planes<T: Float>(g: &Geometry, y: View, x: ViewMut) {
    let at = PlanePointers(y.at::<T>(0), x.at::<T>(0), std::ptr::null_mut::<T>());
    for_each_plane(g, |plane| {
        let at = &at;
        // SAFETY: as in `window_sums`; the plane belongs to this thread.
        unsafe {
            let (from, to) = (at.0.add(plane * g.output_plane()), at.1.add(plane * g.plane()));
            for_each_window_element(
                g,
                |output, input| {
                    let slot = to.add(input);
                    *slot = *slot + *from.add(output);
                },
                |_| {},
            );
        }
    });
}
