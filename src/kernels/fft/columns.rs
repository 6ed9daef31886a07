//! Transforms along an axis whose lines are adjacent in memory (columns), with direct vector loads
//! and stores.
//!
//! Invariant: how a line is transformed follows from the shapes, not from the threads.

use rustfft::Fft;
use rustfft::num_complex::Complex;

use super::axis_pass::{Strips, cost};
use super::batched::{Strip, lanes, passes, transform_strip, workspace_len};
use super::complex_plan;
use super::float::Real;
use crate::kernels::view::{View, ViewMut};
use crate::kernels::workspace::bytes_of;

/// Bytes of a strip at one position: whole cache lines, and few enough that the rows of short lines
/// stay in the first cache. Lines of at least `LONG_LINE_POINTS` use half.
const STRIP_BYTES: usize = 256;
const LONG_LINE_POINTS: usize = 512;
/// Most points of a line: the rows of longer ones leave the cache between passes.
const MAX_POINTS: usize = 1536;
/// Up to `lanes / MIN_FILL` remaining lines are transformed one by one, not in a vector.
const MIN_FILL: usize = 4;

/// Transforms the lines of an axis in batches, times a factor; without an input, in place. Returns
/// false, without any effect, if the lines are not adjacent or are faster one by one.
pub(super) fn run<T: Real>(
    input: Option<View<'_>>,
    out: &ViewMut<'_>,
    axis: usize,
    forward: bool,
    factor: T,
) -> bool {
    let input = input.unwrap_or(out.as_view());
    let (n, size, lanes) = (out.dims[axis], size_of::<Complex<T>>(), lanes::<T>());
    let mut strips = Strips::new(out.dims, axis, [input.strides, out.strides], n, size);
    if strips.gaps != [1, 1] || strips.count < lanes || !(2..=MAX_POINTS).contains(&n) {
        return false;
    }
    let passes = passes::<T>(n);
    let Some(passes) = passes.as_ref() else {
        return false;
    };
    let groups = if n < LONG_LINE_POINTS { STRIP_BYTES } else { STRIP_BYTES / 2 } / (lanes * size);
    strips.width = groups * lanes;
    let workspace = workspace_len::<T>(n, groups);
    let column_steps = Some(strips.steps);
    let remainder = strips.count % lanes;
    let single =
        (1..=lanes / MIN_FILL).contains(&remainder).then(|| complex_plan::plan::<T>(n, forward));
    let scratch = single.as_ref().map_or(0, |plan| plan.get_inplace_scratch_len());
    let own = if single.is_some() { [n, scratch].map(bytes_of::<Complex<T>>) } else { [0; 2] };
    let bytes = bytes_of::<Complex<T>>(workspace) + own[0] + own[1];
    strips.for_each(cost(n, n * size), bytes, &|[from, to], lines, mut parts| {
        let (from, to) = (input.at(from), out.at(to));
        let batched = if single.is_some() { lines - lines % lanes } else { lines };
        if batched > 0 {
            let strip = Strip { from, to, lines: batched, column_steps, factor, forward };
            // SAFETY: the views hold these lines, each in one strip; the workspace suffices.
            unsafe {
                transform_strip(passes, strip, parts.take::<Complex<T>>(workspace).as_mut_ptr())
            };
        }
        let (Some(plan), true) = (&single, batched < lines) else { return };
        let workspace: [&mut [Complex<T>]; 2] = [parts.take(n), parts.take(scratch)];
        let places = (from.wrapping_add(batched), to.wrapping_add(batched));
        // SAFETY: as above.
        unsafe {
            transform_singly(&**plan, places, lines - batched, strips.steps, factor, workspace)
        };
    });
    true
}

/// Transforms remaining lines one by one.
///
/// # Safety
/// The input lines are readable and the output lines writable; both may be the same memory.
unsafe fn transform_singly<T: Real>(
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
