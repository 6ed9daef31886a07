//! `run` and `wrap_forward` of document 001: a call made of two functions, without a class or an instance.
//!
//! Owns: the checks of what they are given and the object that their backward sees. Never records by itself.
//! Invariant: the inputs and the output are the saved values of the node, and the node owns the backward function.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};
use smallvec::SmallVec;

use crate::bindings::call::intercept::{Call, Inputs};
use crate::bindings::call::sequence::{MOST_ITEMS, elements};
use crate::bindings::custom_op::arguments::Arguments;
use crate::bindings::custom_op::call::Job;
use crate::bindings::custom_op::class_info::Form;
use crate::bindings::custom_op::context::{Arrays, FunctionContext};
use crate::bindings::custom_op::outputs::{as_tensor, contract, is_numpy};
use crate::bindings::custom_op::python_rule::Callee;
use crate::bindings::custom_op::pytree::Tree;
use crate::bindings::errors::{bad_type, bad_value, type_name};
use crate::bindings::object::{PyTensor, remember};
use crate::graph::ModeGuard;

type Sources<'py> = SmallVec<[Bound<'py, PyAny>; 3]>;

/// A sequence of tensors, or an error that names the entry.
fn sources<'py>(op: &str, what: &str, given: &Bound<'py, PyAny>) -> PyResult<Sources<'py>> {
    if given.is_none() {
        let what = format!("{what} must not be null");
        return Err(bad_type(op, what, "pass a sequence of tensors"));
    }
    let found: Sources<'py> = if let Ok(list) = given.cast::<PyList>() {
        list.iter().collect()
    } else if as_tensor(given).is_some() {
        Sources::from_iter([given.clone()])
    } else {
        elements(op, what, given, MOST_ITEMS)?.collect::<PyResult<_>>()?
    };
    match found.iter().position(|ob| as_tensor(ob).is_none()) {
        None => Ok(found),
        Some(i) => Err(no_tensor(op, what, i, &found[i])),
    }
}

#[cold]
fn no_tensor(op: &str, what: &str, i: usize, ob: &Bound<'_, PyAny>) -> PyErr {
    let what = if ob.is_none() {
        format!("{what} must not be null: entry {i} is None")
    } else {
        format!("entry {i} of {what} is a {}", type_name(ob))
    };
    bad_type(op, what, "pass a tensor")
}

#[inline]
fn callable(op: &str, what: &str, given: &Bound<'_, PyAny>) -> PyResult<()> {
    if given.is_callable() {
        return Ok(());
    }
    let what = format!("{what} is a {}, which cannot be called", type_name(given));
    Err(bad_type(op, what, "pass a function"))
}

/// The one tensor that a forward function must return.
fn single<'py>(op: &str, returned: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if as_tensor(&returned).is_some() || is_numpy(&returned)? {
        return Ok(returned);
    }
    if returned.is_none() {
        return Err(contract(format!(
            "Forward pass returned null: the forward_fn of {op} returned None; return a tensor"
        )));
    }
    let what = format!("forward_fn returned a {}", type_name(&returned));
    Err(bad_type(op, what, "return one tensor; use register_op for several outputs"))
}

/// Records `output`, which `forward` computes, as a function of `inputs`.
fn record<'py>(
    form: &Form,
    inputs: Sources<'py>,
    attrs: &Bound<'py, PyAny>,
    backward: &Bound<'py, PyAny>,
    forward: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = attrs.py();
    let callee = Callee::Op { backward: backward.clone().unbind(), attrs: attrs.clone().unbind() };
    let job = Job {
        form,
        arguments: Arguments {
            tensors: inputs.clone(),
            arrays: Arrays::new(),
            slots: (0..inputs.len() as u32).map(Tree::Tensor).collect(),
        },
        callee,
        // Its forward knows the inputs by other ways than arguments.
        again: None,
        strict: true,
    };
    let run = |context: &Bound<'py, FunctionContext>| {
        let output = single(&form.name, forward()?)?;
        let context = context.get();
        inputs
            .iter()
            .chain([&output])
            .try_for_each(|ob| context.wait("save_for_backward", ob, None).map(|_| ()))?;
        Ok(output)
    };
    let describe =
        || Ok((PyTuple::new(py, &inputs)?, Some(attrs.clone()).filter(|a| !a.is_none())));
    Call::new(py, &form.name, Inputs::Described(&describe)).intercept(|| job.run(py, run))
}

/// Computes one output with `forward_fn()` and records it as one node named after `owner`.
#[pyfunction]
pub(crate) fn _run<'py>(
    owner: &Bound<'py, PyType>,
    inputs: &Bound<'py, PyAny>,
    attrs: &Bound<'py, PyAny>,
    forward_fn: &Bound<'py, PyAny>,
    backward_fn: &Bound<'py, PyAny>,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let form = Form::of_owner(owner)?;
    let form = form.get();
    let inputs = sources(&form.name, "inputs", inputs)?;
    callable(&form.name, "forward_fn", forward_fn)?;
    callable(&form.name, "backward_fn", backward_fn)?;
    let output = record(form, inputs, attrs, backward_fn, || forward_fn.call0())?;
    if name.is_some() {
        let object = output.cast::<PyTensor>()?;
        object.get().tensor.set_name(name);
        remember(object)?;
    }
    Ok(output)
}

/// Runs `forward_fn(input)` unrecorded and records the whole as one node named after `owner`.
#[pyfunction]
pub(crate) fn _wrap_forward<'py>(
    owner: &Bound<'py, PyType>,
    input: &Bound<'py, PyAny>,
    forward_fn: &Bound<'py, PyAny>,
    inputs_fn: &Bound<'py, PyAny>,
    backward_fn: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let form = Form::of_owner(owner)?;
    let form = form.get();
    let op = &form.name;
    if as_tensor(input).is_none() {
        let what = if input.is_none() {
            "inputs must not be null: input is None".to_owned()
        } else {
            format!("input is a {}", type_name(input))
        };
        return Err(bad_type(op, what, "pass a tensor"));
    }
    callable(op, "forward_fn", forward_fn)?;
    callable(op, "inputs_fn", inputs_fn)?;
    callable(op, "backward_fn", backward_fn)?;
    let output = {
        let _off = ModeGuard::forward();
        forward_fn.call1((input,))?
    };
    let output = single(op, output)?;
    let inputs = sources(op, "the result of inputs_fn", &inputs_fn.call0()?)?;
    if !inputs.iter().any(|ob| ob.is(input)) {
        let what = "the result of inputs_fn does not contain the input";
        return Err(bad_value(op, what, "list the input first, then the parameters"));
    }
    let none = py.None().into_bound(py);
    record(form, inputs, &none, backward_fn, || Ok(output))
}
