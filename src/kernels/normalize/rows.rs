//! Layer norm and RMS norm: normalisation of rows with a weight and a bias per column, forward and
//! backward.
//!
//! Normalised rows are not saved: they are recomputed from the row and its statistics. Invariant:
//! sums over a row run over fixed blocks in float64, sums over rows over blocks that follow from
//! the shape, so results do not depend on the number of threads.

use std::hint::black_box;
use std::ops::{Mul, Sub};

use super::super::view::{View, ViewMut, with_float};
use super::launch_norm;
use super::simd_norm::normalize_rows;
use crate::array::observer;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::kernels::multiversion::multiversion;
use crate::kernels::simd::SimdFloat;
use crate::threads::{parallel_for, parallel_ranges};

/// Independent running sums of a block.
const LANES: usize = 32;
/// Elements per block of a sum.
const BLOCK: usize = 1024;
/// Elements per parallel block.
const ELEMENTS_PER_BLOCK: usize = 1 << 15;
/// Most rows in one running sum of a parameter gradient.
const MAX_ROWS_PER_SUM: usize = 256;

pub(super) trait Number:
    Element + SimdFloat + Sub<Output = Self> + Mul<Output = Self>
{
}
impl Number for f64 {}
impl Number for f32 {}

/// The sum of `term(0..n)`.
#[inline(always)]
pub(super) fn sum<T: Number>(n: usize, term: impl Fn(usize) -> T) -> f64 {
    let mut total = 0.0;
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        let wide = start + (end - start) / LANES * LANES;
        let narrow = wide + (end - wide) / 8 * 8;
        total += lane_sum::<T, LANES>(start, wide, &term).to_f64();
        total += lane_sum::<T, 8>(wide, narrow, &term).to_f64();
        total += (narrow..end).fold(T::default(), |sum, i| sum + term(i)).to_f64();
    }
    total
}

/// The sum of `term(start..end)`, a multiple of `L` terms, in `L` running sums that are then added
/// pairwise.
#[inline(always)]
fn lane_sum<T: Number, const L: usize>(start: usize, end: usize, term: impl Fn(usize) -> T) -> T {
    let mut lanes = [T::default(); L];
    if start == end {
        return lanes[0];
    }
    for at in (start..end).step_by(L) {
        for (k, lane) in lanes.iter_mut().enumerate() {
            *lane = *lane + term(at + k);
        }
    }
    if L == LANES {
        // Forces the sums through memory: otherwise LLVM uses vectors as short as the last step,
        // two elements.
        lanes = black_box(lanes);
    }
    let mut width = L;
    while width > 1 {
        width /= 2;
        for k in 0..width {
            lanes[k] = lanes[k] + lanes[k + width];
        }
    }
    lanes[0]
}

/// Rows and columns of contiguous operands.
fn shape(x: &View, others: &[bool]) -> (usize, usize) {
    assert!(x.dims.len() == 2 && others.iter().all(|&c| c), "normalize takes contiguous (rows, n)");
    (x.dims[0], x.dims[1])
}

/// Whether a parameter, if given, has one element per column and this dtype.
fn is_row_parameter(p: Option<View>, n: usize, dtype: DType) -> bool {
    p.is_none_or(|p| p.dims == [n] && p.is_contiguous() && p.dtype == dtype)
}

/// The pointer of a view, or null.
fn pointer<T: Element>(p: Option<View>) -> *const T {
    p.map_or(std::ptr::null(), |p| p.at(0))
}

/// `y = (x - mean) r weight + bias` with `r = 1 / sqrt(mean((x - mean)²) + eps)` for each row. The
/// mean is 0 unless `centred` (RMS norm). `stats` (rows, 2) receives the mean and `r`.
pub fn forward(
    x: View,
    [weight, bias]: [Option<View>; 2],
    eps: f64,
    centred: bool,
    y: ViewMut,
    stats: ViewMut,
) {
    let _paused = observer::is_active()
        .then(|| launch_norm::forward(x, [weight, bias], (eps, centred), &y, &stats));
    rows_forward(x, [weight, bias], eps, centred, &y, &stats);
}

pub(super) fn rows_forward(
    x: View,
    [weight, bias]: [Option<View>; 2],
    eps: f64,
    centred: bool,
    y: &ViewMut,
    stats: &ViewMut,
) {
    let (rows, n) = shape(&x, &[x.is_contiguous(), y.is_contiguous(), stats.is_contiguous()]);
    assert!(
        y.dims == x.dims
            && stats.dims == [rows, 2]
            && is_row_parameter(weight, n, x.dtype)
            && is_row_parameter(bias, n, x.dtype)
    );
    let blocks = (rows * n / ELEMENTS_PER_BLOCK).clamp(1, rows.max(1));
    parallel_ranges(rows, blocks, &|first, end| {
        with_float!(
            [x, y, stats],
            T => forward_block::<T>(x, [weight, bias], y, stats, (first, end - first, eps, centred))
        );
    });
}

fn forward_block<T: Number>(
    x: View,
    [weight, bias]: [Option<View>; 2],
    y: &ViewMut,
    stats: &ViewMut,
    (first, rows, eps, centred): (usize, usize, f64, bool),
) {
    let (n, skip) = (x.dims[1], (first * x.dims[1]) as isize);
    let at = ForwardOperands::<T> {
        x: x.at(skip),
        weight: pointer(weight),
        bias: pointer(bias),
        y: y.at(skip),
        stats: stats.at(2 * first as isize),
    };
    // SAFETY: the views are contiguous and hold these rows; the parameters hold `n` elements.
    unsafe {
        if normalize_rows(at, n, rows, eps, centred).is_none() {
            forward_rows(at, n, rows, eps, centred);
        }
    }
}

/// Pointers to the operands of some rows; parameters may be null.
#[derive(Clone, Copy)]
pub(super) struct ForwardOperands<T> {
    pub(super) x: *const T,
    pub(super) weight: *const T,
    pub(super) bias: *const T,
    pub(super) y: *mut T,
    pub(super) stats: *mut T,
}

/// # Safety
/// `x` and `y` hold `rows` rows of `n` elements, `stats` two elements per row, parameters `n` elements.
unsafe fn forward_rows<T: Number>(
    at: ForwardOperands<T>,
    n: usize,
    rows: usize,
    eps: f64,
    centred: bool,
) {
    let ForwardOperands { weight, bias, .. } = at;
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (x, y) = (at.x.add(row * n), at.y.add(row * n));
            let mean = if centred { sum(n, |i| *x.add(i)) / n as f64 } else { 0.0 };
            let mean = T::from_f64(mean);
            let square = |i: usize| {
                let d = *x.add(i) - mean;
                d * d
            };
            let scale = T::from_f64((sum(n, square) / n as f64 + eps).sqrt().recip());
            *at.stats.add(2 * row) = mean;
            *at.stats.add(2 * row + 1) = scale;
            let normal = |i: usize| (*x.add(i) - mean) * scale;
            match (weight.is_null(), bias.is_null()) {
                (true, true) => fill(n, y, normal),
                (false, true) => fill(n, y, |i| normal(i) * *weight.add(i)),
                (true, false) => fill(n, y, |i| normal(i) + *bias.add(i)),
                (false, false) => fill(n, y, |i| normal(i) * *weight.add(i) + *bias.add(i)),
            }
        }
    }
}

/// # Safety
/// `y` holds `n` elements.
#[inline(always)]
pub(super) unsafe fn fill<T>(n: usize, y: *mut T, value: impl Fn(usize) -> T) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        unsafe { *y.add(i) = value(i) };
    }
}

/// The outputs of the backward pass; `None` if not wanted.
pub struct Gradients<'a> {
    /// `r (h - mean(h) - y mean(h y))` with `h = g weight` and `y` the normalised row; without
    /// `mean(h)` unless `centred`.
    pub x: Option<ViewMut<'a>>,
    /// The sum of `g y` over the rows.
    pub weight: Option<ViewMut<'a>>,
    /// The sum of `g` over the rows.
    pub bias: Option<ViewMut<'a>>,
}

/// The gradients of `forward` from its operands and statistics.
pub fn backward(
    x: View,
    weight: Option<View>,
    stats: View,
    g: View,
    centred: bool,
    out: Gradients,
) -> Result<()> {
    let _paused =
        observer::is_active().then(|| launch_norm::backward([x, stats, g], weight, centred, &out));
    rows_backward(x, weight, stats, g, centred, out)
}

pub(super) fn rows_backward(
    x: View,
    weight: Option<View>,
    stats: View,
    g: View,
    centred: bool,
    out: Gradients,
) -> Result<()> {
    let (_, n) = shape(&x, &[x.is_contiguous(), stats.is_contiguous(), g.is_contiguous()]);
    assert!(
        g.dims == x.dims && stats.dims == [x.dims[0], 2] && is_row_parameter(weight, n, x.dtype)
    );
    assert!(
        out.x.as_ref().is_none_or(|o| o.dims == x.dims && o.is_contiguous() && o.dtype == x.dtype)
    );
    for sums in [&out.weight, &out.bias].into_iter().flatten() {
        assert!(sums.dims == [n] && sums.is_contiguous() && sums.dtype == x.dtype);
    }
    with_float!([x, stats, g], T => backward_typed::<T>(x, weight, stats, g, centred, out))
}

fn backward_typed<T: Number>(
    x: View,
    weight: Option<View>,
    stats: View,
    g: View,
    centred: bool,
    out: Gradients,
) -> Result<()> {
    let (rows, n) = (x.dims[0], x.dims[1]);
    let summed = out.weight.is_some() || out.bias.is_some();
    let most = if summed { rows.div_ceil(MAX_ROWS_PER_SUM) } else { 1 };
    let blocks = (rows * n / ELEMENTS_PER_BLOCK).max(most).clamp(1, rows.max(1));
    // Per block: the sums for the weight, then those for the bias.
    let mut sums = zeros::<T>(if summed { 2 * n * blocks } else { 0 })?;
    let partial = PartialSums(sums.as_mut_ptr());
    parallel_for(blocks, &|i| {
        let (first, partial) = (i * rows / blocks, &partial);
        let skip = (first * n) as isize;
        let slot = |wanted: bool, part: usize| {
            if wanted { partial.0.wrapping_add((2 * i + part) * n) } else { std::ptr::null_mut() }
        };
        let at = BackwardOperands::<T> {
            x: x.at(skip),
            weight: pointer(weight),
            stats: stats.at(2 * first as isize),
            g: g.at(skip),
            out: out.x.as_ref().map_or(std::ptr::null_mut(), |o| o.at(skip)),
            to_weight: slot(out.weight.is_some(), 0),
            to_bias: slot(out.bias.is_some(), 1),
        };
        // SAFETY: the views hold these rows, and each block has its own part of `sums`.
        unsafe { backward_rows(at, n, (i + 1) * rows / blocks - first, centred) };
    });
    for (part, to) in [&out.weight, &out.bias].into_iter().enumerate() {
        let Some(to) = to else { continue };
        for i in 0..n {
            let total: f64 = (0..blocks).map(|b| sums[(2 * b + part) * n + i].to_f64()).sum();
            // SAFETY: the view is contiguous and holds `n` elements.
            unsafe { *to.at::<T>(i as isize) = T::from_f64(total) };
        }
    }
    Ok(())
}

/// The partial sums of the blocks, each of which writes its own.
struct PartialSums<T>(*mut T);
// SAFETY: blocks write disjoint parts.
unsafe impl<T> Sync for PartialSums<T> {}

fn zeros<T: Number>(len: usize) -> Result<Vec<T>> {
    let mut buffer = Vec::new();
    if buffer.try_reserve_exact(len).is_err() {
        return Err(Box::new(Error::Memory { bytes: len.saturating_mul(size_of::<T>()) }));
    }
    buffer.resize(len, T::default());
    Ok(buffer)
}

/// Pointers to the operands of some rows; the weight and unwanted outputs are null.
#[derive(Clone, Copy)]
struct BackwardOperands<T> {
    x: *const T,
    weight: *const T,
    stats: *const T,
    g: *const T,
    out: *mut T,
    to_weight: *mut T,
    to_bias: *mut T,
}

multiversion! {
    /// The backward pass of `rows` rows of `n` elements.
    unsafe fn backward_rows<T: Number>(
        at: BackwardOperands<T>, n: usize, rows: usize, centred: bool,
    ) = backward_rows_body
}

/// # Safety
/// `x`, `g` and `out` hold `rows` rows of `n` elements, `stats` two elements per row, the others `n` elements.
#[inline(always)]
unsafe fn backward_rows_body<T: Number>(
    at: BackwardOperands<T>,
    n: usize,
    rows: usize,
    centred: bool,
) {
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (x, g) = (at.x.add(row * n), at.g.add(row * n));
            let (mean, scale) = (*at.stats.add(2 * row), *at.stats.add(2 * row + 1));
            let normal = |i: usize| (*x.add(i) - mean) * scale;
            let (to_weight, to_bias, weight) = (at.to_weight, at.to_bias, at.weight);
            if !to_weight.is_null() {
                fill(n, to_weight, |i| *to_weight.add(i) + *g.add(i) * normal(i));
            }
            if !to_bias.is_null() {
                fill(n, to_bias, |i| *to_bias.add(i) + *g.add(i));
            }
            if at.out.is_null() {
                continue;
            }
            let out = at.out.add(row * n);
            if weight.is_null() {
                input_gradient(n, out, |i| *g.add(i), normal, scale, centred);
            } else {
                input_gradient(n, out, |i| *g.add(i) * *weight.add(i), normal, scale, centred);
            }
        }
    }
}

/// `out = scale (h - mean(h) - y mean(h y))`.
///
/// # Safety
/// `out` holds `n` elements.
#[inline(always)]
unsafe fn input_gradient<T: Number>(
    n: usize,
    out: *mut T,
    h: impl Fn(usize) -> T,
    y: impl Fn(usize) -> T,
    scale: T,
    centred: bool,
) {
    let mean = if centred { sum(n, &h) / n as f64 } else { 0.0 };
    let dot = sum(n, |i| h(i) * y(i)) / n as f64;
    let (mean, dot) = (T::from_f64(mean), T::from_f64(dot));
    // SAFETY: the caller's contract.
    unsafe { fill(n, out, |i| ((h(i) - mean) - y(i) * dot) * scale) };
}
