//! argmax and argmin of complex numbers: by the real part, then by the imaginary one; the first that has a NaN wins.
//!
//! Owns: one plain search along each line. Never splits a line.
//! Invariant: the order is NumPy's, and the one of sorting as far as there is no NaN.

use super::arg::other_axes;
use crate::dtype::Complex128;
use crate::kernels::view::{View, ViewMut};
use crate::threads::parallel_for;

/// Elements of one piece of the work.
const PIECE: usize = 1 << 15;

/// Whether `a` displaces `b`.
fn beats(largest: bool, a: Complex128, b: Complex128) -> bool {
    if b.is_nan() || a.is_nan() {
        return !b.is_nan();
    }
    let (a, b) = if largest { (b, a) } else { (a, b) };
    a.re < b.re || (a.re == b.re && a.im < b.im)
}

/// As `arg_reduce`, for complex128.
pub(super) fn arg_lines(largest: bool, input: View, axis: usize, out: &ViewMut) {
    let (n, step) = (input.dims[axis], input.strides[axis]);
    let kept = other_axes(&input, axis, out);
    if kept.dims.contains(&0) {
        return;
    }
    assert!(n > 0, "arg_reduce of an empty axis");
    let positions = kept.count();
    let blocks = (positions * n / PIECE).clamp(1, positions);
    parallel_for(blocks, &|b| {
        let (start, end) = (b * positions / blocks, (b + 1) * positions / blocks);
        kept.for_range(start, end, &mut |[from, to]| {
            // SAFETY: the views are valid for every position of their axes and along the line.
            unsafe {
                let line = input.at::<Complex128>(from);
                let at = |i: usize| *line.offset(i as isize * step);
                let best = (1..n)
                    .fold(0, |best, i| if beats(largest, at(i), at(best)) { i } else { best });
                *out.at::<i64>(to) = best as i64;
            }
        });
    });
}
