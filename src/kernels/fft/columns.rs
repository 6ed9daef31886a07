//! Transforms along an axis whose lines lie side by side: vectors are read and written as they stand in memory.
//!
//! Owns: the choice of these axes, and the lines that fill no vector. Never passes: `rows` and `ends` do.
//! Invariant: how a line is transformed follows from the shapes, not from the threads.

use rustfft::Fft;
use rustfft::num_complex::Complex;

use super::along_axis::{Strips, cost};
use super::batched::{Strip, passes, room_of};
use super::complex;
use super::float::{Number, Real};
use crate::kernels::view::{View, ViewMut};
use crate::kernels::workspace::bytes_of;

/// The bytes of neighbouring lines at a position that are moved at a time: whole cache lines, and so few that the rows of
/// short lines stay in the first cache; half as many of long lines.
const WIDTH: usize = 256;
const LONG: usize = 512;
/// The longest lines: the rows of longer ones leave the cache between the passes.
const LONGEST: usize = 1536;
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
    let groups = if n < LONG { WIDTH } else { WIDTH / 2 } / (lanes * size);
    strips.width = groups * lanes;
    let room = room_of::<T>(n, groups);
    let beside = Some(strips.steps);
    let few = strips.count % lanes;
    let single = (1..=lanes / FEW).contains(&few).then(|| complex::plan::<T>(n, forward));
    let scratch = single.as_ref().map_or(0, |plan| plan.get_inplace_scratch_len());
    let own = if single.is_some() { [n, scratch].map(bytes_of::<Complex<T>>) } else { [0; 2] };
    let bytes = bytes_of::<Complex<T>>(room) + own[0] + own[1];
    strips.for_each(cost(n, n * size), bytes, &|[from, to], lines, mut parts| {
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
