//! Looking values up among others.
//!
//! Owns: places in an ordered vector or in the rows of several, and whether a value is in a list. Never sorts in place.
//! Invariant: a NaN is above every number, and in no list.

use std::hint::select_unpredictable;

use super::sort_line::in_order;
use super::total_order::{Digits, Number};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::cast::lifted;
use crate::kernels::launch::launch;
use crate::kernels::view::{Axes, View, ViewMut, with_elements};

/// For each value, how many elements of the ordered `list` come before it (or, from the right, not after it), as int64.
/// `out` lies in C order. In a list of several axes, each row of the values is looked up in its row.
///
/// # Errors
/// `Memory` when the working memory cannot be had.
pub fn insertion_points(list: View, values: View, right: bool, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "places are int64");
    let rows: usize = list.dims.iter().rev().skip(1).product();
    assert!(out.is_contiguous() && values.numel() == out.numel(), "one place for each value");
    launch!(
        "searchsorted", [list, values] => [out];;
        lifted(list, |list| lifted(values, |values| {
            with_elements!([list, values], T => both::<T>((list, true), values, |list, values| {
                placed(&list, &values, rows, right, &out);
            }))
        }))
    )
}

fn placed<N: Number>(list: &[N], values: &[N], rows: usize, right: bool, out: &ViewMut) {
    if values.is_empty() {
        return;
    }
    let (len, width) = (list.len() / rows, values.len() / rows);
    for row in 0..rows {
        let (list, first) = (&list[row * len..(row + 1) * len], row * width);
        below(list, &values[first..first + width], right, |i, at| {
            // SAFETY: there is a place for each value.
            unsafe { *out.at::<i64>((first + i) as isize) = at as i64 };
        });
    }
}

/// Values that are looked up side by side: each waits for its own element of the list.
const MANY: usize = 8;

/// Calls `body` with the number of each value, and how many elements of the ordered list come before it (or not after it).
#[inline(always)]
fn below<N: Number>(list: &[N], values: &[N], right: bool, mut body: impl FnMut(usize, usize)) {
    for (chunk, some) in values.chunks(MANY).enumerate() {
        let mut padded = [some[0]; MANY];
        let own = some.try_into().unwrap_or_else(|_| {
            padded[..some.len()].copy_from_slice(some);
            &padded
        });
        let found =
            if right { points::<N, true>(list, own) } else { points::<N, false>(list, own) };
        for (i, &at) in found[..some.len()].iter().enumerate() {
            body(chunk * MANY + i, at);
        }
    }
}

#[inline(never)]
fn points<N: Number, const RIGHT: bool>(list: &[N], values: &[N; MANY]) -> [usize; MANY] {
    let (mut first, mut left) = ([0; MANY], list.len());
    while left > 0 {
        let half = (left / 2).max(1);
        for (first, value) in first.iter_mut().zip(values) {
            // SAFETY: all of what is left from there on is in the list, and there is so much of it.
            let met = unsafe { list.get_unchecked(*first + half - 1) };
            let passed = if RIGHT { met <= value } else { met < value };
            // A comparison as good as any other is nothing to jump by.
            *first = select_unpredictable(passed, *first + half, *first);
        }
        left -= half;
    }
    first
}

/// For each value, whether `list` holds it; with `invert`, whether it does not. `out` lies in C order.
///
/// # Errors
/// `Memory` when the working memory cannot be had.
pub fn among(list: View, values: View, invert: bool, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::Bool, "answers are boolean");
    assert!(out.is_contiguous() && values.numel() == out.numel(), "one answer for each value");
    launch!(
        "isin", [list, values] => [out];;
        lifted(list, |list| lifted(values, |values| {
            with_elements!([list, values], T => both::<T>((list, false), values, |list, values| {
                held(list, &values, invert, &out);
            }))
        }))
    )
}

fn held<N: Number>(mut list: Vec<N>, values: &[N], invert: bool, out: &ViewMut) {
    in_order(&mut list);
    for (i, value) in (0..).zip(values) {
        let found = list.binary_search(value).is_ok();
        // SAFETY: there is a place for each value.
        unsafe { *out.at::<bool>(i) = found != invert };
    }
}

/// Lends the numbers of the list, with its NaN or without, and those of the values.
fn both<T: Digits>(
    (list, nan): (View, bool),
    values: View,
    body: impl FnOnce(Vec<T::Number>, Vec<T::Number>),
) -> Result<()> {
    body(numbers::<T>(list, nan)?, numbers::<T>(values, true)?);
    Ok(())
}

/// The numbers of the elements, in C order; a NaN may be left out.
fn numbers<T: Digits>(view: View, nan: bool) -> Result<Vec<T::Number>> {
    let mut found = Vec::new();
    if found.try_reserve_exact(view.numel()).is_err() {
        return Err(Box::new(Error::Memory { bytes: view.numel() * size_of::<T::Number>() }));
    }
    if nan && view.is_contiguous() && view.numel() > 0 {
        // SAFETY: the view holds so many elements without gaps.
        let values = unsafe { std::slice::from_raw_parts(view.at::<T>(0), view.numel()) };
        found.extend(values.iter().map(|value| value.number()));
        return Ok(found);
    }
    Axes::new(view.dims, [view.strides]).for_each(|[at]| {
        // SAFETY: the view is valid for every position of its axes.
        let value = unsafe { *view.at::<T>(at) };
        if nan || !value.nan() {
            found.push(value.number());
        }
    });
    Ok(found)
}
