//! The product of images and kernels, and both of its adjoints.
//!
//! Owns: the splitting into blocks and tiles. Never multiplies itself: each tile is one product of the gemm crates, unless
//! `direct` takes the whole.
//! All operands are contiguous.
//! Invariant: tiles and blocks follow from the shapes, and sums over tiles run in one order, so the result is the
//! same at any number of threads.

use super::super::launch::launch;
use super::super::view::{View, ViewMut, with_float};
use super::geometry::Geometry;
use super::im2col::{Number, Scratch, gather, multiply, scatter};
use super::shifted_taps::{Cut, Steps};
use super::{channels_last, depthwise, direct};
use crate::error::Result;
use crate::threads::parallel_for;

/// Multiply-adds worth a block.
const SPLIT: usize = 1 << 20;
/// Positions from which on products of matrices are long enough for one tap.
const POSITIONS: usize = 64;
/// Parts into which a small batch, or the sum of a weight's gradient, is cut at most.
const PARTS: usize = 8;

/// Pointers that blocks share: each writes its own part.
#[derive(Clone, Copy)]
struct Shared<T>(*const T, *const T, *mut T);
// SAFETY: the pointers come from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

fn check(g: &Geometry, x: &[usize], w: &[usize], y: &[usize], whole: &[bool]) {
    let [own, _] = g.own();
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
        Shared(x.at(0), w.at(0), y.at(0)),
        bias.map(|b| Shared(b.at(0), b.at(0), y.at(0))),
    ))
}

fn product<T: Number>(g: &Geometry, at: Shared<T>, bias: Option<Shared<T>>) -> Result<()> {
    let [own, out] = g.own();
    let (depth, positions) = (own * g.taps(), g.output_plane());
    if positions * out * g.batch == 0 {
        return Ok(());
    }
    if let Some(steps) = Steps::forward(g) {
        // SAFETY: `check` holds the operands to the geometry.
        return unsafe { without_columns(&steps, &at, bias.map(|b| b.0)) };
    }
    let (rows, scratch) = (g.tile_rows(depth), Scratch::default());
    let tiles = g.result[0].div_ceil(rows);
    let all = g.batch * g.groups * tiles;
    let work = (rows * g.result[1]).saturating_mul(out).saturating_mul(depth);
    let blocks = (all.saturating_mul(work) / SPLIT).clamp(1, all);
    parallel_for(blocks, &|block| {
        let (at, bias) = (&at, &bias);
        let Some(mut columns) =
            scratch.zeros(if g.direct() { 0 } else { depth * rows * g.result[1] })
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
                let from = if g.direct() {
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

/// The product by tiles or rows that read images where they lie.
///
/// # Safety
/// The operands hold what `s` says.
unsafe fn without_columns<T: Number>(
    s: &Steps,
    at: &Shared<T>,
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

/// `x = y` spread back through `w`: the adjoint of `convolve` by its image, and a transposed convolution.
pub fn spread(g: &Geometry, y: View, w: View, x: ViewMut) -> Result<()> {
    check(g, x.dims, w.dims, y.dims, &[x.is_contiguous(), w.is_contiguous(), y.is_contiguous()]);
    launch!(
        "convolution_spread", [y, w] => [x]; g = *g;
        with_float!([y, w, x], T => spread_images::<T>(&g, Shared(y.at(0), w.at(0), x.at(0))))
    )
}

fn spread_images<T: Number>(g: &Geometry, at: Shared<T>) -> Result<()> {
    // Of taps that do not meet, columns are the whole work.
    let phases = g.stride[0] * g.stride[1];
    if (phases == 1 || phases < g.taps()) && Steps::backward(g, [0, 0]).is_some() {
        for steps in
            (0..phases).filter_map(|p| Steps::backward(g, [p / g.stride[1], p % g.stride[1]]))
        {
            // SAFETY: `check` holds the operands to the geometry.
            unsafe { without_columns(&steps, &at, None)? };
        }
        return Ok(());
    }
    spread_columns(g, at)
}

/// As `spread`, by way of columns.
fn spread_columns<T: Number>(g: &Geometry, at: Shared<T>) -> Result<()> {
    let ([own, out], positions, taps) = (g.own(), g.output_plane(), g.taps());
    // A block has some channels of one image: it alone adds to them, tile after tile. Few images are cut finer.
    let jobs = g.batch * g.groups;
    let work = (positions * taps * own).saturating_mul(out);
    let shares = PARTS.div_ceil(jobs.max(1)).min(work / SPLIT).clamp(1, own.max(1));
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

/// `w` = the sum of products of `y` with the windows of `x`: the adjoint of `convolve` by its kernels.
pub fn correlate(g: &Geometry, x: View, y: View, w: ViewMut) -> Result<()> {
    check(g, x.dims, w.dims, y.dims, &[x.is_contiguous(), w.is_contiguous(), y.is_contiguous()]);
    launch!(
        "convolution_correlate", [x, y] => [w]; g = *g;
        with_float!([x, y, w], T => correlate_images::<T>(&g, Shared(x.at(0), y.at(0), w.at(0))))
    )
}

fn correlate_images<T: Number>(g: &Geometry, at: Shared<T>) -> Result<()> {
    if g.batch * g.output_plane() == 0 {
        let [own, out] = g.own();
        // SAFETY: `check` holds the kernels to the geometry.
        unsafe { at.2.write_bytes(0, out * own * g.taps() * g.groups) };
        return Ok(());
    }
    let windows = direct::windows(g);
    if let Some(steps) = windows.as_ref().filter(|s| s.is_depthwise()) {
        // SAFETY: `check` holds the operands to the geometry.
        return unsafe { depthwise::correlate(steps, (at.0, at.1, at.2)) };
    }
    if let Some(s) = Steps::forward(g).filter(|_| g.taps() > 1 || g.output_plane() < POSITIONS) {
        let cut = s.cut(T::WIDE);
        if let Some(runs) = channels_last::Runs::of(&s, cut, T::WIDE) {
            // SAFETY: `check` holds the operands to the geometry.
            return unsafe { channels_last::correlate((&s, cut, &runs), (at.0, at.1, at.2)) };
        }
    }
    correlate_parts(g, windows.map(|steps| (steps.cut(0), steps)), at)
}

/// As `correlate`, by parts of the batch: window by window where there are such products, else by way of columns.
fn correlate_parts<T: Number>(
    g: &Geometry,
    windows: Option<(Cut, Steps)>,
    at: Shared<T>,
) -> Result<()> {
    let [own, out] = g.own();
    let size = out * own * g.taps();
    let work = size.saturating_mul(g.output_plane()).saturating_mul(g.batch * g.groups);
    // Partial sums over fixed parts of the batch, then added in order.
    let parts = (work / SPLIT)
        .clamp(1, PARTS)
        .min(((1 << 22) / (size * g.groups).max(1)).max(1))
        .min(g.batch.max(1));
    let scratch = Scratch::default();
    let Some(mut sums) = scratch.zeros((parts - 1) * size * g.groups) else {
        return scratch.finish();
    };
    let rest = Shared(at.0, at.1, sums.as_mut_ptr());
    let depth = own * g.taps();
    let columns_of_a_tile = match &windows {
        Some((cut, steps)) => steps.strip(*cut),
        None if g.direct() => 0,
        None => depth * g.tile_rows(depth) * g.result[1],
    };
    parallel_for(parts * g.groups, &|job| {
        let (at, rest) = (&at, &rest);
        let (part, group) = (job / g.groups, job % g.groups);
        let Some(columns) = scratch.zeros(columns_of_a_tile) else {
            return;
        };
        // SAFETY: each job writes its own part: the first ones the result, the others the partial sums.
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

/// The sum over some images for one group.
///
/// # Safety
/// `at` holds the operands of the geometry, `columns` a tile (unless direct) or the strip of `windows`, and `to` the kernels of
/// a group.
unsafe fn correlate_part<T: Number>(
    (g, windows): (&Geometry, Option<&(Cut, Steps)>),
    at: &Shared<T>,
    (group, images): (usize, std::ops::Range<usize>),
    mut columns: Vec<T>,
    to: *mut T,
) {
    let [own, out] = g.own();
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
                let windows = if g.direct() {
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
