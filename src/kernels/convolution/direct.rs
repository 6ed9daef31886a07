//! Direct convolution without im2col: SIMD tiles read padded strips of the images, or a gathered
//! panel of them.
//!
//! Splits the work into strips and tiles. Invariant: an element is the sum over channels and taps
//! in their order, in any tile or strip, so results do not depend on the number of threads.

use super::geometry::Geometry;
use super::im2col::{ConvFloat, Scratch, copy_run, copy_strided};
use super::shifted_taps::{ShiftedTaps, StripLayout, StripPart};
use super::simd_loops::{
    MAX_POSITIONS, RowLayout, TILE_CHANNELS, multiply_tile, windows_available,
};
use crate::error::Result;
use crate::threads::parallel_for;

/// Minimum multiply-adds of a parallel block.
pub(super) const MIN_WORK: usize = 1 << 20;
/// Most windows for computing a weight gradient window by window; above, im2col and one matrix
/// product is as fast.
const MAX_WINDOWS: usize = 256;
/// Windows multiplied with the channels of a tile at once.
const WINDOWS_AT_ONCE: usize = 3;
/// Number of strips below which output channels are also split over threads, and minimum tiles of
/// channels per share.
const MIN_STRIPS: usize = 4;
const MIN_SHARE_TILES: usize = 4;
/// Taps gathered at once: the panel stays in the first cache.
const GATHERED_TAPS: usize = 128;
/// Kernel elements above which kernels leave the second cache between tiles, and the most sums of
/// tiles that stay in it.
const MAX_CACHED_KERNELS: usize = 1 << 18;
const MAX_CACHED_SUMS: usize = 1 << 17;

/// The convolution, if its weight gradient should be computed window by window: its output gradient
/// stays in the cache while the windows of few channels pass.
pub(super) fn windowed_gradient(g: &Geometry) -> Option<ShiftedTaps> {
    let few = |s: &ShiftedTaps| {
        s.is_depthwise() || s.taps() > 1 && s.channels[0] * s.taps() <= MAX_WINDOWS
    };
    ShiftedTaps::forward(g).filter(few).filter(|_| windows_available())
}

/// Adds one image's contribution to the weight gradient `w` of a group. The group's channels begin
/// at `x`, those of the output gradient at `y`.
///
/// # Safety
/// The operands match `s`, `cut` is for single images, and `strip` has its size and is zero beside
/// the image.
pub(super) unsafe fn add_products<T: ConvFloat>(
    (s, cut): (&ShiftedTaps, StripLayout),
    (x, y, w): (*const T, *const T, *mut T),
    strip: &mut [T],
) {
    let ([own, out], [height, width], taps) = (s.channels, s.size(), s.taps());
    let (depth, offsets) = (own * taps, s.tap_offsets(cut));
    for first in (0..height).step_by(cut.rows) {
        let lines = RowLayout { rows: cut.rows.min(height - first), width, stride: cut.wide };
        // SAFETY: the caller's contract.
        unsafe {
            s.fill_strip(
                (cut, false),
                StripPart { images: 1, first, rows: lines.rows },
                (x, 0),
                strip,
            )
        };
        for part in (0..out).step_by(TILE_CHANNELS) {
            // Missing channels repeat the last one; their results are unused.
            let row = |k: usize| y.wrapping_add(((part + k).min(out - 1) * height + first) * width);
            let rows: [_; TILE_CHANNELS] = std::array::from_fn(row);
            for from in (0..depth).step_by(WINDOWS_AT_ONCE) {
                let windows: [_; WINDOWS_AT_ONCE] =
                    std::array::from_fn(|t| offsets[(from + t).min(depth - 1)]);
                // SAFETY: the strip has the windows of all its rows; the results are the caller's.
                unsafe {
                    let sums = T::window_products(strip.as_ptr(), windows, rows, lines);
                    for (k, sums) in sums.iter().enumerate().take(out - part) {
                        for (t, &sum) in sums.iter().enumerate().take(depth - from) {
                            let slot = w.add((part + k) * depth + from + t);
                            *slot = *slot + sum;
                        }
                    }
                }
            }
        }
    }
}

/// Pointers to an input and an output, shared by threads.
pub(super) struct Pointers<T>(pub(super) *const T, pub(super) *mut T);
// SAFETY: the pointers come from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl<T> Sync for Pointers<T> {}

/// Writes the convolution of the images at `x` with the kernels at `w` (+ `bias` per output
/// channel) to `y`.
///
/// # Safety
/// The operands match `s`, in C order.
pub(super) unsafe fn product<T: ConvFloat>(
    s: &ShiftedTaps,
    (x, w, y): (*const T, *const T, *mut T),
    bias: Option<*const T>,
) -> Result<()> {
    let (scratch, [height, width], pointwise) = (Scratch::default(), s.size(), s.is_pointwise());
    let cut = if pointwise {
        s.pointwise_layout(T::TILE_POSITIONS)
    } else {
        s.strip_layout(T::TILE_POSITIONS)
    };
    // SAFETY: the caller's contract.
    let Some((packed, starts)) = (unsafe { s.pack_kernels(w, bias, &scratch) }) else {
        return scratch.finish();
    };
    let (offsets, parts) = (s.tap_offsets(cut), s.channels[1].div_ceil(TILE_CHANNELS));
    let (strips, chunks) = (height.div_ceil(cut.rows), s.batch.div_ceil(cut.images));
    let strips_in_all = chunks * s.groups * strips;
    let shares = MIN_STRIPS.div_ceil(strips_in_all.max(1)).min(parts / MIN_SHARE_TILES).max(1);
    let all = strips_in_all * shares;
    let work = (height * width).saturating_mul(s.channels[1] * offsets.len());
    let blocks = (work.saturating_mul(s.batch * s.groups) / MIN_WORK).clamp(1, all.max(1));
    let compact = pointwise || is_compact::<T>(s, cut);
    let reuse = if parts * TILE_CHANNELS * offsets.len() > MAX_CACHED_KERNELS {
        MAX_CACHED_SUMS.div_ceil(parts * TILE_CHANNELS * T::TILE_POSITIONS)
    } else {
        1
    };
    let tiles =
        Tiles { s, cut, compact, pointwise, reuse, strips, shares, offsets, packed, starts };
    let sides = Pointers(x, y);
    parallel_for(blocks, &|block| {
        let Pointers(x, y) = &sides;
        let (strip, panel) = (
            if pointwise { 0 } else { s.strip(cut) + MAX_POSITIONS },
            if compact { GATHERED_TAPS * T::TILE_POSITIONS } else { 0 },
        );
        let sums = reuse * parts * TILE_CHANNELS * T::TILE_POSITIONS;
        let (Some(mut strip), Some(mut panel), Some(mut sums)) =
            (scratch.zeros(strip), scratch.zeros(panel), scratch.zeros(sums))
        else {
            return;
        };
        for job in block * all / blocks..(block + 1) * all / blocks {
            // SAFETY: the caller's contract; each job writes its own rows and channels.
            unsafe { tiles.job(job, (*x, *y), &mut strip, (&mut panel, &mut sums)) }
        }
    });
    scratch.finish()
}

/// Positions computed per strip: the positions of the result if they are gathered first
/// (`compact`), else also those between rows and images.
fn positions(s: &ShiftedTaps, cut: StripLayout, part: StripPart, compact: bool) -> usize {
    let width = s.size()[1];
    if compact {
        part.images * part.rows * width
    } else {
        ((part.images - 1) * cut.lines + part.rows - 1) * cut.wide + width
    }
}

/// Whether gathering is cheaper than computing the positions between rows and images.
fn is_compact<T: ConvFloat>(s: &ShiftedTaps, cut: StripLayout) -> bool {
    // Estimated cycles per tap of a tile.
    const CHANNEL_TILE_CYCLES: usize = 12;
    const GATHER_CYCLES: usize = 6;
    const RUN_CYCLES: usize = 3;
    let [rows, width] = s.size();
    if rows * width == 0 {
        return false;
    }
    let part = StripPart { images: cut.images, first: 0, rows: cut.rows };
    let tiles = |compact| positions(s, cut, part, compact).div_ceil(T::TILE_POSITIONS);
    let products = CHANNEL_TILE_CYCLES * s.channels[1].div_ceil(TILE_CHANNELS);
    tiles(true) * (products + GATHER_CYCLES + RUN_CYCLES * (T::TILE_POSITIONS / width + 1))
        < tiles(false) * products
}

/// Runs of adjacent positions: offset in a tile, offset in memory, length.
struct PositionRuns([(usize, usize, usize); MAX_POSITIONS], usize);

impl PositionRuns {
    /// Adds a run, merged with the last one if it continues it on both sides.
    fn push(&mut self, at: usize, place: usize, len: usize, step: usize) {
        if let Some(last) = self.0[..self.1].last_mut()
            && (last.0 + last.2, last.1 + last.2 * step) == (at, place)
        {
            last.2 += len;
            return;
        }
        self.0[self.1] = (at, place, len);
        self.1 += 1;
    }

    fn all(&self) -> &[(usize, usize, usize)] {
        &self.0[..self.1]
    }
}

/// Parameters shared by the tiles of a convolution.
struct Tiles<'a, T> {
    s: &'a ShiftedTaps,
    cut: StripLayout,
    /// Whether positions between rows and images are skipped, and whether images are read in place.
    compact: bool,
    pointwise: bool,
    /// Consecutive tiles that use the same kernels while they are cached.
    reuse: usize,
    /// Strips of an image, and shares of a strip.
    strips: usize,
    shares: usize,
    offsets: Vec<usize>,
    packed: Vec<T>,
    starts: Vec<T>,
}

/// A share of a strip: its part, the first packed kernel of its group, and its output channels.
struct Share {
    part: StripPart,
    kernels: usize,
    channels: std::ops::Range<usize>,
}

impl<T: ConvFloat> Tiles<'_, T> {
    /// Computes one share of one strip.
    ///
    /// # Safety
    /// The operands are at `x` and `y`; `strip` is zero beside the images; the scratch holds a
    /// panel and the sums of a group of tiles.
    unsafe fn job(
        &self,
        job: usize,
        (x, y): (*const T, *mut T),
        strip: &mut [T],
        room: (&mut [T], &mut [T]),
    ) {
        let (s, cut, [source, whole]) = (self.s, self.cut, self.s.planes());
        let ([own, out], parts) = (s.channels, s.channels[1].div_ceil(TILE_CHANNELS));
        let (job, share) = (job / self.shares, job % self.shares);
        let (first, group) = (job % self.strips * cut.rows, job / self.strips % s.groups);
        let image = job / self.strips / s.groups * cut.images;
        let (images, rows) = (cut.images.min(s.batch - image), cut.rows.min(s.size()[0] - first));
        let part = StripPart { images, first, rows };
        let share = share * parts / self.shares..(share + 1) * parts / self.shares;
        let channels = share.start * TILE_CHANNELS..share.end * TILE_CHANNELS;
        // SAFETY: the caller's contract.
        unsafe {
            let plane = image * s.groups + group;
            let x = x.add(plane * own * source);
            let strip = if self.pointwise {
                x
            } else {
                s.fill_strip((cut, false), part, (x, s.groups * own * source), strip);
                strip.as_ptr()
            };
            let share = Share { part, kernels: group * parts * TILE_CHANNELS, channels };
            self.compute_share(&share, strip, room, y.add(plane * out * whole));
        }
    }

    /// The runs that the tile from position `first` on reads in a strip and writes in the result.
    fn runs(&self, part: StripPart, first: usize, end: usize) -> [PositionRuns; 2] {
        let (cut, width, step) = (self.cut, self.s.size()[1], self.s.result_step());
        let image_stride = self.s.groups * self.s.channels[1] * self.s.planes()[1];
        let (wide, lines) = if self.compact { (width, part.rows) } else { (cut.wide, cut.lines) };
        let (mut reads, mut writes) = (
            PositionRuns([(0, 0, 0); MAX_POSITIONS], 0),
            PositionRuns([(0, 0, 0); MAX_POSITIONS], 0),
        );
        let mut at = 0;
        while at < end {
            let (line, column) = ((first + at) / wide, (first + at) % wide);
            let (image, row) = (line / lines, line % lines);
            let run = (end - at).min(wide - column);
            if column < width && row < part.rows {
                let len = run.min(width - column);
                let place = self.s.result_offset(part.first + row, column);
                reads.push(at, image * cut.image + row * cut.wide + column, len, 1);
                writes.push(at, image * image_stride + place, len, step);
            }
            at += run;
        }
        [reads, writes]
    }

    /// Computes a share of the results from a strip.
    ///
    /// # Safety
    /// `y` begins at the group's channels of the part's first image; the rest as `job`.
    unsafe fn compute_share(
        &self,
        share: &Share,
        strip: *const T,
        (panel, sums): (&mut [T], &mut [T]),
        y: *mut T,
    ) {
        let total = positions(self.s, self.cut, share.part, self.compact);
        let gathered: Vec<usize> = (0..GATHERED_TAPS).map(|k| k * T::TILE_POSITIONS).collect();
        let (depth, tile_sums) = (self.offsets.len(), sums.len() / self.reuse);
        let taps_at_once =
            if self.compact || self.reuse > 1 { GATHERED_TAPS } else { depth.max(1) };
        for group in (0..total).step_by(T::TILE_POSITIONS * self.reuse) {
            let firsts = (group..total.min(group + T::TILE_POSITIONS * self.reuse))
                .step_by(T::TILE_POSITIONS);
            let tiles: Vec<_> = firsts
                .map(|first| {
                    (first, self.runs(share.part, first, T::TILE_POSITIONS.min(total - first)))
                })
                .collect();
            for block in (0..depth.max(1)).step_by(taps_at_once) {
                let taps = block..depth.min(block + taps_at_once);
                let from = &self.offsets[taps.clone()];
                for (k, (first, [reads, writes])) in tiles.iter().enumerate() {
                    // A tile past the last position may only be read from our own padded strip.
                    let together =
                        reads.1 == 1 && (!self.pointwise || first + T::TILE_POSITIONS <= total);
                    // SAFETY: strip and panel are padded by a tile; the results are the caller's.
                    unsafe {
                        let x = if self.compact && !together {
                            let panel = panel.as_mut_ptr();
                            gather(
                                strip,
                                from,
                                reads.all(),
                                (panel, T::TILE_POSITIONS),
                                self.pointwise,
                            );
                            (panel.cast_const(), &gathered[..taps.len()])
                        } else {
                            let at = if self.compact { reads.0[0].1 } else { *first };
                            (strip.wrapping_add(at), from)
                        };
                        let sums = &mut sums[k * tile_sums..];
                        self.tile(share, x, taps.clone(), sums, writes.all(), y);
                    }
                }
            }
        }
    }

    /// Adds the contribution of some taps to the sums of a tile, for all channels of the share;
    /// stores the results after the last tap.
    ///
    /// # Safety
    /// As `compute_share`; `x` is readable at the offset of every tap.
    unsafe fn tile(
        &self,
        share: &Share,
        (x, places): (*const T, &[usize]),
        taps: std::ops::Range<usize>,
        sums: &mut [T],
        writes: &[(usize, usize, usize)],
        y: *mut T,
    ) {
        let ([_, out], [_, whole], step) = (self.s.channels, self.s.planes(), self.s.result_step());
        let last = taps.end == self.offsets.len();
        for channel in share.channels.clone().step_by(TILE_CHANNELS) {
            let (row, count) = (share.kernels + channel, TILE_CHANNELS.min(out - channel));
            let w = self.packed[row * self.offsets.len() + taps.start * TILE_CHANNELS..].as_ptr();
            let start = (self.starts[row..].as_ptr(), taps.start > 0);
            // SAFETY: the caller's contract.
            unsafe {
                // A full contiguous tile is stored directly.
                if let (&[(0, place, len)], 1, TILE_CHANNELS) = (writes, step, count)
                    && len == T::TILE_POSITIONS
                {
                    multiply_tile(x, places, w, start, (y.add(channel * whole + place), whole));
                    continue;
                }
                let sums = sums[channel * T::TILE_POSITIONS..].as_mut_ptr();
                multiply_tile(x, places, w, start, (sums, T::TILE_POSITIONS));
                for k in 0..if last { count } else { 0 } {
                    let (from, to) =
                        (sums.add(k * T::TILE_POSITIONS), y.add((channel + k) * whole));
                    for &(at, place, len) in writes {
                        let (from, to) = (from.add(at), to.add(place));
                        if step == 1 {
                            copy_run(from, to, len);
                        } else {
                            copy_strided((from, 1), (to, step), len);
                        }
                    }
                }
            }
        }
    }
}

/// Copies the runs of a tile, for each tap, to a row of the panel; rows are `row_stride` apart.
/// With `exact`, nothing behind a run is read.
///
/// # Safety
/// `strip` holds the runs at every tap and, unless `exact`, `MAX_POSITIONS` elements behind
/// the last; the SIMD tiles are available.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn gather<T: ConvFloat>(
    strip: *const T,
    taps: &[usize],
    runs: &[(usize, usize, usize)],
    (panel, row_stride): (*mut T, usize),
    exact: bool,
) {
    const CHUNK: usize = 8;
    for &(at, from, len) in runs {
        for done in (0..len).step_by(CHUNK) {
            let (from, mut to) = (strip.wrapping_add(from + done), panel.wrapping_add(at + done));
            // Elements copied beyond a run are overwritten by the next run, or by the next row.
            let whole = done + CHUNK <= len || !exact && at + done + CHUNK <= row_stride;
            for &tap in taps {
                // SAFETY: the caller's contract.
                unsafe {
                    if whole {
                        let some = from.add(tap).cast::<[T; CHUNK]>().read_unaligned();
                        to.cast::<[T; CHUNK]>().write_unaligned(some);
                    } else {
                        copy_run(from.add(tap), to, len - done);
                    }
                }
                to = to.wrapping_add(row_stride);
            }
        }
    }
}
