//! Convolution, its input gradient (transposed convolution) and its weight gradient: dispatch, and
//! the im2col path.
//!
//! All operands are contiguous. Invariant: tiles and blocks follow from the shapes, and sums over
//! tiles run in one order, so results do not depend on the number of threads.

use super::super::launch::launch;
use super::super::view::{View, ViewMut, with_float};
use super::geometry::Geometry;
use super::im2col::{ConvFloat, Scratch, gather, multiply, scatter};
use super::shifted_taps::{ShiftedTaps, StripLayout};
use super::{channels_last, depthwise, direct};
use crate::error::Result;
use crate::threads::parallel_for;

/// Minimum multiply-adds of a parallel block.
const MIN_WORK: usize = 1 << 20;
/// Output positions from which a matrix product is used for a 1 × 1 kernel.
const MIN_GEMM_POSITIONS: usize = 64;
/// Most parts into which a small batch, or the sum of a weight gradient, is split.
const MAX_PARTS: usize = 8;

/// Pointers shared by the blocks, each of which writes its own part.
#[derive(Clone, Copy)]
struct Pointers<T>(*const T, *const T, *mut T);
// SAFETY: the pointers come from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl<T> Send for Pointers<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Pointers<T> {}

fn check(g: &Geometry, x: &[usize], w: &[usize], y: &[usize], whole: &[bool]) {
    let [own, _] = g.group_channels();
    assert!(whole.iter().all(|&c| c), "convolution takes contiguous operands");
    assert!(
        x == [g.batch, g.channels[0], g.image[0], g.image[1]]
            && w == [g.channels[1], own, g.kernel[0], g.kernel[1]]
            && y == [g.batch, g.channels[1], g.result[0], g.result[1]],
        "convolution: the shapes do not agree"
    );
}

/// `y = x * w` (+ `bias` per channel).
pub fn convolve(g: &Geometry, x: View, w: View, bias: Option<View>, y: ViewMut) -> Result<()> {
    check(g, x.dims, w.dims, y.dims, &[x.is_contiguous(), w.is_contiguous(), y.is_contiguous()]);
    assert!(bias.is_none_or(|b| b.dims == [g.channels[1]] && b.is_contiguous()));
    assert!(bias.is_none_or(|b| b.dtype == x.dtype), "convolution: the bias has another dtype");
    match bias {
        None => launch!(
            "convolution", [x, w] => [y]; g = *g; convolve_images(&g, [x, w], None, y)
        ),
        Some(bias) => launch!(
            "convolution", [x, w, bias] => [y]; g = *g; convolve_images(&g, [x, w], Some(bias), y)
        ),
    }
}

fn convolve_images(g: &Geometry, [x, w]: [View; 2], bias: Option<View>, y: ViewMut) -> Result<()> {
    with_float!([x, w, y], T => product::<T>(
        g,
        Pointers(x.at(0), w.at(0), y.at(0)),
        bias.map(|b| Pointers(b.at(0), b.at(0), y.at(0))),
    ))
}

fn product<T: ConvFloat>(g: &Geometry, at: Pointers<T>, bias: Option<Pointers<T>>) -> Result<()> {
    let [own, out] = g.group_channels();
    let (depth, positions) = (own * g.taps(), g.output_plane());
    if positions * out * g.batch == 0 {
        return Ok(());
    }
    if let Some(steps) = ShiftedTaps::forward(g) {
        // SAFETY: `check` holds the operands to the geometry.
        return unsafe { product_by_taps(&steps, &at, bias.map(|b| b.0)) };
    }
    let (rows, scratch) = (g.tile_rows(depth), Scratch::default());
    let tiles = g.result[0].div_ceil(rows);
    let all = g.batch * g.groups * tiles;
    let work = (rows * g.result[1]).saturating_mul(out).saturating_mul(depth);
    let blocks = (all.saturating_mul(work) / MIN_WORK).clamp(1, all);
    parallel_for(blocks, &|block| {
        let (at, bias) = (&at, &bias);
        let Some(mut columns) =
            scratch.zeros(if g.is_pointwise() { 0 } else { depth * rows * g.result[1] })
        else {
            return;
        };
        for job in block * all / blocks..(block + 1) * all / blocks {
            let (image, group, first) =
                (job / (g.groups * tiles), job / tiles % g.groups, job % tiles * rows);
            let (rows, skip) = (rows.min(g.result[0] - first), first * g.result[1]);
            let width = rows * g.result[1];
            // SAFETY: `check` holds the operands to the geometry, and each job writes its own part of `y`.
            unsafe {
                let x = at.0.add((image * g.channels[0] + group * own) * g.plane());
                let w = at.1.add(group * out * depth);
                let y = at.2.add((image * g.channels[1] + group * out) * positions + skip);
                for channel in 0..out {
                    let start = bias.map_or(T::default(), |b| *b.0.add(group * out + channel));
                    std::slice::from_raw_parts_mut(y.add(channel * positions), width).fill(start);
                }
                let from = if g.is_pointwise() {
                    (x.add(skip), positions, 1)
                } else {
                    gather(g, x, own, first, rows, columns.as_mut_ptr());
                    (columns.as_ptr(), width, 1)
                };
                multiply((out, width, depth), (w, depth, 1), from, (y, positions, 1), true);
            }
        }
    });
    scratch.finish()
}

/// The product without im2col.
///
/// # Safety
/// The operands match `s`.
unsafe fn product_by_taps<T: ConvFloat>(
    s: &ShiftedTaps,
    at: &Pointers<T>,
    bias: Option<*const T>,
) -> Result<()> {
    if s.size().contains(&0) {
        return Ok(());
    }
    // SAFETY: the caller's contract.
    unsafe {
        if s.is_depthwise() {
            depthwise::product(s, (at.0, at.1, at.2), bias)
        } else {
            direct::product(s, (at.0, at.1, at.2), bias)
        }
    }
}

/// Transposed convolution `x` of `y` with `w`: the adjoint of `convolve` for the image.
pub fn convolve_transposed(g: &Geometry, y: View, w: View, x: ViewMut) -> Result<()> {
    check(g, x.dims, w.dims, y.dims, &[x.is_contiguous(), w.is_contiguous(), y.is_contiguous()]);
    launch!(
        "convolution_spread", [y, w] => [x]; g = *g;
        with_float!([y, w, x], T => transposed_images::<T>(&g, Pointers(y.at(0), w.at(0), x.at(0))))
    )
}

fn transposed_images<T: ConvFloat>(g: &Geometry, at: Pointers<T>) -> Result<()> {
    // If every phase has a single tap, im2col is not more work.
    let phases = g.stride[0] * g.stride[1];
    if (phases == 1 || phases < g.taps()) && ShiftedTaps::backward(g, [0, 0]).is_some() {
        for steps in
            (0..phases).filter_map(|p| ShiftedTaps::backward(g, [p / g.stride[1], p % g.stride[1]]))
        {
            // SAFETY: `check` holds the operands to the geometry.
            unsafe { product_by_taps(&steps, &at, None)? };
        }
        return Ok(());
    }
    transposed_by_columns(g, at)
}

/// As `convolve_transposed`, by im2col.
fn transposed_by_columns<T: ConvFloat>(g: &Geometry, at: Pointers<T>) -> Result<()> {
    let ([own, out], positions, taps) = (g.group_channels(), g.output_plane(), g.taps());
    // A block owns some channels of one image and adds to them tile by tile. Few images are split
    // finer.
    let jobs = g.batch * g.groups;
    let work = (positions * taps * own).saturating_mul(out);
    let shares = MAX_PARTS.div_ceil(jobs.max(1)).min(work / MIN_WORK).clamp(1, own.max(1));
    let share = own.div_ceil(shares).max(1);
    let (shares, scratch) = (own.div_ceil(share), Scratch::default());
    parallel_for(g.batch * g.groups * shares, &|job| {
        let at = &at;
        let (image, group, part) =
            (job / (g.groups * shares), job / shares % g.groups, job % shares);
        let (channel, channels) = (part * share, share.min(own - part * share));
        let depth = channels * taps;
        let rows = g.tile_rows(depth);
        let Some(mut columns) = scratch.zeros(depth * rows * g.result[1]) else {
            return;
        };
        // SAFETY: `check` holds the operands to the geometry, and each job writes its own channels of `x`.
        unsafe {
            let x = at.2.add((image * g.channels[0] + group * own + channel) * g.plane());
            std::slice::from_raw_parts_mut(x, channels * g.plane()).fill(T::default());
            let w = at.1.add(group * out * own * taps + channel * taps);
            for first in (0..g.result[0]).step_by(rows) {
                let rows = rows.min(g.result[0] - first);
                let width = rows * g.result[1];
                let y = at
                    .0
                    .add((image * g.channels[1] + group * out) * positions + first * g.result[1]);
                let to = columns.as_mut_ptr();
                multiply(
                    (depth, width, out),
                    (w, 1, own * taps),
                    (y, positions, 1),
                    (to, width, 1),
                    false,
                );
                scatter(g, to, channels, first, rows, x);
            }
        }
    });
    scratch.finish()
}

/// `w` = the sum of products of `y` with the windows of `x`: the adjoint of `convolve` for the
/// kernels.
pub fn correlate(g: &Geometry, x: View, y: View, w: ViewMut) -> Result<()> {
    check(g, x.dims, w.dims, y.dims, &[x.is_contiguous(), w.is_contiguous(), y.is_contiguous()]);
    launch!(
        "convolution_correlate", [x, y] => [w]; g = *g;
        with_float!([x, y, w], T => correlate_images::<T>(&g, Pointers(x.at(0), y.at(0), w.at(0))))
    )
}

fn correlate_images<T: ConvFloat>(g: &Geometry, at: Pointers<T>) -> Result<()> {
    if g.batch * g.output_plane() == 0 {
        let [own, out] = g.group_channels();
        // SAFETY: `check` holds the kernels to the geometry.
        unsafe { at.2.write_bytes(0, out * own * g.taps() * g.groups) };
        return Ok(());
    }
    let windows = direct::windowed_gradient(g);
    if let Some(steps) = windows.as_ref().filter(|s| s.is_depthwise()) {
        // SAFETY: `check` holds the operands to the geometry.
        return unsafe { depthwise::correlate(steps, (at.0, at.1, at.2)) };
    }
    if let Some(s) =
        ShiftedTaps::forward(g).filter(|_| g.taps() > 1 || g.output_plane() < MIN_GEMM_POSITIONS)
    {
        let cut = s.strip_layout(T::TILE_POSITIONS);
        if let Some(runs) = channels_last::TapRuns::of(&s, cut, T::TILE_POSITIONS) {
            // SAFETY: `check` holds the operands to the geometry.
            return unsafe { channels_last::correlate((&s, cut, &runs), (at.0, at.1, at.2)) };
        }
    }
    correlate_parts(g, windows.map(|steps| (steps.strip_layout(0), steps)), at)
}

/// As `correlate`, by parts of the batch: window by window if `windows` is given, else by im2col.
fn correlate_parts<T: ConvFloat>(
    g: &Geometry,
    windows: Option<(StripLayout, ShiftedTaps)>,
    at: Pointers<T>,
) -> Result<()> {
    let [own, out] = g.group_channels();
    let size = out * own * g.taps();
    let work = size.saturating_mul(g.output_plane()).saturating_mul(g.batch * g.groups);
    // Partial sums over fixed parts of the batch are added in order.
    let parts = (work / MIN_WORK)
        .clamp(1, MAX_PARTS)
        .min(((1 << 22) / (size * g.groups).max(1)).max(1))
        .min(g.batch.max(1));
    let scratch = Scratch::default();
    let Some(mut sums) = scratch.zeros((parts - 1) * size * g.groups) else {
        return scratch.finish();
    };
    let rest = Pointers(at.0, at.1, sums.as_mut_ptr());
    let depth = own * g.taps();
    let scratch_elements = match &windows {
        Some((cut, steps)) => steps.strip(*cut),
        None if g.is_pointwise() => 0,
        None => depth * g.tile_rows(depth) * g.result[1],
    };
    parallel_for(parts * g.groups, &|job| {
        let (at, rest) = (&at, &rest);
        let (part, group) = (job / g.groups, job % g.groups);
        let Some(columns) = scratch.zeros(scratch_elements) else {
            return;
        };
        // SAFETY: each job writes its own part: the first ones the result, the others the partial
        // sums.
        unsafe {
            let to = match part.checked_sub(1) {
                None => at.2.add(group * size),
                Some(part) => rest.2.add((part * g.groups + group) * size),
            };
            let images = part * g.batch / parts..(part + 1) * g.batch / parts;
            correlate_part((g, windows.as_ref()), at, (group, images), columns, to);
        }
    });
    // SAFETY: the result holds `size` elements per group, all written above.
    let total = unsafe { std::slice::from_raw_parts_mut(at.2, size * g.groups) };
    for part in sums.chunks_exact((size * g.groups).max(1)) {
        for (sum, more) in total.iter_mut().zip(part) {
            *sum = *sum + *more;
        }
    }
    scratch.finish()
}

/// The sum over some images of one group.
///
/// # Safety
/// `at` holds the operands of the geometry, `columns` an im2col tile (unless pointwise) or the
/// strip of `windows`, and `to` the kernels of a group.
unsafe fn correlate_part<T: ConvFloat>(
    (g, windows): (&Geometry, Option<&(StripLayout, ShiftedTaps)>),
    at: &Pointers<T>,
    (group, images): (usize, std::ops::Range<usize>),
    mut columns: Vec<T>,
    to: *mut T,
) {
    let [own, out] = g.group_channels();
    let (depth, positions) = (own * g.taps(), g.output_plane());
    let rows = g.tile_rows(depth);
    // SAFETY: the caller's contract.
    unsafe {
        std::slice::from_raw_parts_mut(to, out * depth).fill(T::default());
        for image in images {
            let x = at.0.add((image * g.channels[0] + group * own) * g.plane());
            let y = at.1.add((image * g.channels[1] + group * out) * positions);
            if let Some((cut, steps)) = windows {
                direct::add_products((steps, *cut), (x, y, to), &mut columns);
                continue;
            }
            for first in (0..g.result[0]).step_by(rows) {
                let rows = rows.min(g.result[0] - first);
                let (width, skip) = (rows * g.result[1], first * g.result[1]);
                let windows = if g.is_pointwise() {
                    (x.add(skip), 1, positions)
                } else {
                    gather(g, x, own, first, rows, columns.as_mut_ptr());
                    (columns.as_ptr(), 1, width)
                };
                multiply(
                    (out, depth, width),
                    (y.add(skip), positions, 1),
                    windows,
                    (to, depth, 1),
                    true,
                );
            }
        }
    }
}
