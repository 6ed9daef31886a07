//! Steps of optimisers as Python calls them.
//!
//! Owns: the lists of tensors of one call. Never checks or writes: `ops::inplace::optimizer_update` does.
//! Invariant: options that are tensors are read when the step runs, so that a program reads them anew.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bindings::call::intercept::{Call, Inputs};
use crate::bindings::object::PyTensor;
use crate::ops::inplace::optimizer_update::{RuleOption, Update, step};
use crate::tensor::Tensor;

/// Tensors of a list.
type Given<'py> = Vec<Bound<'py, PyTensor>>;

fn tensors(given: &Given<'_>) -> Vec<Tensor> {
    given.iter().map(|x| x.get().tensor.clone()).collect()
}

fn number(given: &Bound<'_, PyAny>) -> PyResult<RuleOption> {
    Ok(match given.cast::<PyTensor>() {
        Ok(tensor) => RuleOption::Read(tensor.get().tensor.clone()),
        Err(_) => RuleOption::Value(given.extract()?),
    })
}

/// Changes parameters, their states and the counts they share by the rule of an optimiser. `lists` are parameters, a
/// gradient for each, the states of each one after another, and the counts; `options` numbers or tensors of no axes.
/// `decay` is the share of a parameter that is added to its gradient.
#[pyfunction]
pub(crate) fn _update<'py>(
    py: Python<'py>,
    rule: &str,
    lists: (Given<'py>, Given<'py>, Given<'py>, Given<'py>),
    options: Vec<Bound<'py, PyAny>>,
    maximize: bool,
    decay: f64,
) -> PyResult<()> {
    let numbers = options.iter().map(number).collect::<PyResult<Vec<_>>>()?;
    let [params, grads, states, counts] = [&lists.0, &lists.1, &lists.2, &lists.3].map(tensors);
    let whole = Update {
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
        || step(&whole),
        |()| {
            for x in lists.0.iter().chain(&lists.2).chain(&lists.3) {
                x.get().written();
            }
            Ok(py.None().into_bound(py))
        },
    )?;
    Ok(())
}
