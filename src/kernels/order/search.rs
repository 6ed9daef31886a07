//! Looking values up among others.
//!
//! Owns: places in an ordered vector, and whether a value is in a list. Never sorts in place.
//! Invariant: a NaN is above every number, and in no list.

use std::cmp::Ordering;

use super::super::launch::launch;
use super::super::view::{Axes, View, ViewMut, with_elements};
use super::key::Key;
use crate::dtype::DType;
use crate::error::{Error, Result};

/// For each value, how many elements of the ordered `list` come before it (or, from the right, not after it), as int64.
/// `out` lies in C order.
///
/// # Errors
/// `Memory` when the working memory cannot be had.
pub fn insertion_points(list: View, values: View, right: bool, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "places are int64");
    launch!(
        "searchsorted", [list, values] => [out];;
        with_elements!([list, values], T => placed::<T>(list, values, right, out))
    )
}

fn placed<T: Key>(list: View, values: View, right: bool, out: ViewMut) -> Result<()> {
    let list = elements::<T>(list)?;
    let before = |x: &T, value: T| match x.order(value) {
        Ordering::Less => true,
        Ordering::Equal => right,
        Ordering::Greater => false,
    };
    let place = |value: T| list.partition_point(|x| before(x, value)) as i64;
    write(elements::<T>(values)?.into_iter().map(place), &out);
    Ok(())
}

/// For each value, whether `list` holds it; with `invert`, whether it does not. `out` lies in C order.
///
/// # Errors
/// `Memory` when the working memory cannot be had.
pub fn among(list: View, values: View, invert: bool, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::Bool, "answers are boolean");
    launch!(
        "isin", [list, values] => [out];;
        with_elements!([list, values], T => held::<T>(list, values, invert, out))
    )
}

fn held<T: Key + PartialOrd>(list: View, values: View, invert: bool, out: ViewMut) -> Result<()> {
    let mut list = elements::<T>(list)?;
    list.sort_unstable_by(|a, b| a.order(*b));
    let holds =
        |v: &T| v.partial_cmp(v).is_some() && list.binary_search_by(|x| x.order(*v)).is_ok();
    write(elements::<T>(values)?.iter().map(|v| holds(v) != invert), &out);
    Ok(())
}

fn elements<T: Copy>(view: View) -> Result<Vec<T>> {
    let mut found = Vec::new();
    if found.try_reserve_exact(view.numel()).is_err() {
        return Err(Box::new(Error::Memory { bytes: view.numel() * size_of::<T>() }));
    }
    // SAFETY: the view is valid for every position of its axes.
    Axes::new(view.dims, [view.strides]).for_each(|[at]| found.push(unsafe { *view.at::<T>(at) }));
    Ok(found)
}

fn write<T>(values: impl ExactSizeIterator<Item = T>, out: &ViewMut) {
    assert!(out.is_contiguous() && values.len() == out.numel(), "one place for each value");
    for (i, value) in (0..).zip(values) {
        // SAFETY: the view holds as many elements of this type as there are values.
        unsafe { *out.at::<T>(i) = value };
    }
}
