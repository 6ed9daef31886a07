//! Levels of forward mode and dual tensors, for Python.

use pyo3::prelude::*;

use crate::bindings::errors::to_python;
use crate::bindings::object::{PyTensor, wrap};
use crate::graph::{forward_ad, grad_enabled};
use crate::ops::autograd::forward_mode::{make_dual, unpack_dual};

/// Enters a level of forward mode on this thread and returns its serial number; with `records`, tangents are recorded for
/// reverse mode; with `columns`, a tangent has so many rows along a first axis that its value has not.
#[pyfunction]
#[pyo3(signature = (records, columns=None))]
pub(crate) fn _enter_dual_level(records: bool, columns: Option<usize>) -> u64 {
    forward_ad::enter_level(records, columns)
}

/// Exits a level; False if it is not live on this thread.
#[pyfunction]
pub(crate) fn _exit_dual_level(level: u64) -> bool {
    forward_ad::exit_level(level)
}

/// A tensor with the values of `primal` and this tangent, which has the same shape and dtype.
#[pyfunction]
pub(crate) fn _make_dual<'py>(
    primal: &Bound<'py, PyTensor>,
    tangent: &Bound<'py, PyTensor>,
    level: u64,
) -> PyResult<Bound<'py, PyAny>> {
    wrap(primal.py(), make_dual(&primal.get().tensor, &tangent.get().tensor, level))
}

/// A copy of a tensor that a transform differentiates by: a new leaf below the tangents of live levels. None if it has no
/// such tangent, or has a history for reverse mode, so that its clone is recorded.
#[pyfunction]
pub(crate) fn _copy_dual<'py>(x: &Bound<'py, PyTensor>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, x) = (x.py(), &x.get().tensor);
    let Some(edge) = x.grad_edge() else { return Ok(None) };
    if grad_enabled() && forward_ad::edge_below(Some(edge.clone()), 0).is_some() {
        return Ok(None);
    }
    let leaf = x.detach().copied("clone").map_err(to_python)?.with_kind_of(x).with_grad();
    let dual = leaf.grad_edge().and_then(|bottom| forward_ad::with_tangents_of(&edge, bottom));
    dual.map(|dual| wrap(py, leaf.detach().attach(dual))).transpose()
}

/// The tensor without the tangents of a level and of inner ones, and its tangent of that level, if it has one.
#[pyfunction]
pub(crate) fn _unpack_dual<'py>(
    dual: &Bound<'py, PyTensor>,
    level: u64,
) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)> {
    let py = dual.py();
    let (primal, tangent) = unpack_dual(&dual.get().tensor, level).map_err(to_python)?;
    Ok((wrap(py, primal)?, tangent.map(|tangent| wrap(py, tangent)).transpose()?))
}
