//! Products of images and kernels where each channel has kernels of its own: rows of one channel at a time.
//!
//! Owns: the walk over planes, forward, backward and for the kernels' gradient. Never multiplies: `lanes` does.
//! Invariant: an element is the sum over taps in their order; a gradient of kernels is one over images and strips in their
//! order. So the results are the same at any number of threads.

use super::direct::{SPLIT, Sides};
use super::im2col::{Number, Scratch, copy_apart};
use super::shifted_taps::{Part, Steps};
use super::simd_loops::Lines;
use crate::error::Result;
use crate::threads::parallel_for;

/// Windows whose products with a channel are taken together.
const WINDOWS: usize = 9;
/// Elements behind a strip that the last vector may read.
const BEHIND: usize = 16;

/// The product of the images at `x` and the kernels at `w` (+ `bias` per channel) at `y`.
///
/// # Safety
/// The operands hold what `s` says, in C order.
pub(super) unsafe fn product<T: Number>(
    s: &Steps,
    (x, w, y): (*const T, *const T, *mut T),
    bias: Option<*const T>,
) -> Result<()> {
    let (scratch, cut, [height, width]) = (Scratch::default(), s.cut(0), s.size());
    let ([source, whole], step, order) = (s.planes(), s.step(), s.order());
    let (offsets, strips) = (s.offsets(cut), height.div_ceil(cut.rows.max(1)));
    let all = s.batch * s.groups * strips;
    let blocks = (all.saturating_mul(cut.rows * width * s.taps()) / SPLIT).clamp(1, all.max(1));
    let Some(mut kernels) = scratch.room(s.groups * order.len()) else {
        return scratch.finish();
    };
    // SAFETY: the caller's contract.
    kernels.extend(
        (0..s.groups)
            .flat_map(|g| order.iter().map(move |&k| unsafe { *w.add(g * s.kernels() + k) })),
    );
    let (sides, bias) = (Sides(x, y), bias.map(|b| Sides(b, y)));
    parallel_for(blocks, &|block| {
        let (Sides(x, y), bias) = (&sides, &bias);
        // Rows whose neighbours lie apart in the result are computed beside it.
        let beside = if s.whole() { 0 } else { cut.rows * width };
        let (Some(mut strip), Some(mut rows)) =
            (scratch.zeros::<T>(s.strip(cut) + BEHIND), scratch.zeros::<T>(beside))
        else {
            return;
        };
        for job in block * all / blocks..(block + 1) * all / blocks {
            let (plane, first) = (job / strips, job % strips * cut.rows);
            let lines = Lines { rows: cut.rows.min(height - first), width, apart: cut.wide };
            let group = plane % s.groups;
            // SAFETY: the caller's contract; each job writes rows of its own.
            unsafe {
                let part = Part { images: 1, first, rows: lines.rows };
                s.lay((cut, false), part, (x.add(plane * source), 0), &mut strip);
                let start = bias.as_ref().map_or(T::default(), |b| *b.0.add(group));
                let y = y.add(plane * whole);
                let to = if s.whole() { y.add(first * width) } else { rows.as_mut_ptr() };
                let w = kernels.as_ptr().add(group * order.len());
                T::rows(strip.as_ptr(), &offsets, (w, start), to, lines);
                for row in (0..lines.rows).filter(|_| !s.whole()) {
                    let to = y.add(s.place(first + row, 0));
                    copy_apart((rows.as_ptr().add(row * width), 1), (to, step), width);
                }
            }
        }
    });
    scratch.finish()
}

/// The gradient of the kernels at `w`: the products of the windows of the images at `x` with the results' gradient at `y`.
///
/// # Safety
/// The operands hold what `s` says, in C order; products with windows are available.
pub(super) unsafe fn correlate<T: Number>(
    s: &Steps,
    (x, y, w): (*const T, *const T, *mut T),
) -> Result<()> {
    let (scratch, cut, [height, width]) = (Scratch::default(), s.cut(0), s.size());
    let ([source, whole], taps, offsets) = (s.planes(), s.taps(), s.offsets(cut));
    let work = s.batch.saturating_mul(s.groups * height * width).saturating_mul(taps);
    let blocks = (work / SPLIT).clamp(1, s.groups.max(1));
    let (images, sums) = (Sides(x, w), Sides(y, w));
    parallel_for(blocks, &|block| {
        let (Sides(x, w), Sides(y, _)) = (&images, &sums);
        let Some(mut strip) = scratch.zeros::<T>(s.strip(cut) + BEHIND) else {
            return;
        };
        for group in block * s.groups / blocks..(block + 1) * s.groups / blocks {
            // SAFETY: the caller's contract; each group has kernels of its own.
            unsafe {
                let w = std::slice::from_raw_parts_mut(w.add(group * taps), taps);
                w.fill(T::default());
                for plane in (0..s.batch).map(|image| image * s.groups + group) {
                    for first in (0..height).step_by(cut.rows.max(1)) {
                        let rows = cut.rows.min(height - first);
                        let (lines, part) = (
                            Lines { rows, width, apart: cut.wide },
                            Part { images: 1, first, rows },
                        );
                        s.lay((cut, false), part, (x.add(plane * source), 0), &mut strip);
                        let y = [y.add(plane * whole + first * width)];
                        for (w, taps) in w.chunks_mut(WINDOWS).zip(offsets.chunks(WINDOWS)) {
                            let windows: [_; WINDOWS] =
                                std::array::from_fn(|t| taps[t.min(taps.len() - 1)]);
                            let [sums] = T::products(strip.as_ptr(), windows, y, lines);
                            for (w, sum) in w.iter_mut().zip(sums) {
                                *w = *w + sum;
                            }
                        }
                    }
                }
            }
        }
    });
    scratch.finish()
}
