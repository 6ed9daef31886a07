//! Products of images and kernels that move by single steps, without columns: the image is read where it lies.
//!
//! Owns: `Steps`, the strips of an image with zeros around it, and the walk over tiles. Never multiplies: `lanes` does.
//! Invariant: an element is the sum over channels and taps in their order, whatever tile or strip it lies in, so the
//! result is the same at any number of threads.

use super::geometry::Geometry;
use super::lanes::{Lines, MOST, OUT, WINDOWS, available, windows_available};
use super::tiles::{Number, Scratch};
use crate::error::Result;
use crate::threads::parallel_for;

/// Multiply-adds worth a block.
const SPLIT: usize = 1 << 20;
/// Elements of a strip of an image, about: it stays in the second-level cache.
const STRIP: usize = 1 << 17;
/// Windows up to which a gradient is taken window by window; above, columns and one product of matrices are as fast.
const DEPTH: usize = 256;
/// Rows of a strip at least.
const ROWS: usize = 8;

/// What such a product is; one group has `channels` of an image and of a result.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    batch: usize,
    groups: usize,
    channels: [usize; 2],
    image: [usize; 2],
    result: [usize; 2],
    kernel: [usize; 2],
    dilation: [usize; 2],
    /// Zeros before the image.
    before: [usize; 2],
    /// Whether the kernels are those of the adjoint: from the result's channels to the image's, last tap first.
    adjoint: bool,
}

impl Steps {
    /// A convolution, if tiles are good for it.
    pub(super) fn forward(g: &Geometry) -> Option<Steps> {
        let Geometry { batch, groups, image, result, kernel, dilation, padding, .. } = *g;
        let channels = g.own();
        let before = padding;
        let steps = Steps {
            batch,
            groups,
            channels,
            image,
            result,
            kernel,
            dilation,
            before,
            adjoint: false,
        };
        steps.good(g)
    }

    /// The adjoint of one by its image.
    pub(super) fn backward(g: &Geometry) -> Option<Steps> {
        let [own, out] = g.own();
        let reach = |axis: usize| (g.kernel[axis] - 1) * g.dilation[axis];
        let before = [reach(0).checked_sub(g.padding[0])?, reach(1).checked_sub(g.padding[1])?];
        let (channels, image, result) = ([out, own], g.result, g.image);
        let steps = Steps { channels, image, result, before, adjoint: true, ..Steps::forward(g)? };
        steps.good(g)
    }

    /// A convolution whose kernels' gradient is good as products with windows: its results stay near while the windows of few
    /// channels pass.
    pub(super) fn windows(g: &Geometry) -> Option<Steps> {
        let few = |s: &Steps| s.channels[0] * s.taps() <= DEPTH;
        Steps::forward(g).filter(few).filter(|_| windows_available())
    }

    /// Elements of a strip, of all its channels.
    pub(super) fn strip(&self) -> usize {
        self.channels[0] * self.plane()
    }

    fn good(self, g: &Geometry) -> Option<Steps> {
        let some = self.batch * self.result[0] * self.result[1] * self.channels[0] > 0;
        // A tile has several channels; one tap alone is a product of matrices.
        let fits = g.stride == [1, 1] && g.taps() > 1 && self.channels[1] > 1;
        (some && fits && available()).then_some(self)
    }

    fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// The rows or columns that a window has beyond its first.
    fn reach(&self, axis: usize) -> usize {
        (self.kernel[axis] - 1) * self.dilation[axis]
    }

    /// Columns of a strip.
    fn wide(&self) -> usize {
        self.result[1] + self.reach(1)
    }

    /// Rows of the result that belong to a strip.
    fn rows(&self) -> usize {
        let rows = STRIP / (self.channels[0] * self.wide());
        rows.max(self.reach(0)).max(ROWS).min(self.result[0])
    }

    /// Elements of one channel of a strip.
    fn plane(&self) -> usize {
        (self.rows() + self.reach(0)) * self.wide()
    }

    /// Where the taps of all channels lie in a strip, from the position of a result.
    fn offsets(&self) -> Vec<usize> {
        let tap = |k: usize| {
            let (row, column) = (k / self.kernel[1], k % self.kernel[1]);
            row * self.dilation[0] * self.wide() + column * self.dilation[1]
        };
        let all = 0..self.channels[0] * self.taps();
        all.map(|k| k / self.taps() * self.plane() + tap(k % self.taps())).collect()
    }

    /// The kernels in the order of tiles: for a group and `OUT` channels of the result, one row for each channel of the image
    /// and tap; and what the elements of these channels begin with.
    ///
    /// # Safety
    /// `w` holds the kernels, and `bias` one element per channel.
    unsafe fn packed<T: Number>(
        &self,
        w: *const T,
        bias: Option<*const T>,
        scratch: &Scratch,
    ) -> Option<(Vec<T>, Vec<T>)> {
        let ([own, out], taps) = (self.channels, self.taps());
        let parts = out.div_ceil(OUT);
        let mut starts = scratch.zeros(self.groups * parts * OUT)?;
        let mut packed = scratch.zeros(self.groups * parts * own * taps * OUT)?;
        for (row, to) in packed.chunks_exact_mut(OUT).enumerate() {
            let (part, channel, tap) = (row / taps / own, row / taps % own, row % taps);
            let (group, first) = (part / parts, part % parts * OUT);
            for (k, slot) in to.iter_mut().enumerate().take(out - first) {
                let at = if self.adjoint {
                    ((group * own + channel) * out + first + k) * taps + taps - 1 - tap
                } else {
                    ((group * out + first + k) * own + channel) * taps + tap
                };
                // SAFETY: the caller's contract.
                *slot = unsafe { *w.add(at) };
            }
        }
        for (k, start) in starts.iter_mut().enumerate() {
            let (group, channel) = (k / (parts * OUT), k % (parts * OUT));
            if let Some(bias) = bias.filter(|_| channel < out) {
                // SAFETY: the caller's contract.
                *start = unsafe { *bias.add(group * out + channel) };
            }
        }
        Some((packed, starts))
    }

    /// Copies the channels at `x` to a strip that begins `first` rows into the result, with zeros around the image. Columns
    /// beside the image are zeros already.
    ///
    /// # Safety
    /// `x` holds the channels of a group, `strip` as many planes.
    unsafe fn lay<T: Number>(&self, x: *const T, first: usize, rows: usize, strip: &mut [T]) {
        let (wide, width) = (self.wide(), self.image[1]);
        let len = width.min(wide - self.before[1].min(wide));
        let planes = strip.chunks_exact_mut(self.plane()).enumerate();
        for (channel, plane) in planes.take(self.channels[0]) {
            for (i, line) in plane.chunks_exact_mut(wide).enumerate().take(rows + self.reach(0)) {
                let row = (first + i).wrapping_sub(self.before[0]);
                if row >= self.image[0] || len == 0 {
                    line.fill(T::default());
                    continue;
                }
                // SAFETY: the row is one of the image, of which no more than a row is read.
                unsafe {
                    let from = x.add((channel * self.image[0] + row) * width);
                    let to = line.as_mut_ptr().add(self.before[1]);
                    std::ptr::copy_nonoverlapping(from, to, len);
                }
            }
        }
    }
}

/// Adds to `w`, the gradient of a group's kernels, what one image gives, of which the group's channels begin at `x` and those of
/// the result's gradient at `y`.
///
/// # Safety
/// The operands hold what `s` says, and `strip` a strip with zeros beside the image.
pub(super) unsafe fn add_products<T: Number>(
    s: &Steps,
    (x, y, w): (*const T, *const T, *mut T),
    strip: &mut [T],
) {
    let ([own, out], width, taps) = (s.channels, s.result[1], s.taps());
    let (depth, all, offsets) = (own * taps, s.rows(), s.offsets());
    for first in (0..s.result[0]).step_by(all) {
        let lines = Lines { rows: all.min(s.result[0] - first), width, apart: s.wide() };
        // SAFETY: the caller's contract.
        unsafe { s.lay(x, first, lines.rows, strip) };
        for part in (0..out).step_by(OUT) {
            let mut rows = [y; OUT];
            for (k, row) in rows.iter_mut().enumerate() {
                // Beyond the last channel it is taken again, for nothing.
                *row = y.wrapping_add(((part + k).min(out - 1) * s.result[0] + first) * width);
            }
            for from in (0..depth).step_by(WINDOWS) {
                let mut windows = [offsets[depth - 1]; WINDOWS];
                let some = WINDOWS.min(depth - from);
                windows[..some].copy_from_slice(&offsets[from..from + some]);
                // SAFETY: the strip has the windows of all its rows; the results are the caller's.
                unsafe {
                    let sums = T::products(strip.as_ptr(), windows, rows, lines);
                    for (k, sums) in sums.iter().enumerate().take(out - part) {
                        for (t, &sum) in sums.iter().enumerate().take(some) {
                            let slot = w.add((part + k) * depth + from + t);
                            *slot = *slot + sum;
                        }
                    }
                }
            }
        }
    }
}

/// The operands as addresses.
struct Sides<T>(*const T, *mut T);
// SAFETY: the pointers come from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl<T> Sync for Sides<T> {}

/// The product of the images at `x` and the kernels at `w` (+ `bias` per channel of the result) at `y`.
///
/// # Safety
/// The operands hold what `s` says, in C order.
pub(super) unsafe fn product<T: Number>(
    s: Steps,
    (x, w, y): (*const T, *const T, *mut T),
    bias: Option<*const T>,
) -> Result<()> {
    let ([own, out], scratch) = (s.channels, Scratch::default());
    // SAFETY: the caller's contract.
    let Some((packed, starts)) = (unsafe { s.packed(w, bias, &scratch) }) else {
        return scratch.finish();
    };
    let (offsets, rows, positions) = (s.offsets(), s.rows(), s.result[0] * s.result[1]);
    let strips = s.result[0].div_ceil(rows);
    let all = s.batch * s.groups * strips;
    let work = (rows * s.result[1]).saturating_mul(out).saturating_mul(offsets.len());
    let blocks = (all.saturating_mul(work) / SPLIT).clamp(1, all);
    let sides = Sides(x, y);
    parallel_for(blocks, &|block| {
        let Sides(x, y) = &sides;
        let Some(mut strip) = scratch.zeros::<T>(own * s.plane() + T::WIDE) else {
            return;
        };
        for job in block * all / blocks..(block + 1) * all / blocks {
            let (image, first) = (job / strips, job % strips * rows);
            let rows = rows.min(s.result[0] - first);
            let (per, group) = (starts.len() / s.groups, image % s.groups);
            // SAFETY: the caller's contract; each job writes rows of its own.
            unsafe {
                s.lay(x.add(image * own * s.image[0] * s.image[1]), first, rows, &mut strip);
                let y = y.add(image * out * positions + first * s.result[1]);
                let starts = &starts[group * per..][..per];
                let packed = &packed[group * per * offsets.len()..];
                walk(&s, rows, (&strip, &offsets), (packed, starts), y);
            }
        }
    });
    scratch.finish()
}

/// The rows of the result that belong to a strip: the strip with the places of the taps, the kernels with the first values.
///
/// # Safety
/// `y` holds a group of results, from the strip's first row on.
unsafe fn walk<T: Number>(
    s: &Steps,
    rows: usize,
    (strip, offsets): (&[T], &[usize]),
    (packed, starts): (&[T], &[T]),
    y: *mut T,
) {
    let (wide, width) = (s.wide(), s.result[1]);
    let total = (rows - 1) * wide + width;
    let mut tile = [T::default(); OUT * MOST];
    for first in (0..total).step_by(T::WIDE) {
        // Positions between the rows of the result are computed and left: where those kept lie in the tile and in `y`.
        let mut runs = [(0, 0, 0); MOST];
        let (mut at, mut count, end) = (0, 0, T::WIDE.min(total - first));
        while at < end {
            let (row, column) = ((first + at) / wide, (first + at) % wide);
            let run = (end - at).min(wide - column);
            if column < width {
                runs[count] = (at, row * width + column, run.min(width - column));
                count += 1;
            }
            at += run;
        }
        for (part, starts) in starts.chunks_exact(OUT).enumerate() {
            let packed = packed[part * offsets.len() * OUT..].as_ptr();
            // SAFETY: the strip has room behind its last position for the rest of a tile; results are the caller's.
            unsafe {
                let x = strip.as_ptr().add(first);
                T::tile(x, offsets, packed, starts.as_ptr(), tile.as_mut_ptr());
                for k in 0..OUT.min(s.channels[1] - part * OUT) {
                    let from = tile.as_ptr().add(k * T::WIDE);
                    let to = y.add((part * OUT + k) * s.result[0] * width);
                    for &(at, place, len) in &runs[..count] {
                        std::ptr::copy_nonoverlapping(from.add(at), to.add(place), len);
                    }
                }
            }
        }
    }
}
