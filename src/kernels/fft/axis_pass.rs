//! Runs a line transform along one axis of a strided array.
//!
//! Lines are processed in strips of adjacent ones: gathered into contiguous workspace by blocked
//! transposes, transformed, and scattered back, over several threads. Invariant: strips follow from
//! the shapes alone, so the number of threads decides no bit.

use super::batched::workspace_bytes;
use super::float::Number;
use crate::kernels::elementwise::split_above;
use crate::kernels::view::{Axes, View, ViewMut};
use crate::kernels::workspace::{Workspace, WorkspaceSlices, bytes_of};
use crate::threads::{num_threads, parallel_for_two_ended};

/// Target number of parallel blocks, and bounds of a block's time in nanoseconds. The axes of a
/// transform run one after the other, so the last block of each should be short.
const TARGET_BLOCKS: f32 = 32.0;
const MIN_BLOCK_NS: f32 = 4_000.0;
const MAX_BLOCK_NS: f32 = 20_000.0;
/// Most bytes of a strip: what fits a core's cache beside other data.
const STRIP_BYTES: usize = 512 << 10;
/// Positions of a line in a transpose tile.
const TILE_POSITIONS: usize = 8;
/// Most lines of a strip.
const MAX_STRIP_LINES: usize = 32;
/// Target number of strips for contiguous lines, and the minimum elements of such a strip.
const MIN_STRIPS: usize = 16;
const MIN_STRIP_ELEMENTS: usize = 4096;

/// A transform of contiguous lines.
pub(super) trait LineTransform: Sync {
    /// Element type of the input lines.
    type In: Number;
    /// Element type of the output lines.
    type Out: Number;
    /// Lengths of an input and of an output line.
    fn lengths(&self) -> [usize; 2];
    /// Lines per call that are fastest.
    fn lines_per_call(&self) -> usize;
    /// Bytes of workspace for this many lines.
    fn workspace_bytes(&self, lines: usize) -> usize;
    /// Transforms the lines of `source` into contiguous lines of `out`.
    fn transform(
        &self,
        source: LineSource<'_, Self::In>,
        out: &mut [Self::Out],
        workspace: WorkspaceSlices<'_>,
    );
}

/// The input lines of a strip.
pub(super) struct LineSource<'a, A> {
    ptr: *const A,
    step: isize,
    gap: isize,
    len: usize,
    pub(super) lines: usize,
    /// Whether they are also the output lines.
    pub(super) in_place: bool,
    life: std::marker::PhantomData<&'a A>,
}

impl<'a, A: Number> LineSource<'a, A> {
    /// The lines as one slice, if they are contiguous and not in place.
    pub(super) fn as_contiguous(&self) -> Option<&'a [A]> {
        let follow = self.step == 1 && (self.lines == 1 || self.gap == self.len as isize);
        // SAFETY: the view holds them, and nothing writes them: they are not `in_place`.
        (follow && !self.in_place)
            .then(|| unsafe { std::slice::from_raw_parts(self.ptr, self.lines * self.len) })
    }

    /// Copies the lines to contiguous memory.
    pub(super) fn gather(&self, to: &mut [A]) {
        assert!(to.len() == self.lines * self.len, "gather: lines");
        for start in (0..self.len).step_by(TILE_POSITIONS) {
            let rows = TILE_POSITIONS.min(self.len - start);
            let next = self.ptr.wrapping_offset((start + TILE_POSITIONS) as isize * self.step);
            prefetch_tile(next, [self.step, self.gap], self.len - start - rows, self.lines);
            for line in 0..self.lines {
                let target = &mut to[line * self.len + start..][..rows];
                let from = self.ptr.wrapping_offset(line as isize * self.gap);
                let from = from.wrapping_offset(start as isize * self.step);
                // SAFETY: the view holds every position of its lines.
                unsafe { load_tile(from, self.step, target) };
            }
        }
    }
}

/// Prefetches the next tile of adjacent lines: each position is on another page, where the hardware
/// prefetcher does not help.
#[inline(always)]
fn prefetch_tile<A>(at: *const A, [step, gap]: [isize; 2], left: usize, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    if gap == 1 && step != 1 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for position in 0..TILE_POSITIONS.min(left) {
            let row = at.wrapping_offset(position as isize * step).cast::<i8>();
            for byte in (0..lines * size_of::<A>()).step_by(64) {
                // SAFETY: a prefetch reads nothing, whatever the address is.
                unsafe { _mm_prefetch(row.wrapping_add(byte), _MM_HINT_T0) };
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, step, gap, left, lines);
}

/// # Safety
/// Elements with this stride are readable.
#[inline(always)]
unsafe fn load_tile<A: Number>(from: *const A, step: isize, to: &mut [A]) {
    // SAFETY: the caller's contract.
    unsafe {
        if let Ok(to) = <&mut [A; TILE_POSITIONS]>::try_from(&mut *to) {
            (0..TILE_POSITIONS).for_each(|i| to[i] = *from.offset(i as isize * step));
        } else {
            to.iter_mut().enumerate().for_each(|(i, to)| *to = *from.offset(i as isize * step));
        }
    }
}

/// The output lines of a strip.
#[derive(Clone, Copy)]
struct LineTarget<A> {
    ptr: *mut A,
    step: isize,
    gap: isize,
    len: usize,
    lines: usize,
}

impl<A: Number> LineTarget<A> {
    fn is_contiguous(&self) -> bool {
        self.step == 1 && (self.lines == 1 || self.gap == self.len as isize)
    }

    /// Copies contiguous lines to their positions.
    ///
    /// # Safety
    /// The positions are writable, and no other thread accesses them.
    unsafe fn scatter(&self, from: &[A]) {
        for start in (0..self.len).step_by(TILE_POSITIONS) {
            let rows = TILE_POSITIONS.min(self.len - start);
            let next = self.ptr.wrapping_offset((start + TILE_POSITIONS) as isize * self.step);
            prefetch_tile(next, [self.step, self.gap], self.len - start - rows, self.lines);
            for line in 0..self.lines {
                let source = &from[line * self.len + start..][..rows];
                let to = self.ptr.wrapping_offset(line as isize * self.gap);
                let to = to.wrapping_offset(start as isize * self.step);
                // SAFETY: the caller's contract.
                unsafe { store_tile(source, to, self.step) };
            }
        }
    }
}

/// # Safety
/// Elements with this stride are writable.
#[inline(always)]
unsafe fn store_tile<A: Number>(from: &[A], to: *mut A, step: isize) {
    // SAFETY: the caller's contract.
    unsafe {
        if let Ok(from) = <&[A; TILE_POSITIONS]>::try_from(from) {
            (0..TILE_POSITIONS).for_each(|i| *to.offset(i as isize * step) = from[i]);
        } else {
            from.iter().enumerate().for_each(|(i, &x)| *to.offset(i as isize * step) = x);
        }
    }
}

/// The lines along an axis of an input and an output, in strips of adjacent lines.
pub(super) struct Strips {
    others: Axes<2>,
    pub(super) steps: [isize; 2],
    /// Distance of adjacent lines in both operands, number of adjacent lines, and lines per strip.
    pub(super) gaps: [isize; 2],
    pub(super) count: usize,
    pub(super) width: usize,
}

/// Lines per strip: as many as fit the cache, but enough that a transpose moves whole cache lines.
fn strip_width(strided: bool, line_bytes: usize, element: usize) -> usize {
    let least = if strided { 64usize.div_ceil(element).max(1) } else { 1 };
    (STRIP_BYTES / line_bytes.max(1)).clamp(least, MAX_STRIP_LINES)
}

impl Strips {
    pub(super) fn new(
        dims: &[usize],
        axis: usize,
        strides: [&[isize]; 2],
        line: usize,
        size: usize,
    ) -> Strips {
        let mut others = Axes::new(dims, strides);
        let (_, steps) = (others.dims.remove(axis), others.strides.remove(axis));
        // Collapses the other axes: 64 rows of 33 adjacent lines are 2112 adjacent lines, which
        // fill vectors.
        let mut others = others.collapse(false);
        // Lines are adjacent in the operand whose axis is not contiguous.
        let by = usize::from(steps[0] == 1);
        let near = (0..others.dims.len()).filter(|&i| others.dims[i] > 1).min_by_key(|&i| {
            (others.strides[i][by].unsigned_abs(), others.strides[i][0].unsigned_abs())
        });
        let (count, gaps) = match near {
            Some(i) => (others.dims.remove(i), others.strides.remove(i)),
            None => (1, [0, 0]),
        };
        let width = strip_width(steps != [1, 1], line * size, size).min(count);
        Strips { others, steps, gaps, count, width }
    }

    /// Whether output lines of `len` elements are contiguous, so that no scatter is needed.
    fn is_contiguous(&self, len: usize) -> bool {
        self.steps[1] == 1 && (self.width == 1 || self.gaps[1] == len as isize)
    }

    /// Calls `work` for every strip, in parallel if the total cost (nanoseconds per line) is worth
    /// it, with the offsets of its first line in both operands, its number of lines, and workspace.
    pub(super) fn for_each(
        &self,
        cost: f32,
        bytes: usize,
        work: &(dyn Fn([isize; 2], usize, WorkspaceSlices<'_>) + Sync),
    ) {
        let per_row = self.count.div_ceil(self.width);
        let units = self.others.count() * per_row;
        let all = cost * (self.others.count() * self.count) as f32;
        let blocks = if all < split_above() {
            1.0
        } else {
            all / (all / TARGET_BLOCKS).clamp(MIN_BLOCK_NS, MAX_BLOCK_NS)
        };
        let blocks = (blocks as usize).clamp(1, units);
        parallel_for_two_ended(blocks, &|b| {
            let mut workspace = Workspace::new(bytes);
            for unit in b * units / blocks..(b + 1) * units / blocks {
                let (row, first) = (unit / per_row, unit % per_row * self.width);
                let lines = self.width.min(self.count - first);
                self.others.for_range(row, row + 1, &mut |[from, to]| {
                    let [from_gap, to_gap] = self.gaps.map(|gap| first as isize * gap);
                    work([from + from_gap, to + to_gap], lines, workspace.parts());
                });
            }
        });
    }
}

/// Estimated nanoseconds of the transform of a line of `n` points and this many bytes.
pub(super) fn cost(n: usize, bytes: usize) -> f32 {
    bytes as f32 * (2 + n.max(1).ilog2()) as f32 * 0.01
}

/// Estimated bytes of workspace for a transform of lines of `len` numbers. The caller checks that
/// they are available.
pub fn working_bytes(len: usize, lines: usize, size: usize) -> usize {
    let width = strip_width(true, len.saturating_mul(size), size).min(lines);
    let threads = num_threads().min(lines.div_ceil(width.max(1)));
    let bytes = len.saturating_mul(size).saturating_mul(width.max(4) + 4);
    bytes.saturating_add(workspace_bytes(len, 1)).saturating_mul(threads)
}

/// Runs a transform along an axis; without an input, in place.
pub(super) fn run<P: LineTransform>(
    pass: &P,
    input: Option<View<'_>>,
    out: &ViewMut<'_>,
    axis: usize,
) {
    let in_place = input.is_none();
    let input = input.unwrap_or(out.as_view());
    let [in_len, out_len] = pass.lengths();
    assert!(input.dims[axis] == in_len && out.dims[axis] == out_len, "fft: lengths");
    if out.dims.contains(&0) {
        return;
    }
    let size = size_of::<P::In>().max(size_of::<P::Out>());
    let line = in_len.max(out_len);
    let mut strips = Strips::new(out.dims, axis, [input.strides, out.strides], line, size);
    if strips.steps == [1, 1] {
        let enough = strips.count.div_ceil(MIN_STRIPS).max(MIN_STRIP_ELEMENTS / line);
        strips.width = strips.width.min(enough.next_multiple_of(pass.lines_per_call()));
    }
    let contiguous = strips.is_contiguous(out_len);
    let taken = if contiguous { 0 } else { bytes_of::<P::Out>(strips.width * out_len) };
    let bytes = pass.workspace_bytes(strips.width) + taken;
    let ([step, to_step], [gap, to_gap]) = (strips.steps, strips.gaps);
    let moved = (in_len * size_of::<P::In>() + out_len * size_of::<P::Out>()) / 2;
    strips.for_each(cost(line, moved), bytes, &|[from, to], lines, workspace| {
        let (ptr, life) = (input.at(from), std::marker::PhantomData);
        let source = LineSource { ptr, step, gap, len: in_len, lines, in_place: false, life };
        let target =
            LineTarget { ptr: out.at(to), step: to_step, gap: to_gap, len: out_len, lines };
        // SAFETY: the views hold these lines, and each is in one strip, which one thread processes.
        unsafe { strip(pass, source, target, in_place, workspace) };
    });
}

/// # Safety
/// The lines of both are valid, and no other thread accesses those of the target.
unsafe fn strip<P: LineTransform>(
    pass: &P,
    mut source: LineSource<'_, P::In>,
    target: LineTarget<P::Out>,
    in_place: bool,
    mut workspace: WorkspaceSlices<'_>,
) {
    let n = target.lines * target.len;
    if target.is_contiguous() {
        source.in_place = in_place;
        // SAFETY: the caller's contract; the lines are contiguous.
        pass.transform(source, unsafe { std::slice::from_raw_parts_mut(target.ptr, n) }, workspace);
    } else {
        let lines = workspace.take(n);
        pass.transform(source, lines, workspace);
        // SAFETY: the caller's contract.
        unsafe { target.scatter(lines) };
    }
}
