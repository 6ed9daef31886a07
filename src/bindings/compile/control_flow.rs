//! Python entry points of `scan`, `while_loop` and `switch`; bodies and branches are Python functions of tensors.
//!
//! Invariant: an exception of a body reaches the caller unchanged.

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::backward::engine_host::run_pass;
use crate::bindings::call::callback::Callback;
use crate::bindings::compile::joint_program::PythonFunction;
use crate::bindings::compile::trace::call;
use crate::bindings::errors::from_python;
use crate::bindings::object::{PyTensor, wrap};
use crate::compile::autograd::Original;
use crate::compile::control_flow::{Scanned, scan, switch, while_loop};
use crate::error::{Error, Result};
use crate::graph::Host;
use crate::tensor::Tensor;

/// The results; None if a decision differs from the trace.
type Found<'py> = Option<Bound<'py, PyList>>;

fn tensors(given: &[Bound<'_, PyTensor>]) -> Vec<Tensor> {
    given.iter().map(|x| x.get().tensor.clone()).collect()
}

/// A Python function of tensors as a Rust function.
fn traced<'a>(function: &'a Bound<'_, PyAny>) -> impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + 'a {
    move |inputs| {
        call(function.py(), function, inputs)
            .map(|(_, tensors)| tensors)
            .map_err(|raised| from_python(raised, "raised in the body of a loop or a branch"))
    }
}

fn original(function: &Bound<'_, PyAny>) -> PyResult<Box<PythonFunction>> {
    Ok(Box::new(PythonFunction::new(Callback::new("compile", function)?)))
}

fn found<'py>(
    py: Python<'py>,
    op: &'static str,
    run: impl FnOnce(&dyn Host) -> Result<Vec<Tensor>>,
) -> PyResult<Found<'py>> {
    let results = run_pass(py, op, |host| match run(host) {
        Err(error) if matches!(*error, Error::Diverged { .. }) => Ok(None),
        results => results.map(Some),
    })?;
    let Some(results) = results else { return Ok(None) };
    let wrapped: PyResult<Vec<_>> = results.into_iter().map(|x| wrap(py, x)).collect();
    PyList::new(py, wrapped?).map(Some)
}

/// `scan` of `body`, a function of carry and elements. `again` is the whole loop as a function of carry and scanned
/// tensors, for higher derivatives. `how` has length, direction and checkpoint interval.
#[pyfunction]
pub(crate) fn _scan<'py>(
    py: Python<'py>,
    body: &Bound<'py, PyAny>,
    again: &Bound<'py, PyAny>,
    carry: Vec<Bound<'py, PyTensor>>,
    xs: Vec<Bound<'py, PyTensor>>,
    how: (usize, bool, usize),
) -> PyResult<Found<'py>> {
    let (carry, xs) = (tensors(&carry), tensors(&xs));
    let original = original(again)?;
    let (length, reverse, every) = how;
    let over = Scanned { xs: &xs, length, reverse, every };
    found(py, "scan", |host| scan(&carry, over, original, host, &traced(body)))
}

/// `while_loop` of two functions of the carry; `again` is the whole loop.
#[pyfunction]
pub(crate) fn _while_loop<'py>(
    py: Python<'py>,
    condition: &Bound<'py, PyAny>,
    body: &Bound<'py, PyAny>,
    again: &Bound<'py, PyAny>,
    carry: Vec<Bound<'py, PyTensor>>,
) -> PyResult<Found<'py>> {
    let carry = tensors(&carry);
    let original = original(again)?;
    let (condition, body) = (traced(condition), traced(body));
    found(py, "while_loop", |host| while_loop(&carry, original, host, &condition, &body))
}

/// `switch` of functions of the operands.
#[pyfunction]
pub(crate) fn _switch<'py>(
    py: Python<'py>,
    index: &Bound<'py, PyTensor>,
    branches: Vec<Bound<'py, PyAny>>,
    operands: Vec<Bound<'py, PyTensor>>,
) -> PyResult<Found<'py>> {
    let (index, operands) = (index.get().tensor.clone(), tensors(&operands));
    let functions = branches.iter().map(|f| Ok(original(f)? as Box<dyn Original>));
    let functions = functions.collect::<PyResult<Vec<_>>>()?;
    found(py, "switch", |host| switch(&index, &operands, functions, host))
}
