//! Bounded reading of containers from users: limits of nesting depth and length.
//! A sequence that contains itself, `range(2**62)` and an endless iterator are errors after a bounded number of steps.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::bindings::errors::{bad_value, to_python, type_name};
use crate::error::Error;

/// Nesting limit: the number of axes in NumPy, which also catches a sequence that contains itself.
pub(crate) const MAX_DEPTH: usize = 64;

/// The most axes in an argument; no array has more.
pub(crate) const MAX_AXES: usize = 64;

/// The most elements of an argument with several integers or tensors.
pub(crate) const MAX_ITEMS: usize = 1 << 20;

/// Whether an object is treated as a nested sequence.
pub(crate) fn is_sequence(ob: &Bound<'_, PyAny>) -> bool {
    ob.is_instance_of::<PyList>() || ob.is_instance_of::<PyTuple>()
}

/// Refuses a container nested too deep; the outermost is at depth 1.
#[inline]
pub(crate) fn check_depth(op: &str, ob: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
    if depth > MAX_DEPTH { Err(too_deep(op, ob)) } else { Ok(()) }
}

#[cold]
fn too_deep(op: &str, ob: &Bound<'_, PyAny>) -> PyErr {
    let kind = type_name(ob);
    to_python(Box::new(Error::Shape {
        op: op.to_owned().into(),
        what: format!("a {kind} is nested more than {MAX_DEPTH} levels deep, or contains itself"),
        remedy: "pass flatter containers",
    }))
}

/// Whether a test holds for any element of a list or tuple; stops at the first.
///
/// Reads the items directly, ignoring a subclass's `__iter__`. Other objects have no elements.
pub(crate) fn any_element<'py>(
    ob: &Bound<'py, PyAny>,
    test: impl FnMut(Bound<'py, PyAny>) -> PyResult<bool>,
) -> PyResult<bool> {
    let decided = |found: &PyResult<bool>| !matches!(found, Ok(false));
    let found = if let Ok(list) = ob.cast::<PyList>() {
        list.iter().map(test).find(decided)
    } else if let Ok(tuple) = ob.cast::<PyTuple>() {
        tuple.iter().map(test).find(decided)
    } else {
        None
    };
    found.unwrap_or(Ok(false))
}

/// The elements of an iterable, at most `limit` of them.
///
/// If its length is known and too large, it is refused before it is read; otherwise at the first element beyond the
/// limit.
pub(crate) fn elements<'a, 'py>(
    op: &'a str,
    name: &'a str,
    ob: &'a Bound<'py, PyAny>,
    limit: usize,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + 'a> {
    let items = ob.try_iter()?;
    match ob.len() {
        Ok(len) if len > limit => return Err(too_many(op, name, &len.to_string(), limit)),
        Err(error) if error.is_instance_of::<PyOverflowError>(ob.py()) => {
            return Err(too_many(op, name, "more than 2**63", limit));
        }
        // Without a length, the elements are counted while reading.
        Ok(_) | Err(_) => {}
    }
    Ok(items.enumerate().map(move |(i, item)| {
        if i < limit { item } else { Err(too_many(op, name, &format!("more than {limit}"), limit)) }
    }))
}

/// All elements of an iterable, each extracted as `T`; for `from_py_with`.
pub(crate) fn all_of<'py, T>(ob: &Bound<'py, PyAny>) -> PyResult<Vec<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let one = |item: PyResult<Bound<'py, PyAny>>| item?.extract::<T>().map_err(Into::into);
    elements("arguments", "a sequence", ob, MAX_ITEMS)?.map(one).collect()
}

#[cold]
fn too_many(op: &str, name: &str, count: &str, limit: usize) -> PyErr {
    let remedy = format!("give at most {limit}");
    bad_value(op, format!("{name} has {count} elements"), remedy)
}
