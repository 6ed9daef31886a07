//! Depthwise convolution: each channel has its own kernels. Forward, input gradient and weight
//! gradient.
//!
//! Processes rows of one channel at a time. Invariant: an element is the sum over taps in their
//! order; a weight gradient is the sum over images and strips in their order. So results do not
//! depend on the number of threads.

use super::direct::{MIN_WORK, Pointers};
use super::im2col::{ConvFloat, Scratch, copy_strided};
use super::shifted_taps::{ShiftedTaps, StripPart};
use super::simd_loops::{RowLayout, multiply_rows};
use crate::error::Result;
use crate::threads::parallel_for;

/// Windows multiplied with a channel at once.
const WINDOWS_AT_ONCE: usize = 9;
/// Padding of a strip, which the last vector may read.
const STRIP_PADDING: usize = 16;

/// Writes the convolution of the images at `x` with the kernels at `w` (+ `bias` per channel) to
/// `y`.
///
/// # Safety
/// The operands match `s`, in C order.
pub(super) unsafe fn product<T: ConvFloat>(
    s: &ShiftedTaps,
    (x, w, y): (*const T, *const T, *mut T),
    bias: Option<*const T>,
) -> Result<()> {
    let (scratch, cut, [height, width]) = (Scratch::default(), s.strip_layout(0), s.size());
    let ([source, whole], step, order) = (s.planes(), s.result_step(), s.kernel_order());
    let (offsets, strips) = (s.tap_offsets(cut), height.div_ceil(cut.rows.max(1)));
    let all = s.batch * s.groups * strips;
    let blocks = (all.saturating_mul(cut.rows * width * s.taps()) / MIN_WORK).clamp(1, all.max(1));
    let Some(mut kernels) = scratch.reserve(s.groups * order.len()) else {
        return scratch.finish();
    };
    // SAFETY: the caller's contract.
    kernels.extend(
        (0..s.groups)
            .flat_map(|g| order.iter().map(move |&k| unsafe { *w.add(g * s.kernel_len() + k) })),
    );
    let (sides, bias) = (Pointers(x, y), bias.map(|b| Pointers(b, y)));
    parallel_for(blocks, &|block| {
        let (Pointers(x, y), bias) = (&sides, &bias);
        // Rows that are strided in the result are computed in a temporary.
        let extra = if s.covers_result() { 0 } else { cut.rows * width };
        let (Some(mut strip), Some(mut rows)) =
            (scratch.zeros::<T>(s.strip(cut) + STRIP_PADDING), scratch.zeros::<T>(extra))
        else {
            return;
        };
        for job in block * all / blocks..(block + 1) * all / blocks {
            let (plane, first) = (job / strips, job % strips * cut.rows);
            let lines = RowLayout { rows: cut.rows.min(height - first), width, stride: cut.wide };
            let group = plane % s.groups;
            // SAFETY: the caller's contract; each job writes its own rows.
            unsafe {
                let part = StripPart { images: 1, first, rows: lines.rows };
                s.fill_strip((cut, false), part, (x.add(plane * source), 0), &mut strip);
                let start = bias.as_ref().map_or(T::default(), |b| *b.0.add(group));
                let y = y.add(plane * whole);
                let to = if s.covers_result() { y.add(first * width) } else { rows.as_mut_ptr() };
                let w = kernels.as_ptr().add(group * order.len());
                multiply_rows(strip.as_ptr(), &offsets, (w, start), to, lines);
                for row in (0..lines.rows).filter(|_| !s.covers_result()) {
                    let to = y.add(s.result_offset(first + row, 0));
                    copy_strided((rows.as_ptr().add(row * width), 1), (to, step), width);
                }
            }
        }
    });
    scratch.finish()
}

/// Writes the weight gradient to `w`: the products of the windows of the images at `x` with the
/// output gradient at `y`.
///
/// # Safety
/// The operands match `s`, in C order; window products are available on this CPU.
pub(super) unsafe fn correlate<T: ConvFloat>(
    s: &ShiftedTaps,
    (x, y, w): (*const T, *const T, *mut T),
) -> Result<()> {
    let (scratch, cut, [height, width]) = (Scratch::default(), s.strip_layout(0), s.size());
    let ([source, whole], taps, offsets) = (s.planes(), s.taps(), s.tap_offsets(cut));
    let work = s.batch.saturating_mul(s.groups * height * width).saturating_mul(taps);
    let blocks = (work / MIN_WORK).clamp(1, s.groups.max(1));
    let (images, sums) = (Pointers(x, w), Pointers(y, w));
    parallel_for(blocks, &|block| {
        let (Pointers(x, w), Pointers(y, _)) = (&images, &sums);
        let Some(mut strip) = scratch.zeros::<T>(s.strip(cut) + STRIP_PADDING) else {
            return;
        };
        for group in block * s.groups / blocks..(block + 1) * s.groups / blocks {
            // SAFETY: the caller's contract; each group has its own kernels.
            unsafe {
                let w = std::slice::from_raw_parts_mut(w.add(group * taps), taps);
                w.fill(T::default());
                for plane in (0..s.batch).map(|image| image * s.groups + group) {
                    for first in (0..height).step_by(cut.rows.max(1)) {
                        let rows = cut.rows.min(height - first);
                        let (lines, part) = (
                            RowLayout { rows, width, stride: cut.wide },
                            StripPart { images: 1, first, rows },
                        );
                        s.fill_strip((cut, false), part, (x.add(plane * source), 0), &mut strip);
                        let y = [y.add(plane * whole + first * width)];
                        for (w, taps) in
                            w.chunks_mut(WINDOWS_AT_ONCE).zip(offsets.chunks(WINDOWS_AT_ONCE))
                        {
                            let windows: [_; WINDOWS_AT_ONCE] =
                                std::array::from_fn(|t| taps[t.min(taps.len() - 1)]);
                            let [sums] = T::window_products(strip.as_ptr(), windows, y, lines);
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
