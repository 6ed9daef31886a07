//! Products of images and kernels without columns: tiles read strips of the images, or what they need of them gathered.
//!
//! Owns: the walk over tiles, and the split into strips. Never multiplies: `lanes` does.
//! Invariant: an element is the sum over channels and taps in their order, whatever tile or strip it lies in, so the
//! result is the same at any number of threads.

use super::geometry::Geometry;
use super::im2col::{Number, Scratch, copy_apart, copy_run};
use super::shifted_taps::{Cut, Part, Steps};
use super::simd_loops::{Lines, MOST, OUT, windows_available};
use crate::error::Result;
use crate::threads::parallel_for;

/// Multiply-adds worth a block.
pub(super) const SPLIT: usize = 1 << 20;
/// Windows up to which a gradient is taken window by window; above, columns and one product of matrices are as fast.
const DEPTH: usize = 256;
/// Windows whose products with the channels of a tile are taken together.
const WINDOWS: usize = 3;
/// Strips that threads share by channels of the result if there are fewer, and tiles of channels that a share has.
const FEW: usize = 4;
const SHARE: usize = 4;
/// Taps that are gathered together: they stay in the first-level cache.
const TAPS: usize = 128;
/// Elements of kernels that leave the second-level cache before the next tile, and sums of tiles that stay in it.
const HEAVY: usize = 1 << 18;
const SUMS: usize = 1 << 17;

/// A convolution whose kernels' gradient is good as products with windows: its results stay near while the windows of few
/// channels pass.
pub(super) fn windows(g: &Geometry) -> Option<Steps> {
    let few = |s: &Steps| s.is_depthwise() || s.taps() > 1 && s.channels[0] * s.taps() <= DEPTH;
    Steps::forward(g).filter(few).filter(|_| windows_available())
}

/// Adds to `w`, the gradient of a group's kernels, what one image gives, of which the group's channels begin at `x` and those of
/// the result's gradient at `y`.
///
/// # Safety
/// The operands hold what `s` says, `cut` is of single images, and `strip` a strip of it with zeros beside the image.
pub(super) unsafe fn add_products<T: Number>(
    (s, cut): (&Steps, Cut),
    (x, y, w): (*const T, *const T, *mut T),
    strip: &mut [T],
) {
    let ([own, out], [height, width], taps) = (s.channels, s.size(), s.taps());
    let (depth, offsets) = (own * taps, s.offsets(cut));
    for first in (0..height).step_by(cut.rows) {
        let lines = Lines { rows: cut.rows.min(height - first), width, apart: cut.wide };
        // SAFETY: the caller's contract.
        unsafe { s.lay((cut, false), Part { images: 1, first, rows: lines.rows }, (x, 0), strip) };
        for part in (0..out).step_by(OUT) {
            // Beyond the last channel it is taken again, for nothing.
            let row = |k: usize| y.wrapping_add(((part + k).min(out - 1) * height + first) * width);
            let rows: [_; OUT] = std::array::from_fn(row);
            for from in (0..depth).step_by(WINDOWS) {
                let windows: [_; WINDOWS] =
                    std::array::from_fn(|t| offsets[(from + t).min(depth - 1)]);
                // SAFETY: the strip has the windows of all its rows; the results are the caller's.
                unsafe {
                    let sums = T::products(strip.as_ptr(), windows, rows, lines);
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

/// The operands as addresses.
pub(super) struct Sides<T>(pub(super) *const T, pub(super) *mut T);
// SAFETY: the pointers come from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl<T> Sync for Sides<T> {}

/// The product of the images at `x` and the kernels at `w` (+ `bias` per channel of the result) at `y`.
///
/// # Safety
/// The operands hold what `s` says, in C order.
pub(super) unsafe fn product<T: Number>(
    s: &Steps,
    (x, w, y): (*const T, *const T, *mut T),
    bias: Option<*const T>,
) -> Result<()> {
    let (scratch, [height, width], pointwise) = (Scratch::default(), s.size(), s.is_pointwise());
    let cut = if pointwise { s.pointwise_cut(T::WIDE) } else { s.cut(T::WIDE) };
    // SAFETY: the caller's contract.
    let Some((packed, starts)) = (unsafe { s.packed(w, bias, &scratch) }) else {
        return scratch.finish();
    };
    let (offsets, parts) = (s.offsets(cut), s.channels[1].div_ceil(OUT));
    let (strips, chunks) = (height.div_ceil(cut.rows), s.batch.div_ceil(cut.images));
    let strips_in_all = chunks * s.groups * strips;
    let shares = FEW.div_ceil(strips_in_all.max(1)).min(parts / SHARE).max(1);
    let all = strips_in_all * shares;
    let work = (height * width).saturating_mul(s.channels[1] * offsets.len());
    let blocks = (work.saturating_mul(s.batch * s.groups) / SPLIT).clamp(1, all.max(1));
    let compact = pointwise || is_compact::<T>(s, cut);
    let near =
        if parts * OUT * offsets.len() > HEAVY { SUMS.div_ceil(parts * OUT * T::WIDE) } else { 1 };
    let tiles = Tiles { s, cut, compact, pointwise, near, strips, shares, offsets, packed, starts };
    let sides = Sides(x, y);
    parallel_for(blocks, &|block| {
        let Sides(x, y) = &sides;
        let (strip, panel) = (
            if pointwise { 0 } else { s.strip(cut) + MOST },
            if compact { TAPS * T::WIDE } else { 0 },
        );
        let sums = near * parts * OUT * T::WIDE;
        let (Some(mut strip), Some(mut panel), Some(mut sums)) =
            (scratch.zeros(strip), scratch.zeros(panel), scratch.zeros(sums))
        else {
            return;
        };
        for job in block * all / blocks..(block + 1) * all / blocks {
            // SAFETY: the caller's contract; each job writes rows and channels of its own.
            unsafe { tiles.job(job, (*x, *y), &mut strip, (&mut panel, &mut sums)) }
        }
    });
    scratch.finish()
}

/// Positions that a walk over strips computes: those of the result alone if they are gathered first, else also what lies
/// between them.
fn positions(s: &Steps, cut: Cut, part: Part, compact: bool) -> usize {
    let width = s.size()[1];
    if compact {
        part.images * part.rows * width
    } else {
        ((part.images - 1) * cut.lines + part.rows - 1) * cut.wide + width
    }
}

/// Whether gathering what tiles read takes less time than computing what lies between rows and images.
fn is_compact<T: Number>(s: &Steps, cut: Cut) -> bool {
    // Cycles for each tap of a tile, about.
    const PART: usize = 12;
    const TILE: usize = 6;
    const RUN: usize = 3;
    let [rows, width] = s.size();
    if rows * width == 0 {
        return false;
    }
    let part = Part { images: cut.images, first: 0, rows: cut.rows };
    let tiles = |compact| positions(s, cut, part, compact).div_ceil(T::WIDE);
    let products = PART * s.channels[1].div_ceil(OUT);
    tiles(true) * (products + TILE + RUN * (T::WIDE / width + 1)) < tiles(false) * products
}

/// Runs of neighbouring positions: where they begin in a tile, where elsewhere, and how many they are.
struct Runs([(usize, usize, usize); MOST], usize);

impl Runs {
    /// Adds a run, to the last one where it follows that on both sides.
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

/// What the tiles of a product have in common.
struct Tiles<'a, T> {
    s: &'a Steps,
    cut: Cut,
    /// Whether positions between those of the result are left out, and whether the images are read where they lie.
    compact: bool,
    pointwise: bool,
    /// Tiles that meet the same kernels one after the other.
    near: usize,
    /// Strips of an image, and shares of a strip.
    strips: usize,
    shares: usize,
    offsets: Vec<usize>,
    packed: Vec<T>,
    starts: Vec<T>,
}

/// What a share of a strip computes: the part, the first kernels of its group, and its channels of the group.
struct Share {
    part: Part,
    kernels: usize,
    channels: std::ops::Range<usize>,
}

impl<T: Number> Tiles<'_, T> {
    /// Computes one share of one strip.
    ///
    /// # Safety
    /// The operands are at `x` and `y`; `strip` is one with zeros beside the images, `room` a panel and sums of a group.
    unsafe fn job(
        &self,
        job: usize,
        (x, y): (*const T, *mut T),
        strip: &mut [T],
        room: (&mut [T], &mut [T]),
    ) {
        let (s, cut, [source, whole]) = (self.s, self.cut, self.s.planes());
        let ([own, out], parts) = (s.channels, s.channels[1].div_ceil(OUT));
        let (job, share) = (job / self.shares, job % self.shares);
        let (first, group) = (job % self.strips * cut.rows, job / self.strips % s.groups);
        let image = job / self.strips / s.groups * cut.images;
        let (images, rows) = (cut.images.min(s.batch - image), cut.rows.min(s.size()[0] - first));
        let part = Part { images, first, rows };
        let share = share * parts / self.shares..(share + 1) * parts / self.shares;
        let channels = share.start * OUT..share.end * OUT;
        // SAFETY: the caller's contract.
        unsafe {
            let plane = image * s.groups + group;
            let x = x.add(plane * own * source);
            let strip = if self.pointwise {
                x
            } else {
                s.lay((cut, false), part, (x, s.groups * own * source), strip);
                strip.as_ptr()
            };
            let share = Share { part, kernels: group * parts * OUT, channels };
            self.walk(&share, strip, room, y.add(plane * out * whole));
        }
    }

    /// What the tile from position `first` on reads of a strip, and where it is written.
    fn runs(&self, part: Part, first: usize, end: usize) -> [Runs; 2] {
        let (cut, width, step) = (self.cut, self.s.size()[1], self.s.step());
        let apart = self.s.groups * self.s.channels[1] * self.s.planes()[1];
        let (wide, lines) = if self.compact { (width, part.rows) } else { (cut.wide, cut.lines) };
        let (mut reads, mut writes) = (Runs([(0, 0, 0); MOST], 0), Runs([(0, 0, 0); MOST], 0));
        let mut at = 0;
        while at < end {
            let (line, column) = ((first + at) / wide, (first + at) % wide);
            let (image, row) = (line / lines, line % lines);
            let run = (end - at).min(wide - column);
            if column < width && row < part.rows {
                let len = run.min(width - column);
                let place = self.s.place(part.first + row, column);
                reads.push(at, image * cut.image + row * cut.wide + column, len, 1);
                writes.push(at, image * apart + place, len, step);
            }
            at += run;
        }
        [reads, writes]
    }

    /// Computes a share of the results from a strip.
    ///
    /// # Safety
    /// `y` holds a group of results, from the part's first image on; the rest as `job`.
    unsafe fn walk(
        &self,
        share: &Share,
        strip: *const T,
        (panel, sums): (&mut [T], &mut [T]),
        y: *mut T,
    ) {
        let total = positions(self.s, self.cut, share.part, self.compact);
        let gathered: Vec<usize> = (0..TAPS).map(|k| k * T::WIDE).collect();
        let (depth, apart) = (self.offsets.len(), sums.len() / self.near);
        let taps_at_once = if self.compact || self.near > 1 { TAPS } else { depth.max(1) };
        for near in (0..total).step_by(T::WIDE * self.near) {
            let firsts = (near..total.min(near + T::WIDE * self.near)).step_by(T::WIDE);
            let tiles: Vec<_> = firsts
                .map(|first| (first, self.runs(share.part, first, T::WIDE.min(total - first))))
                .collect();
            for block in (0..depth.max(1)).step_by(taps_at_once) {
                let taps = block..depth.min(block + taps_at_once);
                let from = &self.offsets[taps.clone()];
                for (k, (first, [reads, writes])) in tiles.iter().enumerate() {
                    // Beyond a whole tile of neighbours there may be nothing to read, unless the strip is our own.
                    let together = reads.1 == 1 && (!self.pointwise || first + T::WIDE <= total);
                    // SAFETY: strip and panel have room behind their last position for the rest of a tile; results are the caller's.
                    unsafe {
                        let x = if self.compact && !together {
                            let panel = panel.as_mut_ptr();
                            gather(strip, from, reads.all(), (panel, T::WIDE), self.pointwise);
                            (panel.cast_const(), &gathered[..taps.len()])
                        } else {
                            let at = if self.compact { reads.0[0].1 } else { *first };
                            (strip.wrapping_add(at), from)
                        };
                        let sums = &mut sums[k * apart..];
                        self.tile(share, x, taps.clone(), sums, writes.all(), y);
                    }
                }
            }
        }
    }

    /// Adds what some taps give to the sums of one tile of positions, in all channels of the share, and writes the results after
    /// the last tap.
    ///
    /// # Safety
    /// As `walk`; `x` is read at the places of the taps beside it.
    unsafe fn tile(
        &self,
        share: &Share,
        (x, places): (*const T, &[usize]),
        taps: std::ops::Range<usize>,
        sums: &mut [T],
        writes: &[(usize, usize, usize)],
        y: *mut T,
    ) {
        let ([_, out], [_, whole], step) = (self.s.channels, self.s.planes(), self.s.step());
        let last = taps.end == self.offsets.len();
        for channel in share.channels.clone().step_by(OUT) {
            let (row, count) = (share.kernels + channel, OUT.min(out - channel));
            let w = self.packed[row * self.offsets.len() + taps.start * OUT..].as_ptr();
            let start = (self.starts[row..].as_ptr(), taps.start > 0);
            // SAFETY: the caller's contract.
            unsafe {
                // A whole tile of neighbours is written where it belongs.
                if let (&[(0, place, len)], 1, OUT) = (writes, step, count)
                    && len == T::WIDE
                {
                    T::tile(x, places, w, start, (y.add(channel * whole + place), whole));
                    continue;
                }
                let sums = sums[channel * T::WIDE..].as_mut_ptr();
                T::tile(x, places, w, start, (sums, T::WIDE));
                for k in 0..if last { count } else { 0 } {
                    let (from, to) = (sums.add(k * T::WIDE), y.add((channel + k) * whole));
                    for &(at, place, len) in writes {
                        let (from, to) = (from.add(at), to.add(place));
                        if step == 1 {
                            copy_run(from, to, len);
                        } else {
                            copy_apart((from, 1), (to, step), len);
                        }
                    }
                }
            }
        }
    }
}

/// Copies the runs that a tile reads at each tap to rows of a panel, `apart` from each other. If `exact`, nothing behind a run
/// is read.
///
/// # Safety
/// `strip` holds the runs at every tap, and unless `exact` `MOST` elements behind the last; tiles are available.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn gather<T: Number>(
    strip: *const T,
    taps: &[usize],
    runs: &[(usize, usize, usize)],
    (panel, apart): (*mut T, usize),
    exact: bool,
) {
    const SOME: usize = 8;
    for &(at, from, len) in runs {
        for done in (0..len).step_by(SOME) {
            let (from, mut to) = (strip.wrapping_add(from + done), panel.wrapping_add(at + done));
            // What is copied beyond a run is overwritten by the next one, or would be of the next row.
            let whole = done + SOME <= len || !exact && at + done + SOME <= apart;
            for &tap in taps {
                // SAFETY: the caller's contract.
                unsafe {
                    if whole {
                        let some = from.add(tap).cast::<[T; SOME]>().read_unaligned();
                        to.cast::<[T; SOME]>().write_unaligned(some);
                    } else {
                        copy_run(from.add(tap), to, len - done);
                    }
                }
                to = to.wrapping_add(apart);
            }
        }
    }
}
