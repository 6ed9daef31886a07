//! Weight gradient of a convolution with the image in channels-last layout, so that a tap reads
//! contiguous channels.
//!
//! Uses the micro-kernels of `simd_loops` with positions in the role of taps and channels in the
//! role of positions. Invariant: an element is one sum over the positions of a part of the batch in
//! their order, then over parts.

use super::super::gemm::pack_transposed;
use super::direct::{MIN_WORK, Pointers};
use super::im2col::{ConvFloat, Scratch};
use super::shifted_taps::{ShiftedTaps, StripLayout, StripPart};
use super::simd_loops::{MAX_POSITIONS, TILE_CHANNELS, multiply_tile};
use crate::error::Result;
use crate::threads::parallel_for;

/// Most parts of a batch, and minimum channels of the result per share.
const MAX_PARTS: usize = 8;
const MIN_SHARE_CHANNELS: usize = 64;
/// Minimum positions of a part, because each part stores the sums of all taps once.
const MIN_PART_POSITIONS: usize = 2048;

/// Runs of taps with contiguous channels in a strip: offset in the strip, length, and offset in a
/// row of sums.
pub(super) struct TapRuns {
    runs: Vec<(usize, usize, usize)>,
    /// The taps in the order of the runs.
    order: Vec<usize>,
    /// Length of a row of sums, rounded up to whole tiles.
    wide: usize,
}

impl TapRuns {
    /// The runs, unless padding to whole tiles wastes too much.
    #[inline(never)]
    pub(super) fn of(s: &ShiftedTaps, cut: StripLayout, tile: usize) -> Option<TapRuns> {
        let (own, tap_offsets) = (s.channels[0], s.channel_tap_offsets(cut));
        let mut order: Vec<usize> = (0..tap_offsets.len()).collect();
        order.sort_unstable_by_key(|&tap| tap_offsets[tap]);
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for at in order.iter().map(|&tap| tap_offsets[tap] * own) {
            match runs.last_mut() {
                Some((first, len, _)) if *first + *len == at => *len += own,
                _ => runs.push((at, own, 0)),
            }
        }
        let mut wide = 0;
        for (_, len, at) in &mut runs {
            *at = wide;
            wide += len.next_multiple_of(tile);
        }
        (wide * 2 <= own * tap_offsets.len() * 3).then_some(TapRuns { runs, order, wide })
    }
}

/// Writes the weight gradient to `w`: the products of the windows of the images at `x` with the
/// output gradient at `y`.
///
/// # Safety
/// The operands match `s`, in C order; the SIMD tiles are available.
pub(super) unsafe fn correlate<T: ConvFloat>(
    (s, cut, runs): (&ShiftedTaps, StripLayout, &TapRuns),
    (x, y, w): (*const T, *const T, *mut T),
) -> Result<()> {
    let ([own, out], [height, width], scratch) = (s.channels, s.size(), Scratch::default());
    let size = own * out * s.taps();
    let positions = s.batch * height * width;
    let parts = (positions / MIN_PART_POSITIONS).clamp(1, MAX_PARTS).min(s.batch);
    let tiles = out.div_ceil(TILE_CHANNELS);
    let work = positions.saturating_mul(size * s.groups);
    let most = MAX_PARTS.div_ceil(parts * s.groups).min(work / MIN_WORK);
    let shares = most.min(out / MIN_SHARE_CHANNELS).clamp(1, tiles);
    let Some(mut sums) = scratch.zeros::<T>((parts - 1) * size * s.groups) else {
        return scratch.finish();
    };
    let (inputs, first, rest) = (Pointers(x, w), Pointers(y, w), Pointers(y, sums.as_mut_ptr()));
    parallel_for(parts * s.groups * shares, &|job| {
        let (Pointers(x, w), Pointers(y, _), Pointers(_, rest)) = (&inputs, &first, &rest);
        let (part, group, share) = (job / shares / s.groups, job / shares % s.groups, job % shares);
        let channels = share * tiles / shares * TILE_CHANNELS
            ..((share + 1) * tiles / shares * TILE_CHANNELS).min(out);
        let images = part * s.batch / parts..(part + 1) * s.batch / parts;
        let all = cut.images * cut.rows * width;
        let rows = channels.len().next_multiple_of(TILE_CHANNELS);
        let (Some(mut strip), Some(mut transposed), Some(mut sums)) = (
            scratch.zeros::<T>(s.strip(cut) + MAX_POSITIONS),
            scratch.zeros::<T>(all * rows),
            scratch.zeros::<T>(rows * runs.wide),
        ) else {
            return;
        };
        let job = Job { s, cut, runs, group, images, channels };
        // SAFETY: the caller's contract; each job writes its own channels of its own part.
        unsafe {
            job.sum((*x, *y), &mut strip, &mut transposed, &mut sums);
            let to = part.checked_sub(1).map_or(*w, |part| rest.add(part * size * s.groups));
            job.write(&sums, to.add(group * size));
        }
    });
    // SAFETY: the result holds `size` elements per group, all written above.
    let total = unsafe { std::slice::from_raw_parts_mut(w, size * s.groups) };
    for part in sums.chunks_exact((size * s.groups).max(1)) {
        for (sum, more) in total.iter_mut().zip(part) {
            *sum = *sum + *more;
        }
    }
    scratch.finish()
}

/// Work of one thread: some images of a group, and some output channels.
struct Job<'a> {
    s: &'a ShiftedTaps,
    cut: StripLayout,
    runs: &'a TapRuns,
    group: usize,
    images: std::ops::Range<usize>,
    channels: std::ops::Range<usize>,
}

impl Job<'_> {
    /// Accumulates, for every output channel of the job, a row of products with all input channels
    /// at all taps.
    ///
    /// # Safety
    /// `x` and `y` are the whole operands; `strip` and `transposed` hold a part, `sums` the
    /// channels.
    unsafe fn sum<T: ConvFloat>(
        &self,
        (x, y): (*const T, *const T),
        strip: &mut [T],
        transposed: &mut [T],
        sums: &mut [T],
    ) {
        let (s, cut, [height, _]) = (self.s, self.cut, self.s.size());
        let ([own, out], [source, whole]) = (s.channels, s.planes());
        let mut more = false;
        for image in self.images.clone().step_by(cut.images) {
            for first in (0..height).step_by(cut.rows) {
                let images = cut.images.min(self.images.end - image);
                let part = StripPart { images, first, rows: cut.rows.min(height - first) };
                let plane = image * s.groups + self.group;
                // SAFETY: the caller's contract.
                unsafe {
                    let x = (x.add(plane * own * source), s.groups * own * source);
                    s.fill_strip((cut, true), part, x, strip);
                    self.transpose_results(part, y.add(plane * out * whole), transposed);
                    self.add(part, strip, transposed, (sums, more));
                }
                more = true;
            }
        }
    }

    /// Transposes the output gradient of a part: a row of `TILE_CHANNELS` channels for each
    /// position.
    ///
    /// # Safety
    /// As `sum`; `y` begins at the group's channels of the part's first image.
    unsafe fn transpose_results<T: ConvFloat>(
        &self,
        part: StripPart,
        y: *const T,
        transposed: &mut [T],
    ) {
        let (s, [_, width], [_, whole]) = (self.s, self.s.size(), self.s.planes());
        let (len, apart) = (part.rows * width, s.groups * s.channels[1] * whole);
        let tiles = transposed.chunks_exact_mut(part.images * len * TILE_CHANNELS);
        for (tile, channel) in tiles.zip(self.channels.clone().step_by(TILE_CHANNELS)) {
            let columns = TILE_CHANNELS.min(self.channels.end - channel);
            for (image, to) in tile.chunks_exact_mut(len * TILE_CHANNELS).enumerate() {
                // SAFETY: the caller's contract; the rows of a part are contiguous.
                unsafe {
                    let from = y.add(image * apart + channel * whole + part.first * width);
                    pack_transposed(
                        (len, columns),
                        (from, whole as isize),
                        (to.as_mut_ptr(), TILE_CHANNELS),
                    );
                }
            }
        }
    }

    /// Adds the products of a part to the sums, or initialises them.
    ///
    /// # Safety
    /// `strip` and `transposed` hold the part; the SIMD tiles are available.
    unsafe fn add<T: ConvFloat>(
        &self,
        part: StripPart,
        strip: &[T],
        transposed: &[T],
        (sums, more): (&mut [T], bool),
    ) {
        let (cut, [_, width], own) = (self.cut, self.s.size(), self.s.channels[0]);
        let mut positions = Vec::with_capacity(part.images * part.rows * width);
        for line in 0..part.images * part.rows {
            let line = line / part.rows * cut.lines + line % part.rows;
            positions.extend((0..width).map(|column| (line * cut.wide + column) * own));
        }
        let (start, wide) = ([T::default(); TILE_CHANNELS], self.runs.wide);
        for &(first, len, at) in &self.runs.runs {
            for skip in (0..len).step_by(T::TILE_POSITIONS) {
                for (tile, sums) in sums.chunks_exact_mut(TILE_CHANNELS * wide).enumerate() {
                    // SAFETY: the caller's contract; strips are padded by a tile.
                    unsafe {
                        let w = transposed.as_ptr().add(tile * positions.len() * TILE_CHANNELS);
                        let sums = sums.as_mut_ptr().add(at + skip);
                        let x = strip.as_ptr().add(first + skip);
                        multiply_tile(x, &positions, w, (start.as_ptr(), more), (sums, wide));
                    }
                }
            }
        }
    }

    /// Writes the sums to the kernels of the group, where the taps of a channel are contiguous.
    ///
    /// # Safety
    /// `w` holds the kernels of the group.
    unsafe fn write<T: ConvFloat>(&self, sums: &[T], w: *mut T) {
        let ([own, _], taps) = (self.s.channels, self.s.taps());
        let rows = self.runs.runs.iter();
        let sum_offsets = rows.flat_map(|&(_, len, at)| (0..len / own).map(move |k| at + k * own));
        let mut order: Vec<_> = self.runs.order.iter().copied().zip(sum_offsets).collect();
        order.sort_unstable();
        for (sums, channel) in sums.chunks_exact(self.runs.wide).zip(self.channels.clone()) {
            // SAFETY: the caller's contract.
            let to =
                unsafe { std::slice::from_raw_parts_mut(w.add(channel * own * taps), own * taps) };
            for (channel, to) in to.chunks_exact_mut(taps).enumerate() {
                for (to, &(_, place)) in to.iter_mut().zip(&order) {
                    *to = sums[place + channel];
                }
            }
        }
    }
}
