//! A Python function owned by a Rust object, visible to Python's cyclic garbage collector through its owner.

use std::any::Any;

use pyo3::prelude::*;

use crate::bindings::attach::attached;
use crate::bindings::errors::{bad_type, type_name};
use crate::bindings::object::python_rule_count::PythonRuleCount;
use crate::graph::HostObjects;
use crate::threads::{Mutex, assert_no_lock_held};

/// A Python function owned by the graph; the collector may clear it.
pub(crate) struct Callback {
    function: Mutex<Option<Py<PyAny>>>,
    _count: PythonRuleCount,
}

impl Callback {
    /// # Errors
    /// `ArgumentTypeError` when the object cannot be called.
    pub(crate) fn new(op: &str, function: &Bound<'_, PyAny>) -> PyResult<Callback> {
        if !function.is_callable() {
            let what = format!("a {} cannot be called", type_name(function));
            return Err(bad_type(op, what, "pass a function"));
        }
        let function = Mutex::new(Some(function.clone().unbind()));
        Ok(Callback { function, _count: PythonRuleCount::new() })
    }

    /// A second reference to the function, for another owner.
    pub(crate) fn share(&self) -> Callback {
        let function = attached(|py| self.get(py).map(Bound::unbind));
        Callback { function: Mutex::new(function), _count: PythonRuleCount::new() }
    }

    /// The function; `None` after the collector cleared it.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        assert_no_lock_held();
        let function = self.function.lock();
        function.as_ref().map(|function| function.bind(py).clone())
    }
}

impl HostObjects for Callback {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        if let Some(function) = self.function.try_lock()
            && let Some(function) = &*function
        {
            visit(function);
        }
    }

    fn clear(&self) {
        let gone = self.function.lock().take();
        drop(gone);
    }
}
