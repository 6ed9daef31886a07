//! The way of tensors into einops.
//!
//! Owns: the finder that waits for einops to be imported, since einops knows only the backends that are
//! classes when it first meets a tensor. Never imports einops and never finds a module itself: what
//! happens when einops comes is Python's (`_dispatch/einops.py`).

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::bindings::package;

/// The module of einops that holds its backends.
const BACKENDS: &str = "einops._backends";

/// An entry of `sys.meta_path` that goes when einops is imported.
#[pyclass(name = "_EinopsFinder", module = "ferrograd._core", frozen)]
pub(crate) struct EinopsFinder;

#[pymethods]
impl EinopsFinder {
    /// The specification of einops' backends, followed by ours; None for every other module.
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

/// Makes tensors known to einops: now if it is loaded, else when it is.
pub(crate) fn wait(py: Python<'_>) -> PyResult<()> {
    let sys = py.import(intern!(py, "sys"))?;
    let modules = sys.getattr(intern!(py, "modules"))?;
    if let Some(loaded) = modules.cast::<PyDict>()?.get_item(BACKENDS)? {
        package::EINOPS_REGISTER.get(py)?.call1((loaded,))?;
        return Ok(());
    }
    let finders = sys.getattr(intern!(py, "meta_path"))?;
    finders.cast::<PyList>()?.insert(0, Bound::new(py, EinopsFinder)?)
}
