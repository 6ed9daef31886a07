//! Binary search: `searchsorted` in one sorted list or in the rows of several, and `isin`.
//!
//! Invariant: NaN is greater than every number, and in no list.

use std::hint::select_unpredictable;

use super::sort_line::sort_keys;
use super::total_order::{SortKey, UnsignedKey};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::cast::with_computing_input;
use crate::kernels::launch::launch;
use crate::kernels::view::{Axes, View, ViewMut, with_elements};

/// For each value, how many elements of the sorted `list` come before it (or, from the right, not after it),
/// as int64. `out` is contiguous. In a list of several axes, each row of the values is searched in its row.
///
/// # Errors
/// `Memory` if there is none for the working memory.
pub fn search_sorted(list: View, values: View, right: bool, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "places are int64");
    let rows: usize = list.dims.iter().rev().skip(1).product();
    assert!(out.is_contiguous() && values.numel() == out.numel(), "one place for each value");
    launch!(
        "searchsorted", [list, values] => [out];;
        with_computing_input(list, |list| with_computing_input(values, |values| {
            with_elements!([list, values], T => with_keys::<T>((list, true), values, |list, values| {
                search_rows(&list, &values, rows, right, &out);
            }))
        }))
    )
}

fn search_rows<N: UnsignedKey>(list: &[N], values: &[N], rows: usize, right: bool, out: &ViewMut) {
    if values.is_empty() {
        return;
    }
    let (len, width) = (list.len() / rows, values.len() / rows);
    for row in 0..rows {
        let (list, first) = (&list[row * len..(row + 1) * len], row * width);
        search_list(list, &values[first..first + width], right, |i, at| {
            // SAFETY: there is a slot for each value.
            unsafe { *out.at::<i64>((first + i) as isize) = at as i64 };
        });
    }
}

/// Values searched at once: interleaved searches hide the latency of their loads.
const INTERLEAVED: usize = 8;

/// Calls `body` with the index of each value, and how many elements of the sorted list come before it (or not
/// after it).
#[inline(always)]
fn search_list<N: UnsignedKey>(
    list: &[N],
    values: &[N],
    right: bool,
    mut body: impl FnMut(usize, usize),
) {
    for (chunk, some) in values.chunks(INTERLEAVED).enumerate() {
        let mut padded = [some[0]; INTERLEAVED];
        let chunk_values = some.try_into().unwrap_or_else(|_| {
            padded[..some.len()].copy_from_slice(some);
            &padded
        });
        let found = if right {
            search_interleaved::<N, true>(list, chunk_values)
        } else {
            search_interleaved::<N, false>(list, chunk_values)
        };
        for (i, &at) in found[..some.len()].iter().enumerate() {
            body(chunk * INTERLEAVED + i, at);
        }
    }
}

#[inline(never)]
fn search_interleaved<N: UnsignedKey, const RIGHT: bool>(
    list: &[N],
    values: &[N; INTERLEAVED],
) -> [usize; INTERLEAVED] {
    let (mut first, mut left) = ([0; INTERLEAVED], list.len());
    while left > 0 {
        let half = (left / 2).max(1);
        for (first, value) in first.iter_mut().zip(values) {
            // SAFETY: the `left` elements from `first` on are in the list, and `half` is at most that.
            let element = unsafe { list.get_unchecked(*first + half - 1) };
            let passed = if RIGHT { element <= value } else { element < value };
            // The comparison is unpredictable: a conditional move, not a branch.
            *first = select_unpredictable(passed, *first + half, *first);
        }
        left -= half;
    }
    first
}

/// For each value, whether `list` contains it; with `invert`, whether it does not. `out` is contiguous.
///
/// # Errors
/// `Memory` if there is none for the working memory.
pub fn isin(list: View, values: View, invert: bool, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::Bool, "answers are boolean");
    assert!(out.is_contiguous() && values.numel() == out.numel(), "one answer for each value");
    launch!(
        "isin", [list, values] => [out];;
        with_computing_input(list, |list| with_computing_input(values, |values| {
            with_elements!([list, values], T => with_keys::<T>((list, false), values, |list, values| {
                write_isin(list, &values, invert, &out);
            }))
        }))
    )
}

fn write_isin<N: UnsignedKey>(mut list: Vec<N>, values: &[N], invert: bool, out: &ViewMut) {
    sort_keys(&mut list);
    for (i, value) in (0..).zip(values) {
        let found = list.binary_search(value).is_ok();
        // SAFETY: there is a slot for each value.
        unsafe { *out.at::<bool>(i) = found != invert };
    }
}

/// Calls `body` with the keys of the list, with or without NaN, and those of the values.
fn with_keys<T: SortKey>(
    (list, keep_nan): (View, bool),
    values: View,
    body: impl FnOnce(Vec<T::Key>, Vec<T::Key>),
) -> Result<()> {
    body(keys::<T>(list, keep_nan)?, keys::<T>(values, true)?);
    Ok(())
}

/// The keys of the elements, in C order, with or without NaN.
fn keys<T: SortKey>(view: View, keep_nan: bool) -> Result<Vec<T::Key>> {
    let mut found = Vec::new();
    if found.try_reserve_exact(view.numel()).is_err() {
        return Err(Box::new(Error::Memory { bytes: view.numel() * size_of::<T::Key>() }));
    }
    if keep_nan && view.is_contiguous() && view.numel() > 0 {
        // SAFETY: the view holds as many contiguous elements.
        let values = unsafe { std::slice::from_raw_parts(view.at::<T>(0), view.numel()) };
        found.extend(values.iter().map(|value| value.key()));
        return Ok(found);
    }
    Axes::new(view.dims, [view.strides]).for_each(|[at]| {
        // SAFETY: the view is valid for every position of its axes.
        let value = unsafe { *view.at::<T>(at) };
        if keep_nan || !value.is_nan_value() {
            found.push(value.key());
        }
    });
    Ok(found)
}
