//! `backward` and `grad` as Python calls them.
//!
//! Owns: sequences, dicts and arrays as arguments of a pass, and the sink of retained gradients.
//! Never walks the graph: `ops::autograd` does.
//! Invariant: a gradient given as an array or a number gets its tensor's dtype; a tensor must have it.

use std::sync::{Arc, Weak};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::bindings::convert::{self, type_name};
use crate::bindings::errors::{bad_type, bad_value};
use crate::bindings::host::run_pass;
use crate::bindings::tensor::{PyTensor, wrap};
use crate::error::Result;
use crate::graph::Sink;
use crate::ops::autograd::{self as engine, BackwardOptions, GradOptions};
use crate::ops::cast::astype;
use crate::tensor::{Meta, Tensor};

/// Stores the gradient of a tensor that is no leaf in its state, if a handle still lives.
pub(crate) struct RetainedGrad(Weak<Meta>);

impl RetainedGrad {
    pub(crate) fn new(meta: &Arc<Meta>) -> RetainedGrad {
        RetainedGrad(Arc::downgrade(meta))
    }
}

impl Sink<Tensor> for RetainedGrad {
    fn store(&self, grad: Tensor, create_graph: bool) -> Result<()> {
        match self.0.upgrade() {
            Some(meta) => meta.accumulate(if create_graph { grad } else { grad.into_owned()? }),
            None => Ok(()),
        }
    }
}

/// One tensor, or a sequence of them.
fn tensors(op: &str, name: &str, ob: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
    if let Ok(one) = ob.cast::<PyTensor>() {
        return Ok(vec![one.get().tensor.clone()]);
    }
    let refuse = |ob: &Bound<'_, PyAny>| {
        bad_type(
            op,
            format!("{name} holds a {}", type_name(ob)),
            format!("give a tensor or a sequence of tensors as {name}"),
        )
    };
    let items = ob.try_iter().map_err(|_| refuse(ob))?;
    items
        .map(|item| {
            let item = item?;
            match item.cast::<PyTensor>() {
                Ok(tensor) => Ok(tensor.get().tensor.clone()),
                Err(_) => Err(refuse(&item)),
            }
        })
        .collect()
}

/// The gradients that belong to `roots`: None, one for one, or a sequence.
fn gradients(
    op: &str,
    roots: &[Tensor],
    ob: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Option<Tensor>>> {
    let Some(ob) = ob else {
        return Ok(vec![None; roots.len()]);
    };
    let several = ob.is_instance_of::<pyo3::types::PyList>() || ob.is_instance_of::<PyTuple>();
    if !several {
        if roots.len() != 1 {
            let what = format!("there are {} outputs and one gradient", roots.len());
            return Err(bad_value(
                op,
                what,
                "give a sequence with one gradient or None per output",
            ));
        }
        return Ok(vec![gradient(op, &roots[0], Some(ob))?]);
    }
    let items: Vec<Bound<'_, PyAny>> = ob.try_iter()?.collect::<PyResult<_>>()?;
    if items.len() != roots.len() {
        let what = format!("there are {} outputs and {} gradients", roots.len(), items.len());
        return Err(bad_value(op, what, "give one gradient or None per output"));
    }
    roots.iter().zip(&items).map(|(root, item)| gradient(op, root, Some(item))).collect()
}

fn gradient(op: &str, root: &Tensor, ob: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Tensor>> {
    let Some(ob) = ob.filter(|ob| !ob.is_none()) else {
        return Ok(None);
    };
    if let Ok(given) = ob.cast::<PyTensor>() {
        return Ok(Some(given.get().tensor.clone()));
    }
    let given = convert::tensor_of(op, "the gradient", ob)?;
    if given.dtype() == root.dtype() {
        // The array's owner may change it later; gradients are values.
        return Ok(Some(given.into_owned()?));
    }
    Ok(Some(astype(&given, root.dtype())?))
}

/// What `inputs=` names: a tensor, a sequence, or the values of a dict.
fn targets(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
    let found = match ob.cast::<PyDict>() {
        Ok(dict) => tensors(op, "inputs", dict.values().as_any())?,
        Err(_) => tensors(op, "inputs", ob)?,
    };
    if found.is_empty() {
        return Err(bad_value(op, "inputs is empty", "name at least one tensor or leave it out"));
    }
    Ok(found)
}

/// Runs a backward pass that adds to `.grad`.
pub(crate) fn run_backward(
    py: Python<'_>,
    roots: Vec<Tensor>,
    given: Vec<Option<&Bound<'_, PyAny>>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let grads: PyResult<Vec<Option<Tensor>>> =
        roots.iter().zip(given).map(|(root, ob)| gradient("backward", root, ob)).collect();
    pass(py, roots, grads?, retain_graph, create_graph, inputs)
}

fn pass(
    py: Python<'_>,
    roots: Vec<Tensor>,
    grads: Vec<Option<Tensor>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let inputs = inputs.map(|ob| targets("backward", ob)).transpose()?;
    run_pass(py, &roots, |host| {
        let options = BackwardOptions { retain_graph, create_graph, inputs: inputs.as_deref() };
        engine::backward(&roots, &grads, &options, host)
    })
}

/// Computes the sum of the gradients of `tensors` and adds it to the `grad` of the leaves.
#[pyfunction]
#[pyo3(signature = (tensors, grad_tensors=None, retain_graph=None, create_graph=false, inputs=None))]
pub(crate) fn backward(
    py: Python<'_>,
    tensors: &Bound<'_, PyAny>,
    grad_tensors: Option<&Bound<'_, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let roots = self::tensors("backward", "tensors", tensors)?;
    let grads = gradients("backward", &roots, grad_tensors)?;
    pass(py, roots, grads, retain_graph, create_graph, inputs)
}

/// Computes the gradients of `outputs` with respect to `inputs`; no `.grad` changes.
#[pyfunction]
#[pyo3(signature = (outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=false, allow_unused=None, materialize_grads=false))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn grad<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    grad_outputs: Option<&Bound<'py, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    allow_unused: Option<bool>,
    materialize_grads: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if materialize_grads && allow_unused == Some(false) {
        return Err(bad_value(
            "grad",
            "materialize_grads=True with allow_unused=False",
            "leave allow_unused out: unused inputs then get zeros",
        ));
    }
    let roots = tensors("grad", "outputs", outputs)?;
    let grads = gradients("grad", &roots, grad_outputs)?;
    let wanted = targets("grad", inputs)?;
    let found = run_pass(py, &roots, |host| {
        let options = GradOptions {
            retain_graph,
            create_graph,
            allow_unused: allow_unused.unwrap_or(materialize_grads),
            materialize: materialize_grads,
        };
        engine::grad(&roots, &wanted, &grads, &options, host)
    })?;
    let found: PyResult<Vec<Option<Bound<'py, PyAny>>>> =
        found.into_iter().map(|grad| grad.map(|grad| wrap(py, grad)).transpose()).collect();
    let Ok(dict) = inputs.cast::<PyDict>() else {
        return Ok(PyTuple::new(py, found?)?.into_any());
    };
    let named = PyDict::new(py);
    for (key, grad) in dict.keys().iter().zip(found?) {
        named.set_item(key, grad)?;
    }
    Ok(named.into_any())
}
