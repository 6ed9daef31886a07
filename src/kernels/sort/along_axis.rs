//! The order of elements along one axis: full or partial, as indices, or the elements in order.
//!
//! Owns: the walk over lines, and the selection of single ranks. Never records what it did, and never sorts.
//! Invariant: the order is stable; a NaN is above everything. Elements without indices differ from
//! that in nothing but the signs of neighbouring zeros and of NaN.

use super::sort_line::{Line, at_rank};
use super::total_order::Digits;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::cast::{lifted, lifted_out};
use crate::kernels::launch::launch;
use crate::kernels::scan::Lines;
use crate::kernels::view::{View, ViewMut, with_elements};

/// Writes the indices (int64) of the first elements of each line of `input` in ascending or descending
/// order; as many as `out` has along `axis`, which are at most the line's length.
///
/// # Panics
/// When the other dims differ: a bug of the caller.
///
/// # Errors
/// `Memory` when there is none for a copy in a dtype that has loops; so below.
pub fn arg_order(descending: bool, input: View, axis: usize, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "arg_order writes indices");
    launch!(
        "arg_order", [input] => [out];;
        lifted(input, |input| {
            with_elements!([input], T => lines::<T>(descending, input, axis, out));
            Ok(())
        })
    )
}

fn lines<T: Digits>(descending: bool, input: View, axis: usize, out: ViewMut) {
    let fits = (0..out.dims.len()).all(|a| a == axis || out.dims[a] == input.dims[a]);
    let wanted = out.dims[axis];
    assert!(fits && wanted <= input.dims[axis], "arg_order: dims");
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    lines.each(&|[from, to]| {
        let line = Line::<T> { first: input.at(from), step: lines.steps[0], len: lines.len };
        // SAFETY: the view is valid for every position of its axes.
        let order = unsafe { line.first(wanted, descending) };
        for (k, (_, index)) in order.into_iter().enumerate() {
            // SAFETY: as above, and lines are disjoint.
            unsafe { *out.at::<i64>(to + k as isize * lines.steps[1]) = index as i64 };
        }
    });
}

/// Writes the elements of each line of `input` in ascending or descending order; `out` has its dims.
pub fn sort(descending: bool, input: View, axis: usize, out: ViewMut) -> Result<()> {
    assert!(input.dims == out.dims, "sort: dims");
    launch!(
        "sort", [input] => [out];;
        lifted(input, |input| lifted_out(&out, false, |out| {
            with_elements!([input, out], T => sort_lines::<T>(descending, input, axis, out));
            Ok(())
        }))
    )
}

fn sort_lines<T: Digits>(descending: bool, input: View, axis: usize, out: ViewMut) {
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    lines.each(&|[from, to]| {
        let [step, to_step] = lines.steps;
        let line = Line::<T> { first: input.at(from), step, len: lines.len };
        // SAFETY: the views are valid for every position of their axes, and lines are disjoint.
        unsafe { line.sort(descending, out.at::<T>(to), to_step) };
    });
}

/// Writes, for each line of `input`, the indices (int64) of the elements that a stable ascending sort
/// would put at `ranks`, in that order; `out` has as many along `axis`.
pub fn arg_ranks(input: View, axis: usize, ranks: &[usize], out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "arg_ranks writes indices");
    launch!(
        "arg_ranks", [input] => [out]; ranks = ranks.to_vec();
        lifted(input, |input| {
            with_elements!([input], T => rank_lines::<T>(input, axis, &ranks, out));
            Ok(())
        })
    )
}

fn rank_lines<T: Digits>(input: View, axis: usize, ranks: &[usize], out: ViewMut) {
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    lines.each(&|[from, to]| {
        let line = Line::<T> { first: input.at(from), step: lines.steps[0], len: lines.len };
        // SAFETY: the view is valid for every position of its axes, and lines are disjoint.
        let put = |k: usize, index: usize| unsafe {
            *out.at::<i64>(to + k as isize * lines.steps[1]) = index as i64;
        };
        if ranks.len() > MANY_RANKS {
            let read = ranks.iter().max().map_or(0, |&rank| rank + 1);
            // SAFETY: the view is valid for every position of its axes.
            let order = unsafe { line.first(read, false) };
            return ranks.iter().enumerate().for_each(|(k, &rank)| put(k, order[rank].1));
        }
        // SAFETY: as above.
        let numbers = unsafe { line.numbers(false) };
        let mut scratch = numbers.clone();
        for (k, &rank) in ranks.iter().enumerate() {
            let (number, before) = at_rank(&mut scratch, rank);
            let mut equals = numbers.iter().enumerate().filter(|(_, n)| **n == number);
            put(k, equals.nth(before).map_or(0, |(index, _)| index));
        }
    });
}

/// Above this many ranks sorting takes less time than selecting each.
const MANY_RANKS: usize = 6;
