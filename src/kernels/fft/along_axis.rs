//! Passes along one axis: lines taken to where a plan can work on them, and back.
//!
//! Owns: the cut into strips of neighbouring lines, the transposes into and out of working memory, the split over
//! threads. Never transforms. Invariant: the strips follow from the shapes alone, so that no bit depends on the threads.

use super::batched::room_bytes;
use super::float::Number;
use crate::kernels::elementwise::split_above;
use crate::kernels::view::{Axes, View, ViewMut};
use crate::kernels::workspace::{Parts, Room, bytes_of};
use crate::threads::{num_threads, parallel_for_two_ended};

/// Blocks of a split: how many are wanted, and how many nanoseconds each takes. The passes of a transform wait for each other, so
/// that the last block of each should be short.
const BLOCKS: f32 = 32.0;
const LEAST: f32 = 4_000.0;
const MOST: f32 = 20_000.0;
/// The bytes of a strip that fit beside others into a core's cache.
const CACHE: usize = 512 << 10;
/// Positions of a line that are moved together in a transpose.
const TILE: usize = 8;
/// The most lines of a strip.
const WIDEST: usize = 32;
/// How many strips of lines that follow on each other there are at least, of so many elements at least.
const STRIPS: usize = 16;
const SHORTEST: usize = 4096;

/// What is done to the lines of an axis.
pub(super) trait Pass: Sync {
    /// The elements of the lines that are read.
    type In: Number;
    /// The elements of the lines that are written.
    type Out: Number;
    /// The elements of a line that is read and of one that is written.
    fn lens(&self) -> [usize; 2];
    /// How many lines are transformed together.
    fn group(&self) -> usize;
    /// The working memory for so many lines, in bytes.
    fn room(&self, lines: usize) -> usize;
    /// Transforms the lines of `source` into `out`, where they follow on each other.
    fn run(&self, source: Source<'_, Self::In>, out: &mut [Self::Out], room: Parts<'_>);
}

/// The lines of a strip where they are read.
pub(super) struct Source<'a, A> {
    ptr: *const A,
    step: isize,
    gap: isize,
    len: usize,
    pub(super) lines: usize,
    /// Whether they are the lines that are written, in their place.
    pub(super) in_place: bool,
    life: std::marker::PhantomData<&'a A>,
}

impl<'a, A: Number> Source<'a, A> {
    /// The lines as one slice, where they follow on each other.
    pub(super) fn direct(&self) -> Option<&'a [A]> {
        let follow = self.step == 1 && (self.lines == 1 || self.gap == self.len as isize);
        // SAFETY: the view holds them, and nobody writes them: they are not `in_place`.
        (follow && !self.in_place)
            .then(|| unsafe { std::slice::from_raw_parts(self.ptr, self.lines * self.len) })
    }

    /// Copies the lines to where they follow on each other.
    pub(super) fn gather(&self, to: &mut [A]) {
        assert!(to.len() == self.lines * self.len, "gather: lines");
        for start in (0..self.len).step_by(TILE) {
            let rows = TILE.min(self.len - start);
            let next = self.ptr.wrapping_offset((start + TILE) as isize * self.step);
            call_for(next, [self.step, self.gap], self.len - start - rows, self.lines);
            for line in 0..self.lines {
                let target = &mut to[line * self.len + start..][..rows];
                let from = self.ptr.wrapping_offset(line as isize * self.gap);
                let from = from.wrapping_offset(start as isize * self.step);
                // SAFETY: the view holds every position of its lines.
                unsafe { take_tile(from, self.step, target) };
            }
        }
    }
}

/// Calls for the cache lines of the next tile, where neighbouring lines lie side by side: each position is on a page of its
/// own, where the processor predicts nothing.
#[inline(always)]
fn call_for<A>(at: *const A, [step, gap]: [isize; 2], left: usize, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    if gap == 1 && step != 1 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for position in 0..TILE.min(left) {
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
/// Positions that many steps apart are readable.
#[inline(always)]
unsafe fn take_tile<A: Number>(from: *const A, step: isize, to: &mut [A]) {
    // SAFETY: the caller's contract.
    unsafe {
        if let Ok(to) = <&mut [A; TILE]>::try_from(&mut *to) {
            (0..TILE).for_each(|i| to[i] = *from.offset(i as isize * step));
        } else {
            to.iter_mut().enumerate().for_each(|(i, to)| *to = *from.offset(i as isize * step));
        }
    }
}

/// Where the lines of a strip are written.
#[derive(Clone, Copy)]
struct Target<A> {
    ptr: *mut A,
    step: isize,
    gap: isize,
    len: usize,
    lines: usize,
}

impl<A: Number> Target<A> {
    fn is_direct(&self) -> bool {
        self.step == 1 && (self.lines == 1 || self.gap == self.len as isize)
    }

    /// Copies lines that follow on each other to their places.
    ///
    /// # Safety
    /// The places are writable and nobody else's.
    unsafe fn scatter(&self, from: &[A]) {
        for start in (0..self.len).step_by(TILE) {
            let rows = TILE.min(self.len - start);
            let next = self.ptr.wrapping_offset((start + TILE) as isize * self.step);
            call_for(next, [self.step, self.gap], self.len - start - rows, self.lines);
            for line in 0..self.lines {
                let source = &from[line * self.len + start..][..rows];
                let to = self.ptr.wrapping_offset(line as isize * self.gap);
                let to = to.wrapping_offset(start as isize * self.step);
                // SAFETY: the caller's contract.
                unsafe { put_tile(source, to, self.step) };
            }
        }
    }
}

/// # Safety
/// Positions that many steps apart are writable.
#[inline(always)]
unsafe fn put_tile<A: Number>(from: &[A], to: *mut A, step: isize) {
    // SAFETY: the caller's contract.
    unsafe {
        if let Ok(from) = <&[A; TILE]>::try_from(from) {
            (0..TILE).for_each(|i| *to.offset(i as isize * step) = from[i]);
        } else {
            from.iter().enumerate().for_each(|(i, &x)| *to.offset(i as isize * step) = x);
        }
    }
}

/// The lines of an axis in two operands, in strips.
pub(super) struct Strips {
    others: Axes<2>,
    pub(super) steps: [isize; 2],
    /// How far neighbouring lines are apart, how many there are, and how many make a strip.
    pub(super) gaps: [isize; 2],
    pub(super) count: usize,
    pub(super) width: usize,
}

/// The lines of a strip: as many as fit into the cache, and so many that a transpose moves whole cache lines.
fn width_of(strided: bool, line_bytes: usize, element: usize) -> usize {
    let least = if strided { 64usize.div_ceil(element).max(1) } else { 1 };
    (CACHE / line_bytes.max(1)).clamp(least, WIDEST)
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
        // Lines beside lines: of a cube with rows of 33, 64 rows of lines are 2112 neighbours, whole vectors of them.
        let mut others = others.collapse(false);
        // Lines are neighbours where they lie side by side in the operand that is not read or written in line.
        let by = usize::from(steps[0] == 1);
        let near = (0..others.dims.len()).filter(|&i| others.dims[i] > 1).min_by_key(|&i| {
            (others.strides[i][by].unsigned_abs(), others.strides[i][0].unsigned_abs())
        });
        let (count, gaps) = match near {
            Some(i) => (others.dims.remove(i), others.strides.remove(i)),
            None => (1, [0, 0]),
        };
        let width = width_of(steps != [1, 1], line * size, size).min(count);
        Strips { others, steps, gaps, count, width }
    }

    /// Whether lines of `len` elements are written where they stay.
    fn is_direct(&self, len: usize) -> bool {
        self.steps[1] == 1 && (self.width == 1 || self.gaps[1] == len as isize)
    }

    /// Calls `work` for every strip, on several threads where there is enough: with the places of its first line in both
    /// operands, the number of its lines, and working memory. A line takes so many nanoseconds.
    pub(super) fn for_each(
        &self,
        cost: f32,
        bytes: usize,
        work: &(dyn Fn([isize; 2], usize, Parts<'_>) + Sync),
    ) {
        let per_row = self.count.div_ceil(self.width);
        let units = self.others.count() * per_row;
        let all = cost * (self.others.count() * self.count) as f32;
        let blocks =
            if all < split_above() { 1.0 } else { all / (all / BLOCKS).clamp(LEAST, MOST) };
        let blocks = (blocks as usize).clamp(1, units);
        parallel_for_two_ended(blocks, &|b| {
            let mut room = Room::new(bytes);
            for unit in b * units / blocks..(b + 1) * units / blocks {
                let (row, first) = (unit / per_row, unit % per_row * self.width);
                let lines = self.width.min(self.count - first);
                self.others.for_range(row, row + 1, &mut |[from, to]| {
                    let [from_gap, to_gap] = self.gaps.map(|gap| first as isize * gap);
                    work([from + from_gap, to + to_gap], lines, room.parts());
                });
            }
        });
    }
}

/// Nanoseconds of the transform of a line of `n` points, which is so many bytes where it is read or written.
pub(super) fn cost(n: usize, bytes: usize) -> f32 {
    bytes as f32 * (2 + n.max(1).ilog2()) as f32 * 0.01
}

/// The bytes of working memory that a pass along lines of `len` numbers needs, about. The caller has asked for them.
pub fn working_bytes(len: usize, lines: usize, size: usize) -> usize {
    let width = width_of(true, len.saturating_mul(size), size).min(lines);
    let threads = num_threads().min(lines.div_ceil(width.max(1)));
    let bytes = len.saturating_mul(size).saturating_mul(width.max(4) + 4);
    bytes.saturating_add(room_bytes(len, 1)).saturating_mul(threads)
}

/// Runs a pass along an axis; without an input, in the place of the output.
pub(super) fn run<P: Pass>(pass: &P, input: Option<View<'_>>, out: &ViewMut<'_>, axis: usize) {
    let in_place = input.is_none();
    let input = input.unwrap_or(out.as_view());
    let [in_len, out_len] = pass.lens();
    assert!(input.dims[axis] == in_len && out.dims[axis] == out_len, "fft: lengths");
    if out.dims.contains(&0) {
        return;
    }
    let size = size_of::<P::In>().max(size_of::<P::Out>());
    let line = in_len.max(out_len);
    let mut strips = Strips::new(out.dims, axis, [input.strides, out.strides], line, size);
    if strips.steps == [1, 1] {
        let enough = strips.count.div_ceil(STRIPS).max(SHORTEST / line);
        strips.width = strips.width.min(enough.next_multiple_of(pass.group()));
    }
    let direct = strips.is_direct(out_len);
    let taken = if direct { 0 } else { bytes_of::<P::Out>(strips.width * out_len) };
    let bytes = pass.room(strips.width) + taken;
    let ([step, to_step], [gap, to_gap]) = (strips.steps, strips.gaps);
    let moved = (in_len * size_of::<P::In>() + out_len * size_of::<P::Out>()) / 2;
    strips.for_each(cost(line, moved), bytes, &|[from, to], lines, room| {
        let (ptr, life) = (input.at(from), std::marker::PhantomData);
        let source = Source { ptr, step, gap, len: in_len, lines, in_place: false, life };
        let target = Target { ptr: out.at(to), step: to_step, gap: to_gap, len: out_len, lines };
        // SAFETY: the views hold these lines, and each is in one strip, which one thread works on.
        unsafe { strip(pass, source, target, in_place, room) };
    });
}

/// # Safety
/// The lines of both are valid, and those of the target are nobody else's.
unsafe fn strip<P: Pass>(
    pass: &P,
    mut source: Source<'_, P::In>,
    target: Target<P::Out>,
    in_place: bool,
    mut room: Parts<'_>,
) {
    let n = target.lines * target.len;
    if target.is_direct() {
        source.in_place = in_place;
        // SAFETY: the caller's contract; the lines are as many neighbours.
        pass.run(source, unsafe { std::slice::from_raw_parts_mut(target.ptr, n) }, room);
    } else {
        let lines = room.take(n);
        pass.run(source, lines, room);
        // SAFETY: the caller's contract.
        unsafe { target.scatter(lines) };
    }
}
