//! Looking values up among others.
//!
//! Owns: places in an ordered vector or in the rows of several, and whether a value is in a list. Never sorts in place.
//! Invariant: a NaN is above every number, and in no list.

use std::hint::select_unpredictable;

use super::super::cast::lifted;
use super::super::launch::launch;
use super::super::view::{Axes, View, ViewMut, with_elements};
use super::key::{Digits, Number};
use super::sorting::in_order;
use crate::dtype::DType;
use crate::error::{Error, Result};

/// For each value, how many elements of the ordered `list` come before it (or, from the right, not after it), as int64.
/// `out` lies in C order. In a list of several axes, each row of the values is looked up in its row.
///
/// # Errors
/// `Memory` when the working memory cannot be had.
pub fn insertion_points(list: View, values: View, right: bool, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "places are int64");
    let rows: usize = list.dims.iter().rev().skip(1).product();
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
    let (len, width) = (list.len() / rows.max(1), values.len() / rows.max(1));
    let place = |at: usize| {
        let (value, row) = (values[at], at / width * len);
        // A comparison as good as any other is nothing to jump by.
        let before =
            |at: usize| if right { list[row + at] <= value } else { list[row + at] < value };
        let (mut first, mut left) = (0, len);
        while left > 1 {
            let half = left / 2;
            first = select_unpredictable(before(first + half - 1), first + half, first);
            left -= half;
        }
        (first + usize::from(left > 0 && before(first))) as i64
    };
    write((0..values.len()).map(place), out);
}

/// For each value, whether `list` holds it; with `invert`, whether it does not. `out` lies in C order.
///
/// # Errors
/// `Memory` when the working memory cannot be had.
pub fn among(list: View, values: View, invert: bool, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::Bool, "answers are boolean");
    launch!(
        "isin", [list, values] => [out];;
        lifted(list, |list| lifted(values, |values| {
            with_elements!([list, values], T => both::<T>((list, false), values, |list, values| {
                held(list, values, invert, &out);
            }))
        }))
    )
}

fn held<N: Number>(mut list: Vec<N>, values: Vec<N>, invert: bool, out: &ViewMut) {
    in_order(&mut list);
    write(values.into_iter().map(|v| list.binary_search(&v).is_ok() != invert), out);
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

fn write<T>(values: impl ExactSizeIterator<Item = T>, out: &ViewMut) {
    assert!(out.is_contiguous() && values.len() == out.numel(), "one place for each value");
    for (i, value) in (0..).zip(values) {
        // SAFETY: the view holds as many elements of this type as there are values.
        unsafe { *out.at::<T>(i) = value };
    }
}
