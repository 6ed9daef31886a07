//! Threads, counters and the configuration: the functions behind `set_num_threads`, `show_config` and the table of operations.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::bindings::call::intercept::without_gil;
use crate::bindings::call::signature_text::default_text;
use crate::bindings::errors::{bad_value, to_py_result};
use crate::dtype::DType;
use crate::graph::{Value, discovered};
use crate::kernels::isa;
use crate::ops::registry;
use crate::tensor::Tensor;
use crate::{array, threads};

/// How many threads kernels and the engine may use.
#[pyfunction]
pub(crate) fn get_num_threads() -> usize {
    threads::num_threads()
}

/// Limits the threads that kernels and the engine may use.
#[pyfunction]
pub(crate) fn set_num_threads(py: Python<'_>, n: isize) -> PyResult<()> {
    if n < 1 {
        return Err(bad_value("set_num_threads", format!("n is {n}"), "give at least 1"));
    }
    without_gil(py, || threads::set_num_threads(n as usize));
    Ok(())
}

/// How many nodes of the graph are alive, leaves' accumulators included.
#[pyfunction]
pub(crate) fn live_nodes() -> usize {
    Tensor::arena().live_nodes()
}

/// How many nodes the passes and searches of this thread have looked at so far.
#[pyfunction]
pub(crate) fn _discovered_nodes() -> u64 {
    discovered()
}

/// How many bytes the elements of all living tensors occupy.
#[pyfunction]
pub(crate) fn live_bytes() -> usize {
    array::live_bytes()
}

/// What this build and process run on.
#[pyfunction(name = "_config")]
pub(crate) fn config(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("version", env!("CARGO_PKG_VERSION"))?;
    facts.set_item("threads", threads::num_threads())?;
    facts.set_item("simd", format!("{:?}", isa::level()).to_lowercase())?;
    facts.set_item("operations", registry().len())?;
    facts.set_item("dtypes", DType::ALL.map(|dtype| dtype.row().name))?;
    Ok(facts)
}

/// Every operation as a dict: name, aliases, family, doc, params, returns, numpy,
/// differentiable, namespaces, method, in_place.
#[pyfunction(name = "_registry")]
pub(crate) fn registered(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let rows = PyList::empty(py);
    for decl in registry() {
        let params = PyList::empty(py);
        for param in decl.params {
            let row = PyDict::new(py);
            row.set_item("name", param.name)?;
            row.set_item("kind", format!("{:?}", param.kind))?;
            row.set_item("optional", param.optional)?;
            row.set_item("default", default_text(py, param)?)?;
            params.append(row)?;
        }
        let row = PyDict::new(py);
        row.set_item("name", decl.name)?;
        row.set_item("aliases", decl.facts.aliases)?;
        row.set_item("family", decl.family)?;
        row.set_item("doc", decl.doc.trim())?;
        row.set_item("params", params)?;
        row.set_item("returns", format!("{:?}", decl.returns))?;
        row.set_item("numpy", decl.facts.numpy)?;
        row.set_item("differentiable", decl.differentiable)?;
        row.set_item("namespaces", decl.facts.namespaces)?;
        let method = decl.is_top_level() && decl.takes_tensor();
        row.set_item("method", method || decl.is_method_only())?;
        row.set_item("function", decl.facts.core_function.unwrap_or(decl.name))?;
        row.set_item("in_place", decl.is_top_level() && decl.in_place.is_some())?;
        row.set_item("in_place_aliases", decl.facts.in_place_aliases)?;
        row.set_item("positional", decl.positional())?;
        row.set_item("named", decl.facts.named)?;
        row.set_item("keywords", decl.facts.keywords)?;
        row.set_item("ignores", decl.facts.ignores)?;
        row.set_item("ufunc", decl.facts.ufunc)?;
        row.set_item("fold", decl.facts.fold)?;
        row.set_item("neutral", decl.facts.neutral)?;
        row.set_item("scan", decl.facts.scan)?;
        row.set_item("fields", decl.facts.fields)?;
        rows.append(row)?;
    }
    to_py_result(Ok(rows))
}
