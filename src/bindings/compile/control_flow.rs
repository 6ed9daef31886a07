//! Python entry points of `scan`, `while_loop` and `switch`; bodies and branches are Python functions of tensors.
//!
//! Invariant: an exception of a body reaches the caller unchanged.

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::backward::engine_host::run_pass;
use crate::bindings::call::callback::Callback;
use crate::bindings::compile::differentiable_program::PythonFunction;
use crate::bindings::compile::program::call;
use crate::bindings::errors::from_python;
use crate::bindings::object::{PyTensor, wrap};
use crate::compile::autograd::OriginalFunction;
use crate::compile::control_flow::{Scanned, scan, switch, while_loop};
use crate::error::{Error, Result};
use crate::graph::Host;
use crate::tensor::Tensor;

/// The results; None if a decision differs from the trace.
type OptionalResults<'py> = Option<Bound<'py, PyList>>;

fn tensors(given: &[Bound<'_, PyTensor>]) -> Vec<Tensor> {
    given.iter().map(|x| x.get().tensor.clone()).collect()
}

/// A Python function of tensors as a Rust function.
fn as_function<'a>(
    function: &'a Bound<'_, PyAny>,
) -> impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + 'a {
    move |inputs| {
        call(function.py(), function, inputs)
            .map(|(_, tensors)| tensors)
            .map_err(|raised| from_python(raised, "raised in the body of a loop or a branch"))
    }
}

fn original_function(function: &Bound<'_, PyAny>) -> PyResult<Box<PythonFunction>> {
    Ok(Box::new(PythonFunction::new(Callback::new("compile", function)?)))
}

fn run_traced<'py>(
    py: Python<'py>,
    op: &'static str,
    run: impl FnOnce(&dyn Host) -> Result<Vec<Tensor>>,
) -> PyResult<OptionalResults<'py>> {
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
) -> PyResult<OptionalResults<'py>> {
    let (carry, xs) = (tensors(&carry), tensors(&xs));
    let original = original_function(again)?;
    let (length, reverse, checkpoint_interval) = how;
    let over = Scanned { xs: &xs, length, reverse, checkpoint_interval };
    run_traced(py, "scan", |host| scan(&carry, over, original, host, &as_function(body)))
}

/// `while_loop` of two functions of the carry; `again` is the whole loop.
#[pyfunction]
pub(crate) fn _while_loop<'py>(
    py: Python<'py>,
    condition: &Bound<'py, PyAny>,
    body: &Bound<'py, PyAny>,
    again: &Bound<'py, PyAny>,
    carry: Vec<Bound<'py, PyTensor>>,
) -> PyResult<OptionalResults<'py>> {
    let carry = tensors(&carry);
    let original = original_function(again)?;
    let (condition, body) = (as_function(condition), as_function(body));
    run_traced(py, "while_loop", |host| while_loop(&carry, original, host, &condition, &body))
}

/// `switch` of functions of the operands.
#[pyfunction]
pub(crate) fn _switch<'py>(
    py: Python<'py>,
    index: &Bound<'py, PyTensor>,
    branches: Vec<Bound<'py, PyAny>>,
    operands: Vec<Bound<'py, PyTensor>>,
) -> PyResult<OptionalResults<'py>> {
    let (index, operands) = (index.get().tensor.clone(), tensors(&operands));
    let functions = branches.iter().map(|f| Ok(original_function(f)? as Box<dyn OriginalFunction>));
    let functions = functions.collect::<PyResult<Vec<_>>>()?;
    run_traced(py, "switch", |host| switch(&index, &operands, functions, host))
}
