//! Python slices as items of an index expression.
//! A bound beyond 64 bits is clamped to the end on its side, as in Python.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::ops::core::op_decl::IndexItem;

/// Converts a slice; `ops` clamps it to the size of the axis.
pub(crate) fn slice_item(slice: &Bound<'_, PySlice>) -> PyResult<IndexItem> {
    let [start, stop, step] = bounds(slice);
    Ok(IndexItem::Slice(index_bound(start)?, index_bound(stop)?, index_bound(step)?))
}

/// Start, stop and step, read from the C struct: three attribute look-ups would take a fifth of the time of `x[1:]`.
fn bounds<'a, 'py>(slice: &'a Bound<'py, PySlice>) -> [Borrowed<'a, 'py, PyAny>; 3] {
    let (py, object) = (slice.py(), slice.as_ptr().cast::<pyo3::ffi::PySliceObject>());
    // SAFETY: the object is a slice, whose three members are live objects that do not change during its life.
    unsafe {
        let members = [(*object).start, (*object).stop, (*object).step];
        members.map(|member| Borrowed::from_ptr(py, member))
    }
}

fn index_bound(value: Borrowed<'_, '_, PyAny>) -> PyResult<Option<i64>> {
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
