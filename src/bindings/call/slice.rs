//! Slices of Python as items of an index.
//!
//! Owns: reading the three bounds of a slice object. Never knows the size of an axis: `ops` clamps.
//! Invariant: a bound beyond 64 bits means the end on its side, as in Python.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::ops::core::op_decl::IndexItem;

/// The item of an index that a slice is.
pub(crate) fn item(slice: &Bound<'_, PySlice>) -> PyResult<IndexItem> {
    let [start, stop, step] = parts(slice);
    Ok(IndexItem::Slice(bound(start)?, bound(stop)?, bound(step)?))
}

/// Start, stop and step. Three look-ups of attributes would take a fifth of the time of `x[1:]`.
fn parts<'a, 'py>(slice: &'a Bound<'py, PySlice>) -> [Borrowed<'a, 'py, PyAny>; 3] {
    let (py, object) = (slice.py(), slice.as_ptr().cast::<pyo3::ffi::PySliceObject>());
    // SAFETY: the object is a slice, whose three members are objects that never change while it lives.
    unsafe {
        let members = [(*object).start, (*object).stop, (*object).step];
        members.map(|member| Borrowed::from_ptr(py, member))
    }
}

fn bound(value: Borrowed<'_, '_, PyAny>) -> PyResult<Option<i64>> {
    if value.is_none() {
        return Ok(None);
    }
    value.extract::<i64>().map(Some).or_else(|error| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            Ok(Some(if value.lt(0)? { i64::MIN } else { i64::MAX }))
        } else {
            Err(error)
        }
    })
}
