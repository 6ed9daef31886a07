//! Python containers that a function looked at while it was recorded: members of modules, options of optimisers.
//!
//! Owns: which containers, and what they held when the recording ended. Never decides what is looked at: the package
//! does. Invariant: containers hold the same objects as long as `have_changed` says no.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList};

/// A container and what it held.
enum Held {
    Dict(Py<PyDict>, Vec<(Py<PyAny>, Py<PyAny>)>),
    List(Py<PyList>, Vec<Py<PyAny>>),
}

/// Whether two objects are one, or equal floats: a schedule makes a new one at each step.
fn same(now: &Bound<'_, PyAny>, before: &Bound<'_, PyAny>) -> bool {
    let bits = |x: &Bound<'_, PyAny>| x.cast_exact::<PyFloat>().ok().map(|x| x.value().to_bits());
    now.is(before) || bits(now).is_some_and(|now| Some(now) == bits(before))
}

/// Containers, with what they held.
pub(crate) struct Watched(Vec<Held>);

impl Watched {
    /// What these dicts and lists hold now.
    pub(crate) fn of(containers: &Bound<'_, PyList>) -> PyResult<Watched> {
        let held = |container: Bound<'_, PyAny>| {
            let container = match container.cast_into::<PyDict>() {
                Ok(dict) => {
                    let items = dict.iter().map(|(key, value)| (key.unbind(), value.unbind()));
                    let items = items.collect();
                    return Ok(Held::Dict(dict.unbind(), items));
                }
                Err(other) => other.into_inner(),
            };
            let list = container.cast_into::<PyList>()?;
            let items = list.iter().map(Bound::unbind).collect();
            Ok(Held::List(list.unbind(), items))
        };
        Ok(Watched(containers.iter().map(held).collect::<PyResult<_>>()?))
    }

    /// Whether a container holds something else.
    pub(crate) fn have_changed(&self, py: Python<'_>) -> bool {
        self.0.iter().any(|held| match held {
            Held::Dict(dict, items) => {
                let dict = dict.bind(py);
                let holds = |key: &Py<PyAny>, value: &Py<PyAny>| {
                    matches!(dict.get_item(key), Ok(Some(now)) if same(&now, value.bind(py)))
                };
                dict.len() != items.len() || !items.iter().all(|(key, value)| holds(key, value))
            }
            Held::List(list, items) => {
                let list = list.bind(py);
                let mut pairs = list.iter().zip(items);
                list.len() != items.len() || !pairs.all(|(now, item)| same(&now, item.bind(py)))
            }
        })
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        for held in &self.0 {
            match held {
                Held::Dict(dict, items) => {
                    visit.call(dict)?;
                    for (key, value) in items {
                        visit.call(key)?;
                        visit.call(value)?;
                    }
                }
                Held::List(list, items) => {
                    visit.call(list)?;
                    items.iter().try_for_each(|item| visit.call(item))?;
                }
            }
        }
        Ok(())
    }
}
