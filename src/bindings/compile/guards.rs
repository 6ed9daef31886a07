//! Guards on Python containers that a function read while it was traced: attributes of modules, options of
//! optimisers.
//!
//! The Python package chooses the containers. Invariant: while the guards hold, the containers hold the same objects as
//! during the trace. A flag that the function itself sets (such as `training`) must have the value it had before the trace.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList};

/// A container and its items at trace time.
enum ContainerGuard {
    Dict(Py<PyDict>, Vec<(Py<PyAny>, Py<PyAny>)>),
    List(Py<PyList>, Vec<Py<PyAny>>),
}

/// Whether two objects are identical, or equal floats: a schedule makes a new float at each step.
fn is_unchanged(now: &Bound<'_, PyAny>, before: &Bound<'_, PyAny>) -> bool {
    let bits = |x: &Bound<'_, PyAny>| x.cast_exact::<PyFloat>().ok().map(|x| x.value().to_bits());
    now.is(before) || bits(now).is_some_and(|now| Some(now) == bits(before))
}

/// A dict item that the function sets.
struct FlagUpdate {
    dict: Py<PyDict>,
    key: Py<PyAny>,
    after: Py<PyAny>,
}

/// The guards of a program, and the flags that a run sets.
pub(crate) struct Guards {
    containers: Vec<ContainerGuard>,
    flags: Vec<FlagUpdate>,
}

impl Guards {
    /// Guards for the dicts and lists that the package's `Watch` noted, with their current items, and the flags that
    /// changed during the trace.
    pub(crate) fn of(watch: &Bound<'_, PyAny>) -> PyResult<Guards> {
        let watched = watch.getattr("containers")?.cast_into::<PyList>()?;
        let guard = |container: Bound<'_, PyAny>| {
            let container = match container.cast_into::<PyDict>() {
                Ok(dict) => {
                    let items = dict.iter().map(|(key, value)| (key.unbind(), value.unbind()));
                    let items = items.collect();
                    return Ok(ContainerGuard::Dict(dict.unbind(), items));
                }
                Err(other) => other.into_inner(),
            };
            let list = container.cast_into::<PyList>()?;
            let items = list.iter().map(Bound::unbind).collect();
            Ok(ContainerGuard::List(list.unbind(), items))
        };
        let containers = watched.iter().map(guard).collect::<PyResult<_>>()?;
        let mut guards = Guards { containers, flags: Vec::new() };
        for flag in watch.call_method0("flag_guards")?.try_iter()? {
            let (dict, key, before): (Bound<'_, PyDict>, Bound<'_, PyAny>, Py<PyAny>) =
                flag?.extract()?;
            guards.expect(&dict, &key, before);
        }
        Ok(guards)
    }

    /// Expects `before` at this key; a run sets what is there now.
    fn expect(&mut self, dict: &Bound<'_, PyDict>, key: &Bound<'_, PyAny>, before: Py<PyAny>) {
        for guard in &mut self.containers {
            let ContainerGuard::Dict(noted, items) = guard else { continue };
            if !noted.bind(dict.py()).is(dict) {
                continue;
            }
            for (_, value) in items.iter_mut().filter(|(own, _)| own.bind(dict.py()).is(key)) {
                let after = std::mem::replace(value, before.clone_ref(dict.py()));
                let (dict, key) = (dict.clone().unbind(), key.clone().unbind());
                self.flags.push(FlagUpdate { dict, key, after });
            }
        }
    }

    /// Sets the flags, as the function does.
    #[inline]
    pub(crate) fn set_flags(&self, py: Python<'_>) -> PyResult<()> {
        let set = |flag: &FlagUpdate| flag.dict.bind(py).set_item(&flag.key, &flag.after);
        self.flags.iter().try_for_each(set)
    }

    /// Whether a guard fails.
    pub(crate) fn are_violated(&self, py: Python<'_>) -> bool {
        self.containers.iter().any(|guard| match guard {
            ContainerGuard::Dict(dict, items) => {
                let dict = dict.bind(py);
                let holds = |key: &Py<PyAny>, value: &Py<PyAny>| {
                    matches!(dict.get_item(key), Ok(Some(now)) if is_unchanged(&now, value.bind(py)))
                };
                dict.len() != items.len() || !items.iter().all(|(key, value)| holds(key, value))
            }
            ContainerGuard::List(list, items) => {
                let list = list.bind(py);
                let mut pairs = list.iter().zip(items);
                list.len() != items.len() || !pairs.all(|(now, item)| is_unchanged(&now, item.bind(py)))
            }
        })
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        for guard in &self.containers {
            match guard {
                ContainerGuard::Dict(dict, items) => {
                    visit.call(dict)?;
                    for (key, value) in items {
                        visit.call(key)?;
                        visit.call(value)?;
                    }
                }
                ContainerGuard::List(list, items) => {
                    visit.call(list)?;
                    items.iter().try_for_each(|item| visit.call(item))?;
                }
            }
        }
        Ok(())
    }
}
