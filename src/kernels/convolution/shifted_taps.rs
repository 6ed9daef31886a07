//! Convolution as a sum over taps of shifted images: padded strips of the images, tap offsets, and
//! the packing of kernels.
//!
//! A strided axis is split into phases: a strip stores each phase that some tap reads, so that
//! adjacent output positions read adjacent elements. Invariant: taps keep one order, in whatever
//! strip a position lies.

use super::geometry::Geometry;
use super::im2col::{ConvFloat, Scratch, copy_run, copy_strided};
use super::simd_loops::{TILE_CHANNELS, available};
use crate::kernels::gemm::pack_transposed;

/// Approximate elements of a strip: it stays in the second cache.
const STRIP_ELEMENTS: usize = 1 << 17;
/// Minimum rows of a strip, unless the result has fewer.
const MIN_STRIP_ROWS: usize = 8;
/// Minimum tiles of a strip, unless there are no more images.
const MIN_STRIP_TILES: usize = 16;

/// A tap of an axis: its index in the kernel, the phase it reads, and its shift from the output
/// position.
#[derive(Clone, Copy)]
struct Tap {
    index: usize,
    phase: usize,
    shift: usize,
}

/// One axis of the convolution.
struct Axis {
    /// Elements of the source, stride of a phase, and zeros before the source.
    source: usize,
    stride: usize,
    zeros_before: usize,
    taps: Vec<Tap>,
    phases: Vec<usize>,
    /// Computed output positions: first, step, count, and the length of the whole output.
    first: usize,
    step: usize,
    count: usize,
    output_len: usize,
}

impl Axis {
    fn forward(g: &Geometry, axis: usize) -> Axis {
        let stride = g.stride[axis];
        let positions = || (0..g.kernel[axis]).map(|k| k * g.dilation[axis]);
        let mut phases: Vec<usize> = positions().map(|at| at % stride).collect();
        phases.sort_unstable();
        phases.dedup();
        let phase = |at: usize| phases.iter().position(|&p| p == at % stride).unwrap_or(0);
        let tap = |(of, at)| Tap { index: of, phase: phase(at), shift: at / stride };
        Axis {
            source: g.image[axis],
            stride,
            zeros_before: g.padding[axis],
            taps: positions().enumerate().map(tap).collect(),
            phases,
            first: 0,
            step: 1,
            count: g.result[axis],
            output_len: g.result[axis],
        }
    }

    /// The adjoint, for the image positions from `first` on, a stride apart: the taps that reached
    /// them.
    fn backward(g: &Geometry, axis: usize, first: usize) -> Axis {
        let step = g.stride[axis];
        // Tap `k` connects output position `i` to image position `p` if `i stride + k dilation = p
        // + padding`.
        let far = |k: usize| (first + g.padding[axis]) as isize - (k * g.dilation[axis]) as isize;
        let reached = || {
            let exact = move |&k: &usize| far(k).rem_euclid(step as isize) == 0;
            (0..g.kernel[axis]).filter(exact).map(|k| (k, far(k) / step as isize))
        };
        let zeros_before = reached().map(|(_, far)| -far).max().unwrap_or(0).max(0);
        let tap = |(of, far)| Tap { index: of, phase: 0, shift: (far + zeros_before) as usize };
        Axis {
            source: g.result[axis],
            stride: 1,
            zeros_before: zeros_before as usize,
            taps: reached().map(tap).collect(),
            phases: vec![0],
            first,
            step,
            count: g.image[axis].saturating_sub(first).div_ceil(step),
            output_len: g.image[axis],
        }
    }

    /// The largest shift of a tap.
    fn reach(&self) -> usize {
        self.taps.iter().map(|tap| tap.shift).max().unwrap_or(0)
    }

    /// The range of positions of phase `p` inside the source, within `len`.
    fn inside(&self, p: usize, len: usize) -> (usize, usize) {
        let from = |at: usize| at.saturating_sub(p).div_ceil(self.stride).min(len);
        (from(self.zeros_before), from(self.zeros_before + self.source))
    }
}

/// A convolution, or its adjoint for the image, as sums over shifted taps. `channels` are the
/// source and output channels of a group.
pub(super) struct ShiftedTaps {
    pub(super) batch: usize,
    pub(super) groups: usize,
    pub(super) channels: [usize; 2],
    axes: [Axis; 2],
    kernel: [usize; 2],
    /// Whether this is the adjoint, whose source is the convolution's output.
    adjoint: bool,
}

/// Layout of a strip: images, output rows of each, lines of each (with the taps' reach), and
/// columns.
#[derive(Clone, Copy)]
pub(super) struct StripLayout {
    pub(super) images: usize,
    pub(super) rows: usize,
    pub(super) lines: usize,
    pub(super) wide: usize,
    /// Elements from one image to the next, and from one phase of a channel to the next.
    pub(super) image: usize,
    plane: usize,
}

/// The output that one strip serves: images, first row, and rows.
#[derive(Clone, Copy)]
pub(super) struct StripPart {
    pub(super) images: usize,
    pub(super) first: usize,
    pub(super) rows: usize,
}

impl ShiftedTaps {
    /// A convolution, if the SIMD tiles support it.
    #[inline(never)]
    pub(super) fn forward(g: &Geometry) -> Option<ShiftedTaps> {
        let axes = [Axis::forward(g, 0), Axis::forward(g, 1)];
        ShiftedTaps::if_supported(ShiftedTaps::of(g, g.group_channels(), axes, false))
    }

    /// The adjoint for the image, for the phase of image positions that begins at `first`.
    #[inline(never)]
    pub(super) fn backward(g: &Geometry, first: [usize; 2]) -> Option<ShiftedTaps> {
        let [own, out] = g.group_channels();
        let axes = [Axis::backward(g, 0, first[0]), Axis::backward(g, 1, first[1])];
        ShiftedTaps::if_supported(ShiftedTaps::of(g, [out, own], axes, true))
    }

    fn of(g: &Geometry, channels: [usize; 2], axes: [Axis; 2], adjoint: bool) -> ShiftedTaps {
        ShiftedTaps { batch: g.batch, groups: g.groups, channels, axes, kernel: g.kernel, adjoint }
    }

    fn if_supported(self) -> Option<ShiftedTaps> {
        // A tile has several output channels; depthwise has its own path.
        let fits = self.channels[1] > 1 || self.is_depthwise();
        (self.channels[0] > 0 && fits && available()).then_some(self)
    }

    /// Whether each output channel has one source channel of its own.
    pub(super) fn is_depthwise(&self) -> bool {
        self.channels == [1, 1]
    }

    pub(super) fn taps(&self) -> usize {
        self.axes[0].taps.len() * self.axes[1].taps.len()
    }

    /// Elements of one kernel.
    pub(super) fn kernel_len(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Output rows and columns that are computed.
    pub(super) fn size(&self) -> [usize; 2] {
        [self.axes[0].count, self.axes[1].count]
    }

    /// Elements of a channel of the source, and of the whole output.
    pub(super) fn planes(&self) -> [usize; 2] {
        let [rows, columns] = &self.axes;
        [rows.source * columns.source, rows.output_len * columns.output_len]
    }

    /// Offset of a computed position in the whole output.
    pub(super) fn result_offset(&self, row: usize, column: usize) -> usize {
        let [rows, columns] = &self.axes;
        (rows.first + row * rows.step) * columns.output_len + columns.first + column * columns.step
    }

    /// Step of the computed columns in the output.
    pub(super) fn result_step(&self) -> usize {
        self.axes[1].step
    }

    /// Whether the whole output is computed.
    pub(super) fn covers_result(&self) -> bool {
        self.axes.iter().all(|axis| axis.step == 1)
    }

    fn phases(&self) -> usize {
        self.axes[0].phases.len() * self.axes[1].phases.len()
    }

    /// The strip layout, with several images if one has too few positions for tiles of `tile`
    /// positions.
    #[inline(never)]
    pub(super) fn strip_layout(&self, tile_positions: usize) -> StripLayout {
        let [count, width] = self.size();
        let (reach, wide) = (self.axes[0].reach(), width + self.axes[1].reach());
        let line = (self.channels[0] * self.phases() * wide).max(1);
        let rows = (STRIP_ELEMENTS / line).max(reach).max(MIN_STRIP_ROWS).min(count);
        let lines = rows + reach;
        let mut images = 1;
        if rows == count {
            let room = STRIP_ELEMENTS / (line * lines).max(1);
            let most = (MIN_STRIP_TILES * tile_positions)
                .div_ceil((count * width).max(1))
                .min(room)
                .max(1);
            images = self.batch.div_ceil(self.batch.div_ceil(most).max(1)).max(1);
        }
        let image = lines * wide;
        StripLayout { images, rows, lines, wide, image, plane: images * image }
    }

    /// Whether tiles may read the images in place: a single tap that covers exactly the image.
    pub(super) fn is_pointwise(&self) -> bool {
        let covers = |a: &Axis| {
            a.stride == 1
                && a.zeros_before == 0
                && a.step == 1
                && a.count == a.source
                && a.reach() == 0
        };
        self.taps() == 1 && self.axes.iter().all(covers)
    }

    /// The layout of images read in place.
    pub(super) fn pointwise_layout(&self, tile_positions: usize) -> StripLayout {
        let [rows, wide] = self.size();
        let plane = rows * wide;
        let most = (MIN_STRIP_TILES * tile_positions).div_ceil(plane.max(1)).max(1);
        let images = self.batch.div_ceil(self.batch.div_ceil(most).max(1)).max(1);
        let image = self.groups * self.channels[0] * plane;
        StripLayout { images, rows, lines: rows, wide, image, plane }
    }

    /// Elements of a strip.
    pub(super) fn strip(&self, layout: StripLayout) -> usize {
        self.channels[0] * self.phases() * layout.plane
    }

    /// Offsets of the taps in the strip of one channel, from an output position.
    #[inline(never)]
    pub(super) fn channel_tap_offsets(&self, layout: StripLayout) -> Vec<usize> {
        let [rows, columns] = &self.axes;
        let place = |row: &Tap, column: &Tap| {
            let phase = row.phase * columns.phases.len() + column.phase;
            phase * layout.plane + row.shift * layout.wide + column.shift
        };
        rows.taps.iter().flat_map(|r| columns.taps.iter().map(move |c| place(r, c))).collect()
    }

    /// Offsets of the taps of all channels in a strip, from an output position.
    #[inline(never)]
    pub(super) fn tap_offsets(&self, layout: StripLayout) -> Vec<usize> {
        let (offsets_in_channel, plane) =
            (self.channel_tap_offsets(layout), self.phases() * layout.plane);
        let channels = (0..self.channels[0]).map(|channel| channel * plane);
        channels.flat_map(|at| offsets_in_channel.iter().map(move |place| at + place)).collect()
    }

    /// Packs the kernels for tiles: for each group and `TILE_CHANNELS` output channels, one row per
    /// source channel and tap, with arbitrary numbers beyond the last channel. Also returns the
    /// initial values (bias) of the output channels.
    ///
    /// # Safety
    /// `w` holds the kernels, and `bias` one element per channel.
    pub(super) unsafe fn pack_kernels<T: ConvFloat>(
        &self,
        w: *const T,
        bias: Option<*const T>,
        scratch: &Scratch,
    ) -> Option<(Vec<T>, Vec<T>)> {
        let ([own, out], all) = (self.channels, self.kernel_len());
        let parts = out.div_ceil(TILE_CHANNELS);
        let mut starts = scratch.reserve(self.groups * parts * TILE_CHANNELS)?;
        let all_rows = self.groups * parts * own * self.taps();
        let mut packed = scratch.reserve::<T>(all_rows * TILE_CHANNELS)?;
        let taps = self.kernel_order();
        // Kernels that are contiguous for an output channel, or a pair, are packed by transposes.
        let (deep, times) = if self.adjoint { (all, own) } else { (own * all, 1) };
        let deep = deep * usize::from(taps.len() == all);
        let [source, result] = if self.adjoint { [out * all, all] } else { [all, own * all] };
        for part in 0..self.groups * parts {
            let (group, first) = (part / parts, part % parts * TILE_CHANNELS);
            let channel = |k: usize| (first + k).min(out - 1);
            // SAFETY: the caller's contract.
            unsafe {
                let from = w.add(group * own * out * all);
                let from: [_; TILE_CHANNELS] =
                    std::array::from_fn(|k| from.add(channel(k) * result));
                let start = |k| bias.map_or(T::default(), |b| *b.add(group * out + channel(k)));
                starts.extend((0..TILE_CHANNELS).map(start));
                let mut to = packed.as_mut_ptr().add(part * own * taps.len() * TILE_CHANNELS);
                let columns = TILE_CHANNELS.min(out - first);
                if deep > 0 {
                    for at in 0..times {
                        let from = (from[0].add(at * source), result as isize);
                        let to = (to.add(at * deep * TILE_CHANNELS), TILE_CHANNELS);
                        pack_transposed((deep, columns), from, to);
                    }
                    continue;
                }
                for at in (0..own).map(|channel| channel * source) {
                    for &tap in &taps {
                        to.cast::<[T; TILE_CHANNELS]>()
                            .write_unaligned(from.map(|from| *from.add(at + tap)));
                        to = to.add(TILE_CHANNELS);
                    }
                }
            }
        }
        // SAFETY: every part wrote its rows.
        unsafe { packed.set_len(all_rows * TILE_CHANNELS) }
        Some((packed, starts))
    }

    /// Offsets of the taps in a kernel, in their order.
    #[inline(never)]
    pub(super) fn kernel_order(&self) -> Vec<usize> {
        let columns = &self.axes[1].taps;
        let row = |row: &Tap| row.index * self.kernel[1];
        self.axes[0]
            .taps
            .iter()
            .flat_map(|r| columns.iter().map(move |c| row(r) + c.index))
            .collect()
    }

    /// Copies the channels of a group at `x`, of images `image_stride` elements apart, to a strip with
    /// zeros around each image; with `channels_last`, channels-last. Columns beside an image must be zero
    /// already.
    ///
    /// # Safety
    /// `x` holds the channels of the part's images, and the SIMD tiles are available.
    pub(super) unsafe fn fill_strip<T: ConvFloat>(
        &self,
        (layout, channels_last): (StripLayout, bool),
        part: StripPart,
        (x, image_stride): (*const T, usize),
        strip: &mut [T],
    ) {
        let ([rows, columns], own) = (&self.axes, self.channels[0]);
        let (source, phases) = (rows.source * columns.source, self.phases());
        let (planes, pixel) = if channels_last { (phases, own) } else { (own * phases, 1) };
        let all = strip.chunks_exact_mut((layout.plane * pixel).max(1)).take(planes);
        for (plane, to) in all.enumerate() {
            let (channel, phase) = (plane / phases, plane % phases);
            let down = rows.phases[phase / columns.phases.len()];
            let along = columns.phases[phase % columns.phases.len()];
            let (low, high) = columns.inside(along, layout.wide);
            if low >= high {
                continue;
            }
            let x = x.wrapping_add(channel * source + low * columns.stride + along);
            let (mut at, mut x) = (0, x.wrapping_sub(columns.zeros_before));
            for line in to.chunks_exact_mut(layout.wide * pixel).take(part.images * layout.lines) {
                let row = ((part.first + at) * rows.stride + down).wrapping_sub(rows.zeros_before);
                // SAFETY: a row below the bound is inside the image, and columns between the bounds
                // are inside it.
                unsafe {
                    let (to, len) = (line.as_mut_ptr().add(low * pixel), high - low);
                    let from = (x.wrapping_add(row.wrapping_mul(columns.source)), columns.stride);
                    match (channels_last, from.1) {
                        _ if row >= rows.source => line.fill(T::default()),
                        (false, 1) => copy_run(from.0, to, len),
                        (false, _) => copy_strided(from, (to, 1), len),
                        (true, 1) => {
                            pack_transposed((len, own), (from.0, source as isize), (to, own));
                        }
                        (true, step) => (0..own).for_each(|k| {
                            copy_strided((from.0.add(k * source), step), (to.add(k), own), len);
                        }),
                    }
                }
                at += 1;
                if at == layout.lines {
                    (at, x) = (0, x.wrapping_add(image_stride));
                }
            }
        }
    }
}
