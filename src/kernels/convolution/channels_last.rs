//! The gradient of kernels from strips with the channels innermost: every tap reads rows of them where they lie.
//!
//! Owns: such strips, and the sums over positions. Never multiplies: `lanes` does, with positions for taps and channels for
//! positions. Invariant: an element is one sum over the positions of a part of the batch in their order, then over parts.

use super::super::gemm::turn;
use super::direct::{SPLIT, Sides};
use super::im2col::{Number, Scratch};
use super::shifted_taps::{Cut, Part, Steps};
use super::simd_loops::{MOST, OUT};
use crate::error::Result;
use crate::threads::parallel_for;

/// Parts of a batch and shares of the result's channels at most, and channels of a share at least.
const PARTS: usize = 8;
const SHARE: usize = 64;
/// Positions of a part at least: the sums of all taps are written once for each.
const POSITIONS: usize = 2048;

/// Runs of taps whose channels follow each other in a strip: where each begins, how many numbers it has, where they lie in
/// a row of sums.
pub(super) struct Runs {
    runs: Vec<(usize, usize, usize)>,
    /// The taps in the order of the runs.
    order: Vec<usize>,
    /// Numbers of a row of sums, whole tiles.
    wide: usize,
}

impl Runs {
    /// The runs, if they fill tiles of so many numbers well.
    #[inline(never)]
    pub(super) fn of(s: &Steps, cut: Cut, tile: usize) -> Option<Runs> {
        let (own, places) = (s.channels[0], s.places(cut));
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|&tap| places[tap]);
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for at in order.iter().map(|&tap| places[tap] * own) {
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
        (wide * 2 <= own * places.len() * 3).then_some(Runs { runs, order, wide })
    }
}

/// The gradient of the kernels at `w`: the products of the windows of the images at `x` with the results' gradient at `y`.
///
/// # Safety
/// The operands hold what `s` says, in C order; tiles are available.
pub(super) unsafe fn correlate<T: Number>(
    (s, cut, runs): (&Steps, Cut, &Runs),
    (x, y, w): (*const T, *const T, *mut T),
) -> Result<()> {
    let ([own, out], [height, width], scratch) = (s.channels, s.size(), Scratch::default());
    let size = own * out * s.taps();
    let positions = s.batch * height * width;
    let parts = (positions / POSITIONS).clamp(1, PARTS).min(s.batch);
    let tiles = out.div_ceil(OUT);
    let work = positions.saturating_mul(size * s.groups);
    let most = PARTS.div_ceil(parts * s.groups).min(work / SPLIT).min(out / SHARE);
    let shares = most.clamp(1, tiles);
    let Some(mut sums) = scratch.zeros::<T>((parts - 1) * size * s.groups) else {
        return scratch.finish();
    };
    let (inputs, first, rest) = (Sides(x, w), Sides(y, w), Sides(y, sums.as_mut_ptr()));
    parallel_for(parts * s.groups * shares, &|job| {
        let (Sides(x, w), Sides(y, _), Sides(_, rest)) = (&inputs, &first, &rest);
        let (part, group, share) = (job / shares / s.groups, job / shares % s.groups, job % shares);
        let channels = share * tiles / shares * OUT..((share + 1) * tiles / shares * OUT).min(out);
        let images = part * s.batch / parts..(part + 1) * s.batch / parts;
        let all = cut.images * cut.rows * width;
        let rows = channels.len().next_multiple_of(OUT);
        let (Some(mut strip), Some(mut turned), Some(mut sums)) = (
            scratch.zeros::<T>(s.strip(cut) + MOST),
            scratch.zeros::<T>(all * rows),
            scratch.zeros::<T>(rows * runs.wide),
        ) else {
            return;
        };
        let job = Job { s, cut, runs, group, images, channels };
        // SAFETY: the caller's contract; each job writes its own channels of its own part.
        unsafe {
            job.sum((*x, *y), &mut strip, &mut turned, &mut sums);
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

/// Some images of a group, and some channels of their results.
struct Job<'a> {
    s: &'a Steps,
    cut: Cut,
    runs: &'a Runs,
    group: usize,
    images: std::ops::Range<usize>,
    channels: std::ops::Range<usize>,
}

impl Job<'_> {
    /// Sums for every channel of the result, a row each, the products with all channels at all taps.
    ///
    /// # Safety
    /// `x` and `y` are the whole operands; `strip` and `turned` have room for a part, `sums` for the channels.
    unsafe fn sum<T: Number>(
        &self,
        (x, y): (*const T, *const T),
        strip: &mut [T],
        turned: &mut [T],
        sums: &mut [T],
    ) {
        let (s, cut, [height, _]) = (self.s, self.cut, self.s.size());
        let ([own, out], [source, whole]) = (s.channels, s.planes());
        let mut more = false;
        for image in self.images.clone().step_by(cut.images) {
            for first in (0..height).step_by(cut.rows) {
                let images = cut.images.min(self.images.end - image);
                let part = Part { images, first, rows: cut.rows.min(height - first) };
                let plane = image * s.groups + self.group;
                // SAFETY: the caller's contract.
                unsafe {
                    let x = (x.add(plane * own * source), s.groups * own * source);
                    s.lay((cut, true), part, x, strip);
                    self.turn_results(part, y.add(plane * out * whole), turned);
                    self.add(part, strip, turned, (sums, more));
                }
                more = true;
            }
        }
    }

    /// Rows of `OUT` channels of the results, a row for each position of a part.
    ///
    /// # Safety
    /// As `sum`; `y` are the results of the group, from the part's first image on.
    unsafe fn turn_results<T: Number>(&self, part: Part, y: *const T, turned: &mut [T]) {
        let (s, [_, width], [_, whole]) = (self.s, self.s.size(), self.s.planes());
        let (len, apart) = (part.rows * width, s.groups * s.channels[1] * whole);
        let tiles = turned.chunks_exact_mut(part.images * len * OUT);
        for (tile, channel) in tiles.zip(self.channels.clone().step_by(OUT)) {
            let columns = OUT.min(self.channels.end - channel);
            for (image, to) in tile.chunks_exact_mut(len * OUT).enumerate() {
                // SAFETY: the caller's contract; rows that are computed together follow each other.
                unsafe {
                    let from = y.add(image * apart + channel * whole + part.first * width);
                    turn((len, columns), (from, whole), (to.as_mut_ptr(), OUT));
                }
            }
        }
    }

    /// Adds the products of a part to the sums, or begins these.
    ///
    /// # Safety
    /// `strip` and `turned` hold the part; tiles are available.
    unsafe fn add<T: Number>(
        &self,
        part: Part,
        strip: &[T],
        turned: &[T],
        (sums, more): (&mut [T], bool),
    ) {
        let (cut, [_, width], own) = (self.cut, self.s.size(), self.s.channels[0]);
        let mut places = Vec::with_capacity(part.images * part.rows * width);
        for line in 0..part.images * part.rows {
            let line = line / part.rows * cut.lines + line % part.rows;
            places.extend((0..width).map(|column| (line * cut.wide + column) * own));
        }
        let (start, wide) = ([T::default(); OUT], self.runs.wide);
        for &(first, len, at) in &self.runs.runs {
            for skip in (0..len).step_by(T::WIDE) {
                for (tile, sums) in sums.chunks_exact_mut(OUT * wide).enumerate() {
                    // SAFETY: the caller's contract; strips have room for a tile behind their last number.
                    unsafe {
                        let w = turned.as_ptr().add(tile * places.len() * OUT);
                        let sums = sums.as_mut_ptr().add(at + skip);
                        let x = strip.as_ptr().add(first + skip);
                        T::tile(x, &places, w, (start.as_ptr(), more), (sums, wide));
                    }
                }
            }
        }
    }

    /// Writes the sums to the kernels of the group: the taps of a channel follow each other.
    ///
    /// # Safety
    /// `w` holds the kernels of the group.
    unsafe fn write<T: Number>(&self, sums: &[T], w: *mut T) {
        let ([own, _], taps) = (self.s.channels, self.s.taps());
        let rows = self.runs.runs.iter();
        let places = rows.flat_map(|&(_, len, at)| (0..len / own).map(move |k| at + k * own));
        let mut order: Vec<_> = self.runs.order.iter().copied().zip(places).collect();
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
