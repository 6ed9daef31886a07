//! Pooling of planes: largest elements with their positions, sums, and the adjoints of both.
//!
//! Owns: their loops over windows. Never divides: a mean is a sum times a constant.
//! Invariant: planes are independent, so any split of them gives the same result; of equal elements the first is
//! the largest, and a NaN is larger than any number.

use super::convolution::Geometry;
use super::launch::launch;
use super::multiversion::leveled;
use super::view::{View, ViewMut, with_float};
use crate::dtype::{DType, Element};
use crate::threads::parallel_for;

/// Elements per block of a split.
const SPLIT: usize = 1 << 15;

trait Number: Element + PartialOrd + std::ops::Add<Output = Self> + Default {
    const LEAST: Self;
    fn nan(self) -> bool;
}
impl Number for f64 {
    const LEAST: f64 = f64::NEG_INFINITY;
    #[inline(always)]
    fn nan(self) -> bool {
        self.is_nan()
    }
}
impl Number for f32 {
    const LEAST: f32 = f32::NEG_INFINITY;
    #[inline(always)]
    fn nan(self) -> bool {
        self.is_nan()
    }
}

/// Addresses that the planes share; each plane is touched by one thread.
#[derive(Clone, Copy)]
struct At<A, B, C>(*const A, *mut B, *mut C);
// SAFETY: the pointers come from views, which are Send + Sync; planes are disjoint.
unsafe impl<A, B, C> Send for At<A, B, C> {}
// SAFETY: as above.
unsafe impl<A, B, C> Sync for At<A, B, C> {}

/// Runs `body` for every plane.
fn by_planes(g: &Geometry, body: impl Fn(usize) + Sync) {
    if g.batch * g.output_plane() * g.plane() == 0 {
        return;
    }
    let work = g.batch.saturating_mul(g.output_plane() * g.kernel[0] * g.kernel[1]);
    let blocks = (work / SPLIT).clamp(1, g.batch);
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

/// Calls `body(output, input)` for every position of a result and every position of the image under its window, and
/// `next(output)` after each position of the result.
#[inline(always)]
fn windows(g: &Geometry, mut body: impl FnMut(usize, usize), mut next: impl FnMut(usize)) {
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

fn check(g: &Geometry, image: &[usize], result: &[usize], whole: &[bool]) {
    assert!(whole.iter().all(|&c| c), "pooling takes contiguous planes");
    assert!(
        image == [g.batch, g.image[0], g.image[1]] && result == [g.batch, g.result[0], g.result[1]],
        "pooling: the shapes do not agree"
    );
}

/// The largest element of each window and (int64) its position in the plane, -1 for a window outside the image.
pub fn largest(g: &Geometry, x: View, y: ViewMut, positions: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous(), positions.is_contiguous()]);
    assert!(positions.dims == y.dims && positions.dtype == DType::I64, "pooling: the positions");
    launch!(
        "max_pool", [x] => [y, positions]; g = *g;
        with_float!([x, y], T => largest_of::<T>(&g, x, y, positions))
    );
}

fn largest_of<T: Number>(g: &Geometry, x: View, y: ViewMut, positions: ViewMut) {
    let at = At(x.at::<T>(0), y.at::<T>(0), positions.at::<i64>(0));
    by_planes(g, |plane| {
        let at = &at;
        // SAFETY: `check` holds the views to the geometry.
        let (from, to, chosen) = unsafe {
            let skip = plane * g.output_plane();
            (at.0.add(plane * g.plane()), at.1.add(skip), at.2.add(skip))
        };
        let best = std::cell::Cell::new((T::LEAST, -1i64));
        windows(
            g,
            |_, input| {
                // SAFETY: windows stay inside the image.
                let value = unsafe { *from.add(input) };
                let (so_far, found) = best.get();
                if value > so_far || found < 0 || (value.nan() && !so_far.nan()) {
                    best.set((value, input as i64));
                }
            },
            // SAFETY: spots stay inside the result.
            |output| unsafe {
                (*to.add(output), *chosen.add(output)) = best.replace((T::LEAST, -1));
            },
        );
    });
}

/// The largest element of each window, -inf for a window outside the image.
pub fn largest_values(g: &Geometry, x: View, y: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous()]);
    launch!(
        "max_pool", [x] => [y]; g = *g;
        with_float!([x, y], T => values_of::<T>(&joined(&g), x, y))
    );
}

/// Planes of one row whose windows lie side by side, as one plane.
fn joined(g: &Geometry) -> Geometry {
    let reach = g.dilation[1] * (g.kernel[1] - 1);
    let apart = reach < g.stride[1] && g.image[1] == g.result[1] * g.stride[1];
    let rows = [g.image[0], g.result[0], g.kernel[0]];
    if rows != [1; 3] || g.padding != [0; 2] || !apart {
        return *g;
    }
    let wide = |columns: usize| [1, columns * g.batch];
    Geometry { batch: 1, image: wide(g.image[1]), result: wide(g.result[1]), ..*g }
}

fn values_of<T: Number>(g: &Geometry, x: View, y: ViewMut) {
    let at = At(x.at::<T>(0), y.at::<T>(0), std::ptr::null_mut::<T>());
    let columns: Vec<_> = (0..g.kernel[1]).map(|tap| under(g, tap)).collect();
    by_planes(g, |plane| {
        let at = &at;
        for i in 0..g.result[0] {
            let (top, down, rows) = window(g, 0, i);
            // SAFETY: `check` holds the views to the geometry; windows stay inside the image.
            unsafe {
                let line = at.1.add(plane * g.output_plane() + i * g.result[1]);
                std::slice::from_raw_parts_mut(line, g.result[1]).fill(T::LEAST);
                for row in 0..rows {
                    let from = at.0.add(plane * g.plane() + (top + row * down) * g.image[1]);
                    for &(first, column, n) in &columns {
                        larger::<T>(line.add(first), from.add(column), g.stride[1], n);
                    }
                }
            }
        }
    });
}

/// The positions of a result's row for which a column of the windows lies inside the image: the first of them, its column of
/// the image, how many.
fn under(g: &Geometry, tap: usize) -> (usize, usize, usize) {
    let (step, reach, padding) = (g.stride[1], tap * g.dilation[1], g.padding[1]);
    let first = padding.saturating_sub(reach).div_ceil(step);
    let end = (g.image[1] + padding).saturating_sub(reach).div_ceil(step).min(g.result[1]);
    if first >= end {
        return (0, 0, 0);
    }
    (first, first * step + reach - padding, end - first)
}

leveled! {
    /// The larger of `n` elements of `to` and as many of `from`, each `step` apart; the first of equals, and NaN stays.
    unsafe fn larger<T: Number>(to: *mut T, from: *const T, step: usize, n: usize) = larger_body,
        crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// There are so many elements on either side, which do not overlap.
#[inline(always)]
unsafe fn larger_body<T: Number>(to: *mut T, from: *const T, step: usize, n: usize) {
    // SAFETY: the caller's contract.
    let to = unsafe { std::slice::from_raw_parts_mut(to, n) };
    let pick = |to: &mut T, new: T| {
        // No branch: values decide at random.
        *to = if (new > *to) | (new.nan() & !to.nan()) { new } else { *to };
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

/// The elements at positions that `largest` found; 0 at -1.
pub fn take(g: &Geometry, x: View, positions: View, y: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous(), positions.is_contiguous()]);
    assert!(positions.dims == y.dims && positions.dtype == DType::I64, "pooling: the positions");
    launch!(
        "pool_take", [x, positions] => [y]; g = *g;
        with_float!([x, y], T => take_of::<T>(&g, x, positions, y))
    );
}

fn take_of<T: Number>(g: &Geometry, x: View, positions: View, y: ViewMut) {
    let at = At(x.at::<T>(0), y.at::<T>(0), positions.at::<i64>(0).cast_mut());
    by_planes(g, |plane| {
        let at = &at;
        for output in plane * g.output_plane()..(plane + 1) * g.output_plane() {
            // SAFETY: `check` holds the views to the geometry; positions lie inside their plane.
            unsafe {
                *at.1.add(output) = match *at.2.add(output) {
                    input if input < 0 => T::default(),
                    input => *at.0.add(plane * g.plane() + input as usize),
                };
            }
        }
    });
}

/// Elements of `y` added at their positions: the adjoint of `take`.
pub fn put(g: &Geometry, y: View, positions: View, x: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous(), positions.is_contiguous()]);
    assert!(positions.dims == y.dims && positions.dtype == DType::I64, "pooling: the positions");
    launch!(
        "pool_put", [y, positions] => [x]; g = *g;
        with_float!([y, x], T => put_of::<T>(&g, y, positions, x))
    );
}

fn put_of<T: Number>(g: &Geometry, y: View, positions: View, x: ViewMut) {
    let at = At(y.at::<T>(0), x.at::<T>(0), positions.at::<i64>(0).cast_mut());
    by_planes(g, |plane| {
        let at = &at;
        for output in plane * g.output_plane()..(plane + 1) * g.output_plane() {
            // SAFETY: as in `take`; the plane is this thread's.
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
pub fn sums(g: &Geometry, x: View, y: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous()]);
    launch!(
        "pool_sums", [x] => [y]; g = *g;
        with_float!([x, y], T => sums_of::<T>(&g, x, y))
    );
}

fn sums_of<T: Number>(g: &Geometry, x: View, y: ViewMut) {
    let at = At(x.at::<T>(0), y.at::<T>(0), std::ptr::null_mut::<T>());
    by_planes(g, |plane| {
        let at = &at;
        let sum = std::cell::Cell::new(T::default());
        // SAFETY: `check` holds the views to the geometry; windows stay inside the image.
        unsafe {
            let (from, to) = (at.0.add(plane * g.plane()), at.1.add(plane * g.output_plane()));
            windows(
                g,
                |_, input| sum.set(sum.get() + *from.add(input)),
                |output| *to.add(output) = sum.replace(T::default()),
            );
        }
    });
}

/// Each element of `y` added to its window, in `x` that holds zeros: the adjoint of `sums`.
pub fn spread(g: &Geometry, y: View, x: ViewMut) {
    check(g, x.dims, y.dims, &[x.is_contiguous(), y.is_contiguous()]);
    launch!(
        "pool_spread", [y] => [x]; g = *g;
        with_float!([y, x], T => spread_of::<T>(&g, y, x))
    );
}

fn spread_of<T: Number>(g: &Geometry, y: View, x: ViewMut) {
    let at = At(y.at::<T>(0), x.at::<T>(0), std::ptr::null_mut::<T>());
    by_planes(g, |plane| {
        let at = &at;
        // SAFETY: as in `sums`; the plane is this thread's.
        unsafe {
            let (from, to) = (at.0.add(plane * g.output_plane()), at.1.add(plane * g.plane()));
            windows(
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
