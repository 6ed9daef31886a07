//! Import hooks in `sys.meta_path`: registering tensors with einops when it is imported, and modules that the package
//! has under another name, or not at all.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::bindings::package;

/// The einops module with its backends. einops only knows backend classes that exist when it first sees a tensor.
const BACKENDS: &str = "einops._backends";

/// An entry of `sys.meta_path` that is removed when einops is imported.
#[pyclass(name = "_EinopsFinder", module = "ferrograd._core", frozen)]
pub(crate) struct EinopsFinder;

#[pymethods]
impl EinopsFinder {
    /// The import spec of einops' backend module, extended by the tensor backend; None for other modules.
    #[pyo3(signature = (name, path=None, target=None))]
    fn find_spec<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyString>,
        path: Option<&Bound<'py, PyAny>>,
        target: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let _ = (path, target);
        if name.to_str()? != BACKENDS {
            return Ok(None);
        }
        package::EINOPS_SPEC.get(slf.py())?.call1((slf, name)).map(Some)
    }
}

/// Registers the tensor backend with einops: now if it is loaded, otherwise when it is imported.
pub(crate) fn register_einops(py: Python<'_>) -> PyResult<()> {
    let sys = py.import(intern!(py, "sys"))?;
    let modules = sys.getattr(intern!(py, "modules"))?;
    if let Some(loaded) = modules.cast::<PyDict>()?.get_item(BACKENDS)? {
        package::EINOPS_REGISTER.get(py)?.call1((loaded,))?;
        return Ok(());
    }
    let finders = sys.getattr(intern!(py, "meta_path"))?;
    finders.cast::<PyList>()?.insert(0, Bound::new(py, EinopsFinder)?)
}

/// The last entry of `sys.meta_path`.
#[pyclass(name = "_MissingFinder", module = "ferrograd._core", frozen)]
pub(crate) struct MissingFinder;

#[pymethods]
impl MissingFinder {
    /// The spec of a module of the package that stands elsewhere; raises for one that has a hint; None for others.
    #[pyo3(signature = (name, path=None, target=None))]
    fn find_spec<'py>(
        &self,
        name: &Bound<'py, PyString>,
        path: Option<&Bound<'py, PyAny>>,
        target: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let _ = (path, target);
        let ours = name.to_str()?.split_once('.').is_some_and(|(home, _)| home == package::PACKAGE);
        if !ours {
            return Ok(None);
        }
        let found = package::FIND_MODULE.get(name.py())?.call1((name,))?;
        Ok((!found.is_none()).then_some(found))
    }
}

/// Installs the finder.
pub(crate) fn install_missing_finder(py: Python<'_>) -> PyResult<()> {
    let finders = py.import(intern!(py, "sys"))?.getattr(intern!(py, "meta_path"))?;
    finders.cast::<PyList>()?.append(Bound::new(py, MissingFinder)?)
}
