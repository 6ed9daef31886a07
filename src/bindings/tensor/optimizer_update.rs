//! The fused update step of optimizers.
//! Options that are tensors are read when the step runs, so that a compiled program reads their current values.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bindings::call::intercept::{Call, Inputs};
use crate::bindings::object::PyTensor;
use crate::ops::inplace::optimizer_update::{RuleOption, Update, step};
use crate::tensor::Tensor;

type TensorList<'py> = Vec<Bound<'py, PyTensor>>;

fn tensors(list: &TensorList<'_>) -> Vec<Tensor> {
    list.iter().map(|x| x.get().tensor.clone()).collect()
}

fn option_number(value: &Bound<'_, PyAny>) -> PyResult<RuleOption> {
    Ok(match value.cast::<PyTensor>() {
        Ok(tensor) => RuleOption::Read(tensor.get().tensor.clone()),
        Err(_) => RuleOption::Value(value.extract()?),
    })
}

/// Updates parameters, their states and their step counts by an optimizer's rule. `lists` are parameters, a gradient
/// for each, the states of each in order, and the counts; `options` are numbers or 0-d tensors. `decay` is the fraction
/// of a parameter added to its gradient.
#[pyfunction]
pub(crate) fn _update<'py>(
    py: Python<'py>,
    rule: &str,
    lists: (TensorList<'py>, TensorList<'py>, TensorList<'py>, TensorList<'py>),
    options: Vec<Bound<'py, PyAny>>,
    maximize: bool,
    decay: f64,
) -> PyResult<()> {
    let numbers = options.iter().map(option_number).collect::<PyResult<Vec<_>>>()?;
    let [params, grads, states, counts] = [&lists.0, &lists.1, &lists.2, &lists.3].map(tensors);
    let update = Update {
        rule,
        maximize,
        decay,
        params: &params,
        grads: &grads,
        states: &states,
        counts: &counts,
        options: &numbers,
    };
    let elements = params.iter().map(Tensor::size).sum();
    let describe = || Ok((PyTuple::new(py, &lists.0)?, None));
    Call::new(py, "optimizer.step", Inputs::Described(&describe)).run(
        elements,
        || step(&update),
        |()| {
            for x in lists.0.iter().chain(&lists.2).chain(&lists.3) {
                x.get().note_write();
            }
            Ok(py.None().into_bound(py))
        },
    )?;
    Ok(())
}
