//! Products of images and kernels as sums over taps of moved images: where the taps read, and what they read from.
//!
//! Owns: `Steps`, the strips of images with zeros around them, and the order of kernels. Never multiplies.
//! What a stride skips lies apart: a strip keeps each phase of rows and columns that some tap reads, so that positions of the
//! result which are neighbours read neighbours. Invariant: taps keep one order, whatever strip a position lies in.

use super::geometry::Geometry;
use super::im2col::{Number, Scratch, copy_apart, copy_run};
use super::simd_loops::{OUT, available};
use crate::kernels::gemm::turn;

/// Elements of a strip of images, about: it stays in the second-level cache.
const STRIP: usize = 1 << 17;
/// Rows of a strip at least, unless the result has fewer.
const ROWS: usize = 8;
/// Tiles of a strip at least, unless there are no more images.
const TILES: usize = 16;

/// A tap of an axis: which one of the kernel, in which phase it reads, and how far from the position of the result.
#[derive(Clone, Copy)]
struct Tap {
    of: usize,
    phase: usize,
    shift: usize,
}

/// One axis of a product.
struct Axis {
    /// Elements of the source, every how many of them a phase has, and the zeros before it.
    source: usize,
    stride: usize,
    before: usize,
    taps: Vec<Tap>,
    phases: Vec<usize>,
    /// Positions that are computed: the first of the result, every how many, how many, and of how many in all.
    first: usize,
    step: usize,
    count: usize,
    whole: usize,
}

impl Axis {
    fn forward(g: &Geometry, axis: usize) -> Axis {
        let stride = g.stride[axis];
        let places = || (0..g.kernel[axis]).map(|k| k * g.dilation[axis]);
        let mut phases: Vec<usize> = places().map(|at| at % stride).collect();
        phases.sort_unstable();
        phases.dedup();
        let phase = |at: usize| phases.iter().position(|&p| p == at % stride).unwrap_or(0);
        let tap = |(of, at)| Tap { of, phase: phase(at), shift: at / stride };
        Axis {
            source: g.image[axis],
            stride,
            before: g.padding[axis],
            taps: places().enumerate().map(tap).collect(),
            phases,
            first: 0,
            step: 1,
            count: g.result[axis],
            whole: g.result[axis],
        }
    }

    /// The adjoint, for the image's positions from `first` on, a stride apart: the taps that reached them.
    fn backward(g: &Geometry, axis: usize, first: usize) -> Axis {
        let step = g.stride[axis];
        // Position `i` of the result met `p` of the image by tap `k` where `i stride + k dilation = p + padding`.
        let far = |k: usize| (first + g.padding[axis]) as isize - (k * g.dilation[axis]) as isize;
        let reached = || {
            let exact = move |&k: &usize| far(k).rem_euclid(step as isize) == 0;
            (0..g.kernel[axis]).filter(exact).map(|k| (k, far(k) / step as isize))
        };
        let before = reached().map(|(_, far)| -far).max().unwrap_or(0).max(0);
        let tap = |(of, far)| Tap { of, phase: 0, shift: (far + before) as usize };
        Axis {
            source: g.result[axis],
            stride: 1,
            before: before as usize,
            taps: reached().map(tap).collect(),
            phases: vec![0],
            first,
            step,
            count: g.image[axis].saturating_sub(first).div_ceil(step),
            whole: g.image[axis],
        }
    }

    /// How far the last tap reads from the position of the result.
    fn reach(&self) -> usize {
        self.taps.iter().map(|tap| tap.shift).max().unwrap_or(0)
    }

    /// The positions of phase `p` that lie in the source, of `len`.
    fn inside(&self, p: usize, len: usize) -> (usize, usize) {
        let from = |at: usize| at.saturating_sub(p).div_ceil(self.stride).min(len);
        (from(self.before), from(self.before + self.source))
    }
}

/// What such a product is; one group has `channels` of a source and of a result.
pub(super) struct Steps {
    pub(super) batch: usize,
    pub(super) groups: usize,
    pub(super) channels: [usize; 2],
    axes: [Axis; 2],
    kernel: [usize; 2],
    /// Whether the kernels are those of the adjoint: from the result's channels to the image's.
    adjoint: bool,
}

/// How strips are cut: images, rows of the result of each, lines of each, and columns.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub(super) images: usize,
    pub(super) rows: usize,
    pub(super) lines: usize,
    pub(super) wide: usize,
    /// Elements from an image to the next one, and from a phase of a channel to the next.
    pub(super) image: usize,
    plane: usize,
}

/// The part of a product that one strip serves: images, the first row of the result, and rows.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) images: usize,
    pub(super) first: usize,
    pub(super) rows: usize,
}

impl Steps {
    /// A convolution, if tiles are good for it.
    #[inline(never)]
    pub(super) fn forward(g: &Geometry) -> Option<Steps> {
        let axes = [Axis::forward(g, 0), Axis::forward(g, 1)];
        Steps::good(Steps::of(g, g.own(), axes, false))
    }

    /// The adjoint of one by its image, for the phase of the image's positions that begins at `first`.
    #[inline(never)]
    pub(super) fn backward(g: &Geometry, first: [usize; 2]) -> Option<Steps> {
        let [own, out] = g.own();
        let axes = [Axis::backward(g, 0, first[0]), Axis::backward(g, 1, first[1])];
        Steps::good(Steps::of(g, [out, own], axes, true))
    }

    fn of(g: &Geometry, channels: [usize; 2], axes: [Axis; 2], adjoint: bool) -> Steps {
        Steps { batch: g.batch, groups: g.groups, channels, axes, kernel: g.kernel, adjoint }
    }

    fn good(self) -> Option<Steps> {
        // A tile has several channels; a channel for itself goes another way.
        let fits = self.channels[1] > 1 || self.is_depthwise();
        (self.channels[0] > 0 && fits && available()).then_some(self)
    }

    /// Whether each channel of a result has one channel of a source for itself.
    pub(super) fn is_depthwise(&self) -> bool {
        self.channels == [1, 1]
    }

    pub(super) fn taps(&self) -> usize {
        self.axes[0].taps.len() * self.axes[1].taps.len()
    }

    /// Elements of one kernel.
    pub(super) fn kernels(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Rows and columns of the result that are computed.
    pub(super) fn size(&self) -> [usize; 2] {
        [self.axes[0].count, self.axes[1].count]
    }

    /// Elements of a channel of the source, and of the whole result.
    pub(super) fn planes(&self) -> [usize; 2] {
        let [rows, columns] = &self.axes;
        [rows.source * columns.source, rows.whole * columns.whole]
    }

    /// Where a position that is computed lies in the whole result.
    pub(super) fn place(&self, row: usize, column: usize) -> usize {
        let [rows, columns] = &self.axes;
        (rows.first + row * rows.step) * columns.whole + columns.first + column * columns.step
    }

    /// How far columns that are computed are apart.
    pub(super) fn step(&self) -> usize {
        self.axes[1].step
    }

    /// Whether all of the result is computed.
    pub(super) fn whole(&self) -> bool {
        self.axes.iter().all(|axis| axis.step == 1)
    }

    fn phases(&self) -> usize {
        self.axes[0].phases.len() * self.axes[1].phases.len()
    }

    /// Strips that have several images where one has few positions for tiles of `wide`.
    #[inline(never)]
    pub(super) fn cut(&self, wide_tile: usize) -> Cut {
        let [count, width] = self.size();
        let (reach, wide) = (self.axes[0].reach(), width + self.axes[1].reach());
        let line = (self.channels[0] * self.phases() * wide).max(1);
        let rows = (STRIP / line).max(reach).max(ROWS).min(count);
        let lines = rows + reach;
        let mut images = 1;
        if rows == count {
            let room = STRIP / (line * lines).max(1);
            let most = (TILES * wide_tile).div_ceil((count * width).max(1)).min(room).max(1);
            images = self.batch.div_ceil(self.batch.div_ceil(most).max(1)).max(1);
        }
        let image = lines * wide;
        Cut { images, rows, lines, wide, image, plane: images * image }
    }

    /// Whether tiles may read the images where they lie: one tap, which meets all of an image and nothing beside it.
    pub(super) fn is_pointwise(&self) -> bool {
        let whole = |a: &Axis| {
            a.stride == 1 && a.before == 0 && a.step == 1 && a.count == a.source && a.reach() == 0
        };
        self.taps() == 1 && self.axes.iter().all(whole)
    }

    /// The cut of images that lie as they are.
    pub(super) fn pointwise_cut(&self, wide_tile: usize) -> Cut {
        let [rows, wide] = self.size();
        let plane = rows * wide;
        let most = (TILES * wide_tile).div_ceil(plane.max(1)).max(1);
        let images = self.batch.div_ceil(self.batch.div_ceil(most).max(1)).max(1);
        let image = self.groups * self.channels[0] * plane;
        Cut { images, rows, lines: rows, wide, image, plane }
    }

    /// Elements of a strip.
    pub(super) fn strip(&self, cut: Cut) -> usize {
        self.channels[0] * self.phases() * cut.plane
    }

    /// Where the taps lie in the strip of one channel, from the position of a result.
    #[inline(never)]
    pub(super) fn places(&self, cut: Cut) -> Vec<usize> {
        let [rows, columns] = &self.axes;
        let place = |row: &Tap, column: &Tap| {
            let phase = row.phase * columns.phases.len() + column.phase;
            phase * cut.plane + row.shift * cut.wide + column.shift
        };
        rows.taps.iter().flat_map(|r| columns.taps.iter().map(move |c| place(r, c))).collect()
    }

    /// Where the taps of all channels lie in a strip, from the position of a result.
    #[inline(never)]
    pub(super) fn offsets(&self, cut: Cut) -> Vec<usize> {
        let (places, plane) = (self.places(cut), self.phases() * cut.plane);
        let channels = (0..self.channels[0]).map(|channel| channel * plane);
        channels.flat_map(|at| places.iter().map(move |place| at + place)).collect()
    }

    /// The kernels in the order of tiles: for a group and `OUT` channels of the result, one row for each channel of the source
    /// and tap, with any numbers beyond the last channel; and what the elements of these channels begin with.
    ///
    /// # Safety
    /// `w` holds the kernels, and `bias` one element per channel.
    pub(super) unsafe fn packed<T: Number>(
        &self,
        w: *const T,
        bias: Option<*const T>,
        scratch: &Scratch,
    ) -> Option<(Vec<T>, Vec<T>)> {
        let ([own, out], all) = (self.channels, self.kernels());
        let parts = out.div_ceil(OUT);
        let mut starts = scratch.room(self.groups * parts * OUT)?;
        let all_rows = self.groups * parts * own * self.taps();
        let mut packed = scratch.room::<T>(all_rows * OUT)?;
        let taps = self.order();
        // The kernels of one channel of the result follow each other, or those between two channels.
        let (deep, times) = if self.adjoint { (all, own) } else { (own * all, 1) };
        let deep = deep * usize::from(taps.len() == all);
        let [source, result] = if self.adjoint { [out * all, all] } else { [all, own * all] };
        for part in 0..self.groups * parts {
            let (group, first) = (part / parts, part % parts * OUT);
            let channel = |k: usize| (first + k).min(out - 1);
            // SAFETY: the caller's contract.
            unsafe {
                let from = w.add(group * own * out * all);
                let from: [_; OUT] = std::array::from_fn(|k| from.add(channel(k) * result));
                let start = |k| bias.map_or(T::default(), |b| *b.add(group * out + channel(k)));
                starts.extend((0..OUT).map(start));
                let mut to = packed.as_mut_ptr().add(part * own * taps.len() * OUT);
                let columns = OUT.min(out - first);
                let turned = (0..times).all(|at| {
                    let to = to.add(at * deep * OUT);
                    deep > 0 && turn((deep, columns), (from[0].add(at * source), result), (to, OUT))
                });
                for at in (0..own).filter(|_| !turned).map(|channel| channel * source) {
                    for &tap in &taps {
                        to.cast::<[T; OUT]>().write_unaligned(from.map(|from| *from.add(at + tap)));
                        to = to.add(OUT);
                    }
                }
            }
        }
        // SAFETY: every part wrote its rows.
        unsafe { packed.set_len(all_rows * OUT) }
        Some((packed, starts))
    }

    /// The places of the taps in a kernel, in their order.
    #[inline(never)]
    pub(super) fn order(&self) -> Vec<usize> {
        let columns = &self.axes[1].taps;
        let row = |row: &Tap| row.of * self.kernel[1];
        self.axes[0].taps.iter().flat_map(|r| columns.iter().map(move |c| row(r) + c.of)).collect()
    }

    /// Copies the channels of a group at `x`, of images that are `apart`, to a strip with zeros around each; if `turned`, with the
    /// channels of a pixel behind each other. Columns beside an image are zeros already.
    ///
    /// # Safety
    /// `x` holds the channels of the part's images, and tiles are available.
    pub(super) unsafe fn lay<T: Number>(
        &self,
        (cut, turned): (Cut, bool),
        part: Part,
        (x, apart): (*const T, usize),
        strip: &mut [T],
    ) {
        let ([rows, columns], own) = (&self.axes, self.channels[0]);
        let (source, phases) = (rows.source * columns.source, self.phases());
        let (planes, pixel) = if turned { (phases, own) } else { (own * phases, 1) };
        let all = strip.chunks_exact_mut((cut.plane * pixel).max(1)).take(planes);
        for (plane, to) in all.enumerate() {
            let (channel, phase) = (plane / phases, plane % phases);
            let down = rows.phases[phase / columns.phases.len()];
            let along = columns.phases[phase % columns.phases.len()];
            let (low, high) = columns.inside(along, cut.wide);
            if low >= high {
                continue;
            }
            let x = x.wrapping_add(channel * source + low * columns.stride + along);
            let (mut at, mut x) = (0, x.wrapping_sub(columns.before));
            for line in to.chunks_exact_mut(cut.wide * pixel).take(part.images * cut.lines) {
                let row = ((part.first + at) * rows.stride + down).wrapping_sub(rows.before);
                // SAFETY: a row below the bound is one of the image, and columns between the bounds lie in it.
                unsafe {
                    let (to, len) = (line.as_mut_ptr().add(low * pixel), high - low);
                    let from = (x.wrapping_add(row.wrapping_mul(columns.source)), columns.stride);
                    match (turned, from.1) {
                        _ if row >= rows.source => line.fill(T::default()),
                        (false, 1) => copy_run(from.0, to, len),
                        (false, _) => copy_apart(from, (to, 1), len),
                        (true, 1) => _ = turn((len, own), (from.0, source), (to, own)),
                        (true, apart) => (0..own).for_each(|k| {
                            copy_apart((from.0.add(k * source), apart), (to.add(k), own), len);
                        }),
                    }
                }
                at += 1;
                if at == cut.lines {
                    (at, x) = (0, x.wrapping_add(apart));
                }
            }
        }
    }
}
