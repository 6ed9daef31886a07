//! Equality of objects that belong to the structure of a call: keys of dicts and static arguments.
//!
//! Stricter than `==`: 1, 1.0 and True differ, and so do 0.0 and -0.0; a NaN equals itself.

use std::hash::{Hash, Hasher};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyFrozenSet, PySlice, PyTuple};

/// Whether two objects are the same static value.
pub(crate) fn is_same(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<bool> {
    if a.is(b) {
        return Ok(true);
    }
    if !a.get_type().is(b.get_type()) {
        return Ok(false);
    }
    if let (Ok(a), Ok(b)) = (a.cast::<PyFloat>(), b.cast::<PyFloat>()) {
        return Ok(a.value().to_bits() == b.value().to_bits());
    }
    if let (Ok(a), Ok(b)) = (a.cast::<PyComplex>(), b.cast::<PyComplex>()) {
        return Ok(complex_bits(a) == complex_bits(b));
    }
    match (parts(a)?, parts(b)?) {
        (Some(a), Some(b)) => {
            let mut pairs = a.iter().zip(&b);
            Ok(a.len() == b.len()
                && pairs.try_fold(true, |same, (a, b)| Ok::<_, PyErr>(same && is_same(a, b)?))?)
        }
        _ => a.eq(b),
    }
}

/// Hashes a static value: equal ones alike.
///
/// # Errors
/// What `hash` raises.
pub(crate) fn hash_into(value: &Bound<'_, PyAny>, state: &mut impl Hasher) -> PyResult<()> {
    value.get_type_ptr().addr().hash(state);
    if let Ok(float) = value.cast::<PyFloat>() {
        float.value().to_bits().hash(state);
    } else if let Ok(complex) = value.cast::<PyComplex>() {
        complex_bits(complex).hash(state);
    } else if let Some(parts) = parts(value)? {
        parts.len().hash(state);
        for part in &parts {
            hash_into(part, state)?;
        }
    } else {
        value.hash()?.hash(state);
    }
    Ok(())
}

fn complex_bits(value: &Bound<'_, PyComplex>) -> [u64; 2] {
    [value.real().to_bits(), value.imag().to_bits()]
}

/// The parts of which a value's equality is that of its parts, each by the rules of this file.
fn parts<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let py = value.py();
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Ok(Some(tuple.iter().collect()));
    }
    if let Ok(set) = value.cast::<PyFrozenSet>() {
        return Ok(Some(set.iter().collect()));
    }
    if value.is_instance_of::<PySlice>() {
        let names = [intern!(py, "start"), intern!(py, "stop"), intern!(py, "step")];
        return names
            .into_iter()
            .map(|name| value.getattr(name))
            .collect::<PyResult<_>>()
            .map(Some);
    }
    Ok(None)
}
