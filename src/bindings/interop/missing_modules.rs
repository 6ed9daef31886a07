//! Imports of modules that the package does not have.
//!
//! Owns: the finder that is asked when no other one has found a module. Never finds one: Python says what to use instead
//! (`_inspect/missing_names.py`), where there is something to say.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::bindings::package;

/// The last entry of `sys.meta_path`.
#[pyclass(name = "_MissingFinder", module = "ferrograd._core", frozen)]
pub(crate) struct MissingFinder;

#[pymethods]
impl MissingFinder {
    /// None, or the error of a module of the package that there is a hint for.
    #[pyo3(signature = (name, path=None, target=None))]
    fn find_spec<'py>(
        &self,
        name: &Bound<'py, PyString>,
        path: Option<&Bound<'py, PyAny>>,
        target: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let _ = (path, target);
        let ours = name.to_str()?.split_once('.').is_some_and(|(home, _)| home == package::PACKAGE);
        if ours {
            package::REFUSE_IMPORT.get(name.py())?.call1((name,))?;
        }
        Ok(None)
    }
}

/// Has the finder asked from now on.
pub(crate) fn watch(py: Python<'_>) -> PyResult<()> {
    let finders = py.import(intern!(py, "sys"))?.getattr(intern!(py, "meta_path"))?;
    finders.cast::<PyList>()?.append(Bound::new(py, MissingFinder)?)
}
