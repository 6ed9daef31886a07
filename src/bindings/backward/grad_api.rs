//! `backward`, `grad` and Jacobian functions as Python calls them: conversion of their arguments (sequences, dicts,
//! arrays, gradient edges).

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::{SmallVec, smallvec};

use crate::bindings::backward::engine_host::run_pass;
use crate::bindings::call::convert;
use crate::bindings::call::sequence::{MAX_ITEMS, all_of, elements, is_sequence};
use crate::bindings::errors::{bad_type, bad_value, type_name};
use crate::bindings::graph::edge::GradientEdge;
use crate::bindings::object::{PyTensor, set_identity, wrap};
use crate::bindings::package;
use crate::dtype::DType;
use crate::graph::{Flags, NestedStart};
use crate::ops::autograd::backward as engine;
use crate::ops::autograd::backward::{BackwardOptions, Endpoint, Endpoints, GradOptions};
use crate::ops::autograd::jacobian::{grad_rows, jacobian, rows_per_pass};
use crate::ops::core::broadcast::astype;
use crate::tensor::Tensor;

type Objects<'py> = SmallVec<[Bound<'py, PyAny>; 2]>;

/// One tensor or gradient edge, or a sequence of them.
fn tensors_or_edges<'py>(op: &str, name: &str, ob: &Bound<'py, PyAny>) -> PyResult<Objects<'py>> {
    let is_endpoint = |ob: &Bound<'py, PyAny>| {
        ob.is_instance_of::<PyTensor>() || ob.is_instance_of::<GradientEdge>()
    };
    if is_endpoint(ob) {
        return Ok(smallvec![ob.clone()]);
    }
    let refuse = |ob: &Bound<'_, PyAny>| {
        bad_type(
            op,
            format!("{name} holds a {}", type_name(ob)),
            format!("give a tensor or a sequence of tensors as {name}"),
        )
    };
    let mut items = Objects::new();
    if let Ok(list) = ob.cast_exact::<PyList>()
        && list.len() <= MAX_ITEMS
    {
        list.iter().for_each(|item| items.push(item));
    } else if ob.try_iter().is_err() {
        return Err(refuse(ob));
    } else {
        items = elements(op, name, ob, MAX_ITEMS)?.collect::<PyResult<_>>()?;
    }
    match items.iter().find(|item| !is_endpoint(item)) {
        None => Ok(items),
        Some(other) => Err(refuse(other)),
    }
}

/// The roots of a pass.
fn roots(op: &'static str, name: &str, ob: &Bound<'_, PyAny>) -> PyResult<Endpoints> {
    let root = |ob: &Bound<'_, PyAny>| match ob.cast::<PyTensor>() {
        Ok(tensor) => Ok(Endpoint::root(op, &tensor.get().tensor)?),
        Err(_) => Ok(ob.cast::<GradientEdge>()?.get().point.clone()),
    };
    if let Ok(tensor) = ob.cast::<PyTensor>() {
        return Ok(smallvec![Endpoint::root(op, &tensor.get().tensor)?]);
    }
    tensors_or_edges(op, name, ob)?.iter().map(root).collect()
}

/// The gradients of `roots`: None (an empty list), one gradient for one root, or a sequence.
fn gradients(
    op: &str,
    roots: &[Endpoint],
    ob: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Option<Tensor>>> {
    let Some(ob) = ob else {
        return Ok(Vec::new());
    };
    if !is_sequence(ob) {
        if roots.len() != 1 {
            let what = format!("there are {} outputs and one gradient", roots.len());
            return Err(bad_value(
                op,
                what,
                "give a sequence with one gradient or None per output",
            ));
        }
        return Ok(vec![gradient_or_none(op, &roots[0], Some(ob))?]);
    }
    let items: Objects<'_> =
        elements(op, "the gradient", ob, MAX_ITEMS)?.collect::<PyResult<_>>()?;
    if items.len() != roots.len() {
        let what = format!("there are {} outputs and {} gradients", roots.len(), items.len());
        return Err(bad_value(op, what, "give one gradient or None per output"));
    }
    roots.iter().zip(&items).map(|(root, item)| gradient_or_none(op, root, Some(item))).collect()
}

fn gradient_or_none(
    op: &str,
    root: &Endpoint,
    ob: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Tensor>> {
    let Some(ob) = ob.filter(|ob| !ob.is_none()) else {
        return Ok(None);
    };
    if let Ok(given) = ob.cast::<PyTensor>() {
        return Ok(Some(given.get().tensor.clone()));
    }
    let given = convert::tensor_of(op, "the gradient", ob)?;
    gradient_of(given, root.spec.dtype).map(Some)
}

/// Converts a gradient given as an array or a number to the tensor's dtype, as a copy.
pub(crate) fn gradient_of(given: Tensor, dtype: DType) -> PyResult<Tensor> {
    if given.dtype() == dtype || !dtype.is_inexact() {
        // The caller may write to the array later.
        return Ok(given.into_owned()?);
    }
    Ok(astype(&given, dtype)?)
}

/// The objects in `inputs=`: a tensor, a gradient edge, a sequence, or the values of a dict.
fn inputs_of<'py>(op: &str, ob: &Bound<'py, PyAny>) -> PyResult<Objects<'py>> {
    let found = match ob.cast_exact::<PyDict>() {
        Ok(dict) => tensors_or_edges(op, "inputs", dict.values().as_any())?,
        Err(_) => tensors_or_edges(op, "inputs", ob)?,
    };
    if found.is_empty() {
        let remedy =
            if op == "grad" { "name at least one tensor" } else { "name one, or leave it out" };
        return Err(bad_value(op, "inputs is empty", remedy));
    }
    Ok(found)
}

/// Where `backward(inputs=...)` accumulates; non-leaf tensors retain their gradient from now on.
fn targets(ob: &Bound<'_, PyAny>) -> PyResult<Endpoints> {
    let target = |(i, ob): (usize, &Bound<'_, PyAny>)| {
        if let Ok(tensor) = ob.cast::<PyTensor>() {
            let point = engine::target("backward", i, &tensor.get().tensor)?;
            if !tensor.get().tensor.is_leaf() {
                set_identity(tensor)?;
            }
            return Ok(point);
        }
        let point = ob.cast::<GradientEdge>()?.get().point.clone();
        if point.edge.node().flags().has(Flags::ACCUMULATOR) {
            return Ok(point);
        }
        let what = format!("input {i} is the gradient edge of a tensor that is no leaf");
        Err(bad_value("backward", what, "pass the tensor itself, or use autograd.grad"))
    };
    inputs_of("backward", ob)?.iter().enumerate().map(target).collect()
}

/// Runs a backward pass that adds to `.grad`.
pub(crate) fn run_backward(
    root: &Bound<'_, PyTensor>,
    gradient: Option<&Bound<'_, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let root_point = Endpoint::root("backward", &root.get().tensor)?;
    let grad = gradient_or_none("backward", &root_point, gradient)?;
    let grads = grad.map_or_else(Vec::new, |grad| vec![Some(grad)]);
    run_backward_from(root.py(), smallvec![root_point], grads, retain_graph, create_graph, inputs)
}

fn run_backward_from(
    py: Python<'_>,
    roots: Endpoints,
    grads: Vec<Option<Tensor>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let targets = inputs.map(targets).transpose()?;
    run_pass(py, "backward", |host| {
        let options = BackwardOptions { retain_graph, create_graph, inputs: None };
        engine::backward_from(roots, targets, &grads, &options, host)
    })
}

/// Computes the sum of the gradients of `tensors` and adds it to the `grad` of the leaves; with `inputs` only to the
/// `grad` of those, which need not be leaves.
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
    let roots = roots("backward", "tensors", tensors)?;
    let grads = gradients("backward", &roots, grad_tensors)?;
    run_backward_from(py, roots, grads, retain_graph, create_graph, inputs)
}

/// The endpoints of `grad`.
fn endpoints(inputs: &Bound<'_, PyAny>) -> PyResult<Endpoints> {
    let point = |i: usize, ob: &Bound<'_, PyAny>| match ob.cast::<PyTensor>() {
        Ok(tensor) => PyResult::Ok(Endpoint::target("grad", i, &tensor.get().tensor)?),
        Err(_) => Ok(ob.cast::<GradientEdge>()?.get().point.clone()),
    };
    let mut points = Endpoints::new();
    for (i, input) in inputs_of("grad", inputs)?.iter().enumerate() {
        points.push(point(i, input)?);
    }
    Ok(points)
}

#[cold]
fn unused_and_materialize() -> PyErr {
    bad_value(
        "grad",
        "materialize_grads=True with allow_unused=False",
        "leave allow_unused out: unused inputs then get zeros",
    )
}

/// `is_grads_batched=True`: one pass for many rows of gradients.
#[cold]
fn grad_batched<'py>(
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    gradients: Option<&Bound<'py, PyAny>>,
    graph: (Option<bool>, bool),
    unused: (bool, bool),
) -> PyResult<Bound<'py, PyAny>> {
    let grad_batched = package::BATCHED_GRAD.get(outputs.py())?;
    grad_batched.call1((outputs, inputs, gradients, graph, unused))
}

/// Computes the gradients of `outputs` with respect to `inputs`; no `.grad` changes. With `is_grads_batched` the first
/// axis of `grad_outputs` and of the results counts vectors.
#[pyfunction(name = "_grad")]
#[pyo3(signature = (outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=false, allow_unused=None, materialize_grads=false, is_grads_batched=false, *, only_inputs=true))]
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
    is_grads_batched: bool,
    only_inputs: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let _ = only_inputs;
    if materialize_grads && allow_unused == Some(false) {
        return Err(unused_and_materialize());
    }
    let allow_unused = allow_unused.unwrap_or(materialize_grads);
    if is_grads_batched {
        let (graph, unused) = ((retain_graph, create_graph), (allow_unused, materialize_grads));
        return grad_batched(outputs, inputs, grad_outputs, graph, unused);
    }
    let roots = roots("grad", "outputs", outputs)?;
    let grads = gradients("grad", &roots, grad_outputs)?;
    let targets = endpoints(inputs)?;
    let found = run_pass(py, "grad", |host| {
        let options = GradOptions {
            retain_graph,
            create_graph,
            allow_unused,
            materialize: materialize_grads,
            since: NestedStart::default(),
        };
        engine::grad_at(roots, &targets, &grads, &options, host)
    })?;
    let found: PyResult<Vec<Option<Bound<'py, PyAny>>>> =
        found.into_iter().map(|grad| grad.map(|grad| wrap(py, grad)).transpose()).collect();
    let Ok(dict) = inputs.cast_exact::<PyDict>() else {
        return Ok(PyTuple::new(py, found?)?.into_any());
    };
    let named = PyDict::new(py);
    for (key, grad) in dict.keys().iter().zip(found?) {
        named.set_item(key, grad)?;
    }
    Ok(named.into_any())
}

/// The gradients of each of `inputs` for each row of `gradients`, one batch for each of `outputs`; None for an input that
/// was not used.
#[pyfunction]
pub(crate) fn _grad_rows<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = all_of)] gradients: Vec<Bound<'py, PyTensor>>,
    graph: (Option<bool>, bool),
    unused: (bool, bool),
) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    let roots = roots("grad", "outputs", outputs)?;
    let targets = endpoints(inputs)?;
    let batch = |(root, given): (&Endpoint, &Bound<'py, PyTensor>)| {
        Ok(astype(&given.get().tensor, root.spec.dtype)?)
    };
    let gradients: Vec<Tensor> =
        roots.iter().zip(&gradients).map(batch).collect::<PyResult<_>>()?;
    let found = run_pass(py, "grad", |host| {
        let options = GradOptions {
            retain_graph: graph.0,
            create_graph: graph.1,
            allow_unused: unused.0,
            materialize: unused.1,
            since: NestedStart::default(),
        };
        grad_rows(&roots, &targets, &gradients, &options, host)
    })?;
    found.into_iter().map(|rows| rows.map(|rows| wrap(py, rows)).transpose()).collect()
}

/// The root and the endpoints of a Jacobian.
fn jacobian_endpoints(
    output: &Bound<'_, PyTensor>,
    inputs: &[Bound<'_, PyTensor>],
) -> PyResult<(Endpoint, Vec<Endpoint>)> {
    let root = Endpoint::root("jacobian", &output.get().tensor)?;
    let point =
        |(i, x): (usize, &Bound<'_, PyTensor>)| Endpoint::target("jacobian", i, &x.get().tensor);
    let endpoints = inputs.iter().enumerate().map(point).collect::<Result<Vec<_>, _>>()?;
    Ok((root, endpoints))
}

/// How many rows of the derivatives of `output` one pass of `_jacobian` computes.
#[pyfunction]
pub(crate) fn _rows_of_pass(
    output: &Bound<'_, PyTensor>,
    #[pyo3(from_py_with = all_of)] inputs: Vec<Bound<'_, PyTensor>>,
) -> PyResult<usize> {
    let (root, endpoints) = jacobian_endpoints(output, &inputs)?;
    Ok(rows_per_pass(&root, &endpoints))
}

/// The derivatives of all elements of `output` by each of `inputs`, of shape `output.shape + input.shape`; None where
/// `output` does not depend on it.
#[pyfunction]
pub(crate) fn _jacobian<'py>(
    py: Python<'py>,
    output: &Bound<'py, PyTensor>,
    #[pyo3(from_py_with = all_of)] inputs: Vec<Bound<'py, PyTensor>>,
    create_graph: bool,
) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    let (root, endpoints) = jacobian_endpoints(output, &inputs)?;
    let found = run_pass(py, "jacobian", |host| jacobian(&root, &endpoints, create_graph, host))?;
    found.into_iter().map(|block| block.map(|block| wrap(py, block)).transpose()).collect()
}
