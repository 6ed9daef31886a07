//! Sorting along one axis: argsort and top-k indices, sorted values, and the elements at given ranks.
//!
//! Invariant: the order is stable, with NaN last. Sorted values without indices differ from that only in the
//! signs of adjacent zeros and of NaN.

use super::sort_line::{SortLine, select_rank};
use super::total_order::SortKey;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::cast::{with_computing_input, with_computing_output};
use crate::kernels::launch::launch;
use crate::kernels::scan::Lines;
use crate::kernels::view::{View, ViewMut, with_elements};

/// Writes the indices (int64) of the first elements of each line of `input` in ascending or descending order;
/// as many as `out` has along `axis`, at most the line's length.
///
/// # Panics
/// When the other dims differ: a bug of the caller.
///
/// # Errors
/// `Memory` if there is none for a copy in a dtype that has loops; so below.
pub fn arg_order(descending: bool, input: View, axis: usize, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "arg_order writes indices");
    launch!(
        "arg_order", [input] => [out];;
        with_computing_input(input, |input| {
            with_elements!([input], T => argsort_lines::<T>(descending, input, axis, out));
            Ok(())
        })
    )
}

fn argsort_lines<T: SortKey>(descending: bool, input: View, axis: usize, out: ViewMut) {
    let fits = (0..out.dims.len()).all(|a| a == axis || out.dims[a] == input.dims[a]);
    let count = out.dims[axis];
    assert!(fits && count <= input.dims[axis], "arg_order: dims");
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    lines.each(&|[from, to]| {
        let line = SortLine::<T> { first: input.at(from), step: lines.steps[0], len: lines.len };
        // SAFETY: the view is valid for every position of its axes.
        let order = unsafe { line.first_k(count, descending) };
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
        with_computing_input(input, |input| with_computing_output(&out, false, |out| {
            with_elements!([input, out], T => sort_lines::<T>(descending, input, axis, out));
            Ok(())
        }))
    )
}

fn sort_lines<T: SortKey>(descending: bool, input: View, axis: usize, out: ViewMut) {
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    lines.each(&|[from, to]| {
        let [step, to_step] = lines.steps;
        let line = SortLine::<T> { first: input.at(from), step, len: lines.len };
        // SAFETY: the views are valid for every position of their axes, and lines are disjoint.
        unsafe { line.sort(descending, out.at::<T>(to), to_step) };
    });
}

/// Writes, for each line of `input`, the indices (int64) of the elements that a stable ascending sort would
/// put at `ranks`, in that order; `out` has as many along `axis`.
pub fn arg_ranks(input: View, axis: usize, ranks: &[usize], out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "arg_ranks writes indices");
    launch!(
        "arg_ranks", [input] => [out]; ranks = ranks.to_vec();
        with_computing_input(input, |input| {
            with_elements!([input], T => rank_lines::<T>(input, axis, &ranks, out));
            Ok(())
        })
    )
}

fn rank_lines<T: SortKey>(input: View, axis: usize, ranks: &[usize], out: ViewMut) {
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    lines.each(&|[from, to]| {
        let line = SortLine::<T> { first: input.at(from), step: lines.steps[0], len: lines.len };
        // SAFETY: the view is valid for every position of its axes, and lines are disjoint.
        let write_index = |k: usize, index: usize| unsafe {
            *out.at::<i64>(to + k as isize * lines.steps[1]) = index as i64;
        };
        if ranks.len() > MANY_RANKS {
            let read = ranks.iter().max().map_or(0, |&rank| rank + 1);
            // SAFETY: the view is valid for every position of its axes.
            let order = unsafe { line.first_k(read, false) };
            return ranks.iter().enumerate().for_each(|(k, &rank)| write_index(k, order[rank].1));
        }
        // SAFETY: as above.
        let keys = unsafe { line.keys(false) };
        let mut scratch = keys.clone();
        for (k, &rank) in ranks.iter().enumerate() {
            let (key, before) = select_rank(&mut scratch, rank);
            let mut equals = keys.iter().enumerate().filter(|(_, n)| **n == key);
            write_index(k, equals.nth(before).map_or(0, |(index, _)| index));
        }
    });
}

/// Above this many ranks sorting is faster than selecting each.
const MANY_RANKS: usize = 6;
