//! Sampling positions of `grid_sample`: the image elements around each point, with interpolation weights and
//! their derivatives.
//!
//! Invariant: a corner outside a zero-padded image has the index -1; NaN coordinates stay in the weights.

use super::launch::launch;
use super::multiversion::multiversion;
use super::view::{View, ViewMut, with_float};
use crate::dtype::{DType, Element};

/// The padding outside an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PaddingMode {
    /// Zeros.
    Zeros,
    /// The nearest element.
    Border,
    /// The mirrored image.
    Reflection,
}

/// An image, and how normalised coordinates map to its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GridGeometry {
    /// The number of axes, at most three.
    pub axes: usize,
    /// The size of each axis, the first axis first.
    pub sizes: [usize; 3],
    /// The padding mode.
    pub padding: PaddingMode,
    /// Whether -1 and 1 are the centres of the first and last elements (`align_corners`), else the outer
    /// edges.
    pub align_corners: bool,
    /// Nearest-neighbour instead of linear interpolation.
    pub nearest: bool,
}

impl GridGeometry {
    /// The number of elements that contribute to a point.
    pub fn taps(&self) -> usize {
        if self.nearest { 1 } else { 1 << self.axes }
    }
}

/// Points processed together.
const BLOCK_POINTS: usize = 64;

/// A block of points along one axis: the element at or below each, the fractional offset and its derivative
/// with respect to the coordinate, and whether that element and the next exist.
#[derive(Clone, Copy)]
struct AxisNeighbours<T> {
    low: [i64; BLOCK_POINTS],
    fraction: [T; BLOCK_POINTS],
    slope: [T; BLOCK_POINTS],
    exists: [[bool; BLOCK_POINTS]; 2],
}

trait Coordinate: Element {
    const ZERO: Self;
    const ONE: Self;
    fn times(self, other: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn negated(self) -> Self;
    /// As `AxisNeighbours`, for one coordinate on an axis of this size.
    fn locate(self, size: Self, geometry: &GridGeometry) -> (i64, Self, Self, [bool; 2]);
    fn of(size: usize) -> Self;
}

macro_rules! coordinates {
    ($($t:ident)*) => {$(
        impl Coordinate for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            #[inline(always)]
            fn times(self, other: $t) -> $t {
                self * other
            }
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                self + other
            }
            #[inline(always)]
            fn negated(self) -> $t {
                -self
            }
            #[inline(always)]
            fn of(size: usize) -> $t {
                size as $t
            }
            #[inline(always)]
            fn locate(self, n: $t, geometry: &GridGeometry) -> (i64, $t, $t, [bool; 2]) {
                let last = n - 1.0;
                let (start, end) = if geometry.align_corners { (0.0, last) } else { (-0.5, last + 0.5) };
                let span = end - start;
                let (mut at, mut slope) = ((self + 1.0) * (span / 2.0) + start, span / 2.0);
                if geometry.padding == PaddingMode::Reflection {
                    let distance = (at - start) / (2.0 * span);
                    let distance = (distance - distance.floor()) * (2.0 * span);
                    let is_reflected = distance > span;
                    at = if is_reflected { 2.0 * span - distance } else { distance } + start;
                    slope = if is_reflected { -slope } else { slope };
                    // An axis of one element.
                    at = if span == 0.0 { self * 0.0 } else { at };
                }
                if geometry.padding != PaddingMode::Zeros {
                    // NaN counts as the first element, as in PyTorch.
                    slope = if (at > 0.0) & (at < last) { slope } else { 0.0 };
                    at = if at > 0.0 { at } else { 0.0 };
                    at = if at >= last { last } else { at };
                }
                let low = if geometry.nearest { at.round_ties_even() } else { at.floor() };
                let exists = [(low >= 0.0) & (low <= last), (low >= -1.0) & (low < last)];
                // SAFETY: the value is between -1 and the last element, and not NaN.
                let number = unsafe { low.max(-1.0).min(last).to_int_unchecked::<i64>() };
                (number, at - low, slope, exists)
            }
        }
    )*};
}
coordinates!(f64 f32);

multiversion! {
    /// The neighbours of `n` points, at most a block, whose coordinates are `step` apart.
    unsafe fn neighbours<T: Coordinate>(
        geometry: &GridGeometry, size: usize, grid: *const T, step: usize, n: usize, out: &mut AxisNeighbours<T>,
    ) = neighbours_body, crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// The coordinates are readable.
#[inline(always)]
unsafe fn neighbours_body<T: Coordinate>(
    geometry: &GridGeometry,
    size: usize,
    grid: *const T,
    step: usize,
    n: usize,
    out: &mut AxisNeighbours<T>,
) {
    let (n, size) = (n.min(BLOCK_POINTS), T::of(size));
    for i in 0..n {
        // SAFETY: the caller's contract.
        let own = unsafe { *grid.add(i * step) };
        let (low, fraction, slope, exists) = own.locate(size, geometry);
        (out.low[i], out.fraction[i], out.slope[i]) = (low, fraction, slope);
        (out.exists[0][i], out.exists[1][i]) = (exists[0], exists[1]);
    }
}

/// Whether a corner is the next element along an axis.
#[inline(always)]
fn is_next(corner: usize, axis: usize) -> bool {
    (corner >> axis) & 1 == 1
}

/// Calls `body` for each block with the image, the first point, the number of points, and their neighbours.
fn for_each_block<T: Coordinate>(
    geometry: &GridGeometry,
    grid: View,
    body: impl Fn(usize, usize, usize, &[AxisNeighbours<T>; 3]),
) {
    let (count, axes) = (grid.dims[1], geometry.axes);
    let (low, zeros, none) = ([0; BLOCK_POINTS], [T::ZERO; BLOCK_POINTS], [false; BLOCK_POINTS]);
    let empty = AxisNeighbours { low, fraction: zeros, slope: zeros, exists: [none; 2] };
    let mut found = [empty; 3];
    for image in 0..grid.dims[0] {
        for first in (0..count).step_by(BLOCK_POINTS) {
            let n = BLOCK_POINTS.min(count - first);
            for (axis, found) in found[..axes].iter_mut().enumerate() {
                let from =
                    grid.at::<T>(((image * count + first) * axes + axes - 1 - axis) as isize);
                // SAFETY: the grid has as many points and coordinates, the last axis first.
                unsafe { neighbours::<T>(geometry, geometry.sizes[axis], from, axes, n, found) };
            }
            body(image, first, n, &found);
        }
    }
}

fn check(geometry: &GridGeometry, grid: View, outputs: &[(&[usize], bool)]) {
    assert!((1..=3).contains(&geometry.axes), "one to three axes");
    assert!(grid.dims.len() == 3 && grid.dims[2] == geometry.axes, "a grid of other axes");
    let dims = [grid.dims[0], geometry.taps(), grid.dims[1]];
    let fits = outputs.iter().all(|(own, contiguous)| *own == dims && *contiguous);
    assert!(grid.is_contiguous() && fits, "a grid and its corners in C order");
}

/// The element indices (int64) and weights, both (batch, taps, points), for the points of a grid (batch,
/// points, axes), whose last axis comes first.
pub fn corner_weights(geometry: &GridGeometry, grid: View, indices: ViewMut, weights: ViewMut) {
    let own = [(indices.dims, indices.is_contiguous()), (weights.dims, weights.is_contiguous())];
    check(geometry, grid, &own);
    assert!(indices.dtype == DType::I64, "places are int64");
    launch!(
        "corners", [grid] => [indices, weights]; geometry = *geometry;
        with_float!([grid, weights], T => corner_weights_of::<T>(&geometry, grid, &indices, &weights))
    );
}

fn corner_weights_of<T: Coordinate>(
    geometry: &GridGeometry,
    grid: View,
    indices: &ViewMut,
    weights: &ViewMut,
) {
    for_each_block::<T>(geometry, grid, |image, first, n, found| {
        for corner in 0..geometry.taps() {
            let to = ((image * geometry.taps() + corner) * grid.dims[1] + first) as isize;
            // SAFETY: `check` has compared the dims of the results.
            let (indices, weights) = unsafe {
                (
                    std::slice::from_raw_parts_mut(indices.at::<i64>(to), n),
                    std::slice::from_raw_parts_mut(weights.at::<T>(to), n),
                )
            };
            // SAFETY: the slices have at most a block of points.
            unsafe { corner_block::<T>(geometry, corner, found, indices, weights) };
        }
    });
}

multiversion! {
    /// The indices and weights of one corner of a block.
    unsafe fn corner_block<T: Coordinate>(
        geometry: &GridGeometry, corner: usize, found: &[AxisNeighbours<T>; 3], indices: &mut [i64], weights: &mut [T],
    ) = corner_block_body, crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// There are as many indices as weights, at most a block.
#[inline(always)]
unsafe fn corner_block_body<T: Coordinate>(
    geometry: &GridGeometry,
    corner: usize,
    found: &[AxisNeighbours<T>; 3],
    indices: &mut [i64],
    weights: &mut [T],
) {
    weights.fill(T::ONE);
    indices.fill(0);
    let mut exists = [true; BLOCK_POINTS];
    for (axis, own) in found[..geometry.axes].iter().enumerate() {
        let (next, size) = (is_next(corner, axis), geometry.sizes[axis] as i64);
        let own_exists = &own.exists[usize::from(next)];
        for (i, (at, w)) in
            indices.iter_mut().zip(weights.iter_mut()).enumerate().take(BLOCK_POINTS)
        {
            *at = at.wrapping_mul(size) + own.low[i] + i64::from(next);
            exists[i] &= own_exists[i];
            if !geometry.nearest {
                *w = w.times(weight(own.fraction[i], next));
            }
        }
    }
    for (at, exists) in indices.iter_mut().zip(&exists) {
        *at = if *exists { *at } else { -1 };
    }
}

/// The weight of the element below, or of the next one.
#[inline(always)]
fn weight<T: Coordinate>(fraction: T, next: bool) -> T {
    if next { fraction } else { T::ONE.plus(fraction.negated()) }
}

/// The gradient with respect to the grid, given that of the weights; not for nearest-neighbour, whose weights
/// are constant.
pub fn corner_slopes(geometry: &GridGeometry, grid: View, by_weights: View, out: ViewMut) {
    check(geometry, grid, &[(by_weights.dims, by_weights.is_contiguous())]);
    assert!(out.dims == grid.dims && out.is_contiguous(), "a gradient by the grid");
    launch!(
        "corner_slopes", [grid, by_weights] => [out]; geometry = *geometry;
        with_float!([grid, by_weights, out], T => corner_slopes_of::<T>(&geometry, grid, by_weights, &out))
    );
}

fn corner_slopes_of<T: Coordinate>(
    geometry: &GridGeometry,
    grid: View,
    by_weights: View,
    out: &ViewMut,
) {
    let (count, axes) = (grid.dims[1], geometry.axes);
    for_each_block::<T>(geometry, grid, |image, first, n, found| {
        for (axis, own) in found[..axes].iter().enumerate() {
            let mut sums = [T::ZERO; BLOCK_POINTS];
            for corner in 0..geometry.taps() {
                let from = ((image * geometry.taps() + corner) * count + first) as isize;
                // SAFETY: `check` has compared the dims of the gradient.
                let g = unsafe { std::slice::from_raw_parts(by_weights.at::<T>(from), n) };
                let next = is_next(corner, axis);
                for (i, (sum, &g)) in sums.iter_mut().zip(g).enumerate() {
                    let mut part = if next { g } else { g.negated() };
                    for other in (0..axes).filter(|&other| other != axis) {
                        part = part.times(weight(found[other].fraction[i], is_next(corner, other)));
                    }
                    *sum = sum.plus(part);
                }
            }
            let to = ((image * count + first) * axes + axes - 1 - axis) as isize;
            for (i, (sum, &slope)) in sums[..n].iter().zip(&own.slope).enumerate() {
                // SAFETY: the result has the dims of the grid.
                unsafe { *out.at::<T>(to + (i * axes) as isize) = sum.times(slope) };
            }
        }
    });
}
