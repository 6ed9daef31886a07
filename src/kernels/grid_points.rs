//! Places between the elements of images and volumes: the elements around them, with their weights.
//!
//! Owns: what a coordinate from -1 to 1 means, and the slopes of the weights. Never reads an image.
//! Invariant: a corner that does not exist has the place -1; NaN stays in the weights where zeros lie outside.

use super::launch::launch;
use super::multiversion::leveled;
use super::view::{View, ViewMut, with_float};
use crate::dtype::{DType, Element};

/// What lies outside of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// Zeros.
    Zeros,
    /// The nearest element.
    Border,
    /// The mirrored image.
    Reflection,
}

/// The elements of an image, and how places among them are named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lattice {
    /// How many axes there are, at most three.
    pub axes: usize,
    /// The size of each axis, the first axis first.
    pub sizes: [usize; 3],
    /// What lies outside.
    pub outside: Outside,
    /// Whether -1 and 1 are the first and last elements, else the outer edges.
    pub corners: bool,
    /// Whether the nearest element is chosen, else those around.
    pub nearest: bool,
}

impl Lattice {
    /// How many elements stand for a place.
    pub fn taps(&self) -> usize {
        if self.nearest { 1 } else { 1 << self.axes }
    }
}

/// Places that are handled together.
const BLOCK: usize = 64;

/// What lies around a block of places along one axis: the element at or below, the way beyond it and how fast it grows with the
/// coordinate, and whether that element and the next exist.
#[derive(Clone, Copy)]
struct Around<T> {
    low: [i64; BLOCK],
    beyond: [T; BLOCK],
    slope: [T; BLOCK],
    exists: [[bool; BLOCK]; 2],
}

trait Coordinate: Element {
    const ZERO: Self;
    const ONE: Self;
    fn times(self, other: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn negated(self) -> Self;
    /// As `Around`, for a coordinate on an axis of so many elements.
    fn placed(self, size: Self, lattice: &Lattice) -> (i64, Self, Self, [bool; 2]);
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
            fn placed(self, n: $t, lattice: &Lattice) -> (i64, $t, $t, [bool; 2]) {
                let last = n - 1.0;
                let (start, end) = if lattice.corners { (0.0, last) } else { (-0.5, last + 0.5) };
                let span = end - start;
                let (mut at, mut slope) = ((self + 1.0) * (span / 2.0) + start, span / 2.0);
                if lattice.outside == Outside::Reflection {
                    let away = (at - start) / (2.0 * span);
                    let away = (away - away.floor()) * (2.0 * span);
                    let back = away > span;
                    at = if back { 2.0 * span - away } else { away } + start;
                    slope = if back { -slope } else { slope };
                    // One element stands for all.
                    at = if span == 0.0 { self * 0.0 } else { at };
                }
                if lattice.outside != Outside::Zeros {
                    // What is no number is the first element's, as in PyTorch.
                    slope = if (at > 0.0) & (at < last) { slope } else { 0.0 };
                    at = if at > 0.0 { at } else { 0.0 };
                    at = if at >= last { last } else { at };
                }
                let low = if lattice.nearest { at.round_ties_even() } else { at.floor() };
                let exists = [(low >= 0.0) & (low <= last), (low >= -1.0) & (low < last)];
                // SAFETY: between -1 and the last element, and no NaN.
                let number = unsafe { low.max(-1.0).min(last).to_int_unchecked::<i64>() };
                (number, at - low, slope, exists)
            }
        }
    )*};
}
coordinates!(f64 f32);

leveled! {
    /// What lies around `n` places, at most a block, whose coordinates lie `step` apart.
    unsafe fn around<T: Coordinate>(
        lattice: &Lattice, size: usize, grid: *const T, step: usize, n: usize, out: &mut Around<T>,
    ) = around_body, crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// So many coordinates are there.
#[inline(always)]
unsafe fn around_body<T: Coordinate>(
    lattice: &Lattice,
    size: usize,
    grid: *const T,
    step: usize,
    n: usize,
    out: &mut Around<T>,
) {
    let (n, size) = (n.min(BLOCK), T::of(size));
    for i in 0..n {
        // SAFETY: the caller's contract.
        let own = unsafe { *grid.add(i * step) };
        let (low, beyond, slope, exists) = own.placed(size, lattice);
        (out.low[i], out.beyond[i], out.slope[i]) = (low, beyond, slope);
        (out.exists[0][i], out.exists[1][i]) = (exists[0], exists[1]);
    }
}

/// Whether a corner is the next element along an axis.
#[inline(always)]
fn is_next(corner: usize, axis: usize) -> bool {
    (corner >> axis) & 1 == 1
}

/// Calls `body` with the number of the image, the first place and their number, and what lies around, for each block.
fn blocks<T: Coordinate>(
    lattice: &Lattice,
    grid: View,
    body: impl Fn(usize, usize, usize, &[Around<T>; 3]),
) {
    let (count, axes) = (grid.dims[1], lattice.axes);
    let (low, zeros, none) = ([0; BLOCK], [T::ZERO; BLOCK], [false; BLOCK]);
    let empty = Around { low, beyond: zeros, slope: zeros, exists: [none; 2] };
    let mut found = [empty; 3];
    for image in 0..grid.dims[0] {
        for first in (0..count).step_by(BLOCK) {
            let n = BLOCK.min(count - first);
            for (axis, found) in found[..axes].iter_mut().enumerate() {
                let from =
                    grid.at::<T>(((image * count + first) * axes + axes - 1 - axis) as isize);
                // SAFETY: the grid has so many places of as many coordinates, the last axis first.
                unsafe { around::<T>(lattice, lattice.sizes[axis], from, axes, n, found) };
            }
            body(image, first, n, &found);
        }
    }
}

fn check(lattice: &Lattice, grid: View, corners: &[(&[usize], bool)]) {
    assert!((1..=3).contains(&lattice.axes), "one to three axes");
    assert!(grid.dims.len() == 3 && grid.dims[2] == lattice.axes, "a grid of other axes");
    let dims = [grid.dims[0], lattice.taps(), grid.dims[1]];
    let fits = corners.iter().all(|(own, whole)| *own == dims && *whole);
    assert!(grid.is_contiguous() && fits, "a grid and its corners in C order");
}

/// The places (int64) and the weights, both (batch, taps, places), of the elements around the places of a grid (batch, places,
/// axes), whose last axis comes first.
pub fn corners(lattice: &Lattice, grid: View, places: ViewMut, weights: ViewMut) {
    let own = [(places.dims, places.is_contiguous()), (weights.dims, weights.is_contiguous())];
    check(lattice, grid, &own);
    assert!(places.dtype == DType::I64, "places are int64");
    launch!(
        "corners", [grid] => [places, weights]; lattice = *lattice;
        with_float!([grid, weights], T => corners_of::<T>(&lattice, grid, &places, &weights))
    );
}

fn corners_of<T: Coordinate>(lattice: &Lattice, grid: View, places: &ViewMut, weights: &ViewMut) {
    blocks::<T>(lattice, grid, |image, first, n, found| {
        for corner in 0..lattice.taps() {
            let to = ((image * lattice.taps() + corner) * grid.dims[1] + first) as isize;
            // SAFETY: `check` holds the results to these dims.
            let (places, weights) = unsafe {
                (
                    std::slice::from_raw_parts_mut(places.at::<i64>(to), n),
                    std::slice::from_raw_parts_mut(weights.at::<T>(to), n),
                )
            };
            // SAFETY: a block has at least so many places.
            unsafe { corner_of::<T>(lattice, corner, found, places, weights) };
        }
    });
}

leveled! {
    /// The places and weights of one corner of a block.
    unsafe fn corner_of<T: Coordinate>(
        lattice: &Lattice, corner: usize, found: &[Around<T>; 3], places: &mut [i64], weights: &mut [T],
    ) = corner_body, crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// There are as many places as weights, at most a block.
#[inline(always)]
unsafe fn corner_body<T: Coordinate>(
    lattice: &Lattice,
    corner: usize,
    found: &[Around<T>; 3],
    places: &mut [i64],
    weights: &mut [T],
) {
    weights.fill(T::ONE);
    places.fill(0);
    let mut exists = [true; BLOCK];
    for (axis, own) in found[..lattice.axes].iter().enumerate() {
        let (next, size) = (is_next(corner, axis), lattice.sizes[axis] as i64);
        let met = &own.exists[usize::from(next)];
        for (i, (at, w)) in places.iter_mut().zip(weights.iter_mut()).enumerate().take(BLOCK) {
            *at = at.wrapping_mul(size) + own.low[i] + i64::from(next);
            exists[i] &= met[i];
            if !lattice.nearest {
                *w = w.times(share(own.beyond[i], next));
            }
        }
    }
    for (at, exists) in places.iter_mut().zip(&exists) {
        *at = if *exists { *at } else { -1 };
    }
}

/// The share of the element below, or of the next one.
#[inline(always)]
fn share<T: Coordinate>(beyond: T, next: bool) -> T {
    if next { beyond } else { T::ONE.plus(beyond.negated()) }
}

/// The gradient by the grid of weights with the gradient `by_weights`; not for the nearest element, whose weight is constant.
pub fn corner_slopes(lattice: &Lattice, grid: View, by_weights: View, out: ViewMut) {
    check(lattice, grid, &[(by_weights.dims, by_weights.is_contiguous())]);
    assert!(out.dims == grid.dims && out.is_contiguous(), "a gradient by the grid");
    launch!(
        "corner_slopes", [grid, by_weights] => [out]; lattice = *lattice;
        with_float!([grid, by_weights, out], T => slopes_of::<T>(&lattice, grid, by_weights, &out))
    );
}

fn slopes_of<T: Coordinate>(lattice: &Lattice, grid: View, by_weights: View, out: &ViewMut) {
    let (count, axes) = (grid.dims[1], lattice.axes);
    blocks::<T>(lattice, grid, |image, first, n, found| {
        for (axis, own) in found[..axes].iter().enumerate() {
            let mut sums = [T::ZERO; BLOCK];
            for corner in 0..lattice.taps() {
                let from = ((image * lattice.taps() + corner) * count + first) as isize;
                // SAFETY: `check` holds the gradient to these dims.
                let g = unsafe { std::slice::from_raw_parts(by_weights.at::<T>(from), n) };
                let next = is_next(corner, axis);
                for (i, (sum, &g)) in sums.iter_mut().zip(g).enumerate() {
                    let mut part = if next { g } else { g.negated() };
                    for other in (0..axes).filter(|&other| other != axis) {
                        part = part.times(share(found[other].beyond[i], is_next(corner, other)));
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
