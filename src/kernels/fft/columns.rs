//! Transforms along an axis whose lines lie side by side: vectors are read and written as they stand in memory.
//!
//! Owns: the choice of these axes, the way of neighbouring lines to rows and back. Never passes: `rows` does.
//! Invariant: how a line is transformed follows from the shapes, not from the threads.

use std::mem::MaybeUninit;

use rustfft::Fft;
use rustfft::num_complex::Complex;

use super::complex;
use super::number::{Number, Real};
use super::rows::Row;
use super::strips::Strips;
use super::together::{Strip, passes, room_bytes, room_of};
use super::vector::Vector;
use crate::kernels::room::bytes_of;
use crate::kernels::view::{View, ViewMut};

/// The most groups of lines, of as many as a vector has lanes, that are moved at a time, and the bytes of their rows.
const GROUPS: usize = 4;
const BYTES: usize = 768 << 10;
/// The longest lines: the rows of longer ones leave the cache between the passes.
const LONGEST: usize = 1536;
/// How many positions ahead memory is called for: each is on a page of its own, where the processor predicts nothing.
const AHEAD: isize = 8;
/// Of the lanes of a vector, the part that is not worth filling: so few lines are transformed one by one.
const FEW: usize = 4;

/// Transforms the lines of an axis side by side, times a factor; without an input, in the place of the output. False
/// where they do not lie so or are transformed faster one by one: then nothing was done.
pub(super) fn run<T: Real>(
    input: Option<View<'_>>,
    out: &ViewMut<'_>,
    axis: usize,
    forward: bool,
    factor: T,
) -> bool
where
    Complex<T>: Number<Part = T>,
{
    let input = input.unwrap_or(out.as_view());
    let (n, size, lanes) = (out.dims[axis], size_of::<Complex<T>>(), T::lanes());
    let mut strips = Strips::new(out.dims, axis, [input.strides, out.strides], n, size);
    if strips.gaps != [1, 1] || strips.count < lanes || !(2..=LONGEST).contains(&n) {
        return false;
    }
    let passes = passes::<T>(n);
    let Some(passes) = passes.as_ref() else {
        return false;
    };
    let groups = (1..=GROUPS).rev().find(|&groups| room_bytes(n, groups) <= BYTES).unwrap_or(1);
    strips.width = groups * lanes;
    let room = room_of::<T>(n, groups);
    let beside = Some(strips.steps);
    let few = strips.count % lanes;
    let single = (1..=lanes / FEW).contains(&few).then(|| complex::plan::<T>(n, forward));
    let scratch = single.as_ref().map_or(0, |plan| plan.get_inplace_scratch_len());
    let own = if single.is_some() { [n, scratch].map(bytes_of::<Complex<T>>) } else { [0; 2] };
    let bytes = bytes_of::<Complex<T>>(room) + own[0] + own[1];
    strips.for_each(n, bytes, &|[from, to], lines, mut parts| {
        let (from, to) = (input.at(from), out.at(to));
        let together = if single.is_some() { lines - lines % lanes } else { lines };
        if together > 0 {
            let strip = Strip { from, to, lines: together, beside, factor, forward };
            // SAFETY: the views hold these lines, each is in one strip, and the room is that of the groups.
            unsafe { T::strip(passes, strip, parts.take::<Complex<T>>(room).as_mut_ptr()) };
        }
        let (Some(plan), true) = (&single, together < lines) else { return };
        let room: [&mut [Complex<T>]; 2] = [parts.take(n), parts.take(scratch)];
        let places = (from.wrapping_add(together), to.wrapping_add(together));
        // SAFETY: as above.
        unsafe { singly(&**plan, places, lines - together, strips.steps, factor, room) };
    });
    true
}

/// Transforms lines one by one, where too few are left for a vector.
///
/// # Safety
/// The lines are readable and writable in their places, which may be the same.
unsafe fn singly<T: Real>(
    plan: &dyn Fft<T>,
    (from, to): (*const Complex<T>, *mut Complex<T>),
    lines: usize,
    [step, to_step]: [isize; 2],
    factor: T,
    [line, scratch]: [&mut [Complex<T>]; 2],
) {
    for at in 0..lines {
        let (from, to) = (from.wrapping_add(at), to.wrapping_add(at));
        for (i, x) in line.iter_mut().enumerate() {
            // SAFETY: the caller's contract.
            *x = unsafe { *from.wrapping_offset(i as isize * step) };
        }
        plan.process_with_scratch(line, scratch);
        for (i, x) in line.iter().enumerate() {
            // SAFETY: the caller's contract.
            unsafe { *to.wrapping_offset(i as isize * to_step) = x * factor };
        }
    }
}

/// Calls for `lines` numbers at a place, which need not be one.
#[inline(always)]
fn call_for<A>(at: *const A, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for byte in (0..lines * size_of::<A>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, whatever the address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>().wrapping_add(byte)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, lines);
}

/// The parts of numbers as a row has them.
#[inline(always)]
fn parts_of<V: Vector>(a: V, b: V, forward: bool) -> Row<V> {
    let [re, im] = V::split(a, b);
    if forward { [re, im] } else { [im, re] }
}

/// The reverse of `parts_of`, times a factor.
#[inline(always)]
fn numbers_of<V: Vector>([re, im]: Row<V>, factor: V, forward: bool) -> [V; 2] {
    let (re, im) = (re.mul(factor), im.mul(factor));
    V::join(if forward { [re, im] } else { [im, re] })
}

/// Lines side by side, and their rows.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    /// The positions of a line, and how far they are apart.
    pub(super) n: usize,
    pub(super) step: isize,
    pub(super) lines: usize,
    /// How many rows a group of lines is behind the group before it.
    pub(super) apart: usize,
    pub(super) forward: bool,
}

/// Copies lines to rows; lanes without a line are zero.
///
/// # Safety
/// The lines are readable, and there are rows.
#[inline(always)]
pub(super) unsafe fn take<V: Vector>(
    from: *const Complex<V::Part>,
    rows: *mut Row<V>,
    Beside { n, step, lines, apart, forward }: Beside,
) {
    let (whole, left) = (lines / V::LANES, lines % V::LANES);
    // SAFETY: the caller's contract; zeros are numbers.
    unsafe {
        for i in 0..n {
            let from = from.wrapping_offset(i as isize * step);
            call_for(from.wrapping_offset(AHEAD * step), lines);
            for group in 0..whole {
                let [a, b] = from.add(group * V::LANES).cast::<[V; 2]>().read_unaligned();
                *rows.add(i + group * apart) = parts_of(a, b, forward);
            }
            if left > 0 {
                let mut last = MaybeUninit::<[V; 2]>::zeroed();
                let numbers = last.as_mut_ptr().cast::<Complex<V::Part>>();
                numbers.copy_from_nonoverlapping(from.add(whole * V::LANES), left);
                let [a, b] = last.assume_init();
                *rows.add(i + whole * apart) = parts_of(a, b, forward);
            }
        }
    }
}

/// The reverse of `take`, times a factor.
///
/// # Safety
/// There are rows, and the lines are writable.
#[inline(always)]
pub(super) unsafe fn put<V: Vector>(
    rows: *const Row<V>,
    to: *mut Complex<V::Part>,
    factor: V::Part,
    Beside { n, step, lines, apart, forward }: Beside,
) {
    let (whole, left) = (lines / V::LANES, lines % V::LANES);
    let factor = V::all(factor);
    // SAFETY: the caller's contract.
    unsafe {
        for i in 0..n {
            let to = to.wrapping_offset(i as isize * step);
            call_for(to.wrapping_offset(AHEAD * step), lines);
            for group in 0..whole {
                let [a, b] = numbers_of(*rows.add(i + group * apart), factor, forward);
                to.add(group * V::LANES).cast::<[V; 2]>().write_unaligned([a, b]);
            }
            if left > 0 {
                let last = numbers_of(*rows.add(i + whole * apart), factor, forward);
                let numbers = (&raw const last).cast::<Complex<V::Part>>();
                to.add(whole * V::LANES).copy_from_nonoverlapping(numbers, left);
            }
        }
    }
}
