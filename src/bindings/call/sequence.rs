//! How deep and how far the containers that users give are read.
//!
//! Owns: the limits of depth and of length, and their messages. Never converts an element.
//! Invariant: a sequence that contains itself, a `range(2**62)` and an iterator without an end are
//! errors, after a bounded number of steps and on a bounded stack.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::bindings::errors::{bad_value, to_python, type_name};
use crate::error::Error;

/// Sequences nested deeper than NumPy has axes are refused, which also ends one that contains itself.
pub(crate) const DEEPEST: usize = 64;

/// The most axes that an argument names: no array has more.
pub(crate) const MOST_AXES: usize = 64;

/// The most elements read of what is given as several integers or several tensors.
pub(crate) const MOST_ITEMS: usize = 1 << 20;

/// Whether an object is read as a nested sequence.
pub(crate) fn is_sequence(ob: &Bound<'_, PyAny>) -> bool {
    ob.is_instance_of::<PyList>() || ob.is_instance_of::<PyTuple>()
}

/// Refuses a container at this depth, the outermost being at depth 1.
#[inline]
pub(crate) fn check_depth(op: &str, ob: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
    if depth > DEEPEST { Err(too_deep(op, ob)) } else { Ok(()) }
}

#[cold]
fn too_deep(op: &str, ob: &Bound<'_, PyAny>) -> PyErr {
    let kind = type_name(ob);
    to_python(Box::new(Error::Shape {
        op: op.to_owned().into(),
        what: format!("a {kind} is nested more than {DEEPEST} levels deep, or contains itself"),
        remedy: "pass flatter containers",
    }))
}

/// Whether a test holds for an element of a list or tuple; ends at the first for which it does.
///
/// Reads what the object holds, not what a subclass says when it is iterated. Nothing else has elements.
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

/// The elements of an iterable, at most `most` of them.
///
/// One that says it has more is refused before it is read, any other at the first element too many.
pub(crate) fn elements<'a, 'py>(
    op: &'a str,
    name: &'a str,
    ob: &'a Bound<'py, PyAny>,
    most: usize,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + 'a> {
    let items = ob.try_iter()?;
    match ob.len() {
        Ok(len) if len > most => return Err(too_many(op, name, &len.to_string(), most)),
        Err(error) if error.is_instance_of::<PyOverflowError>(ob.py()) => {
            return Err(too_many(op, name, "more than 2**63", most));
        }
        // Without a length it is counted.
        Ok(_) | Err(_) => {}
    }
    Ok(items.enumerate().map(move |(i, item)| {
        if i < most { item } else { Err(too_many(op, name, &format!("more than {most}"), most)) }
    }))
}

/// The objects of one class in an iterable, for signatures.
pub(crate) fn all_of<'py, T>(ob: &Bound<'py, PyAny>) -> PyResult<Vec<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let one = |item: PyResult<Bound<'py, PyAny>>| item?.extract::<T>().map_err(Into::into);
    elements("arguments", "a sequence", ob, MOST_ITEMS)?.map(one).collect()
}

#[cold]
fn too_many(op: &str, name: &str, count: &str, most: usize) -> PyErr {
    let remedy = format!("give at most {most}");
    bad_value(op, format!("{name} has {count} elements"), remedy)
}
