//! `run` and `wrap_forward` of `ferrograd.functors`: an operation from a forward and a backward function, without a
//! class.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};
use smallvec::SmallVec;

use crate::bindings::call::intercept::{Call, Inputs};
use crate::bindings::call::sequence::{MAX_ITEMS, elements};
use crate::bindings::custom_op::arguments::Arguments;
use crate::bindings::custom_op::call::CustomCall;
use crate::bindings::custom_op::class_info::ClassInfo;
use crate::bindings::custom_op::context::{Arrays, FunctionContext};
use crate::bindings::custom_op::outputs::{as_tensor, contract_error, is_numpy};
use crate::bindings::custom_op::python_rule::Callee;
use crate::bindings::custom_op::tensor_slots::{Slot, SlotTree};
use crate::bindings::errors::{bad_type, bad_value, type_name};
use crate::bindings::object::{PyTensor, set_identity};
use crate::graph::ModeGuard;

type TensorObjects<'py> = SmallVec<[Bound<'py, PyAny>; 3]>;

/// Reads a sequence of tensors; an error names the entry that is none.
fn tensor_objects<'py>(
    op: &str,
    what: &str,
    given: &Bound<'py, PyAny>,
) -> PyResult<TensorObjects<'py>> {
    if given.is_none() {
        let what = format!("{what} must not be null");
        return Err(bad_type(op, what, "pass a sequence of tensors"));
    }
    let found: TensorObjects<'py> = if let Ok(list) = given.cast::<PyList>() {
        list.iter().collect()
    } else if as_tensor(given).is_some() {
        TensorObjects::from_iter([given.clone()])
    } else {
        elements(op, what, given, MAX_ITEMS)?.collect::<PyResult<_>>()?
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
fn check_callable(op: &str, what: &str, given: &Bound<'_, PyAny>) -> PyResult<()> {
    if given.is_callable() {
        return Ok(());
    }
    let what = format!("{what} is a {}, which cannot be called", type_name(given));
    Err(bad_type(op, what, "pass a function"))
}

/// Checks that a forward function returned one tensor.
fn check_single_tensor<'py>(op: &str, returned: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if as_tensor(&returned).is_some() || is_numpy(&returned)? {
        return Ok(returned);
    }
    if returned.is_none() {
        return Err(contract_error(format!(
            "Forward pass returned null: the forward_fn of {op} returned None; return a tensor"
        )));
    }
    let what = format!("forward_fn returned a {}", type_name(&returned));
    Err(bad_type(op, what, "return one tensor; use register_op for several outputs"))
}

/// Records the output of `forward` as a function of `inputs`.
fn record_functor<'py>(
    info: &ClassInfo,
    inputs: TensorObjects<'py>,
    attrs: &Bound<'py, PyAny>,
    backward: &Bound<'py, PyAny>,
    forward: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = attrs.py();
    let callee = Callee::Op { backward: backward.clone().unbind(), attrs: attrs.clone().unbind() };
    let custom_call = CustomCall {
        info,
        arguments: Arguments {
            tensors: inputs.clone(),
            arrays: Arrays::new(),
            slots: (0..inputs.len() as u32).map(|i| SlotTree::Leaf(Slot::Tensor(i))).collect(),
        },
        callee,
        // Forward gets its inputs from a closure, so the call cannot be repeated with other arguments.
        replay: None,
        custom_function_rules: true,
    };
    let run = |context: &Bound<'py, FunctionContext>| {
        let output = check_single_tensor(&info.name, forward()?)?;
        let context = context.get();
        inputs
            .iter()
            .chain([&output])
            .try_for_each(|ob| context.stage_tensor("save_for_backward", ob, None).map(|_| ()))?;
        Ok(output)
    };
    let describe =
        || Ok((PyTuple::new(py, &inputs)?, Some(attrs.clone()).filter(|a| !a.is_none())));
    Call::new(py, &info.name, Inputs::Described(&describe)).intercept(|| custom_call.run(py, run))
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
    let info = ClassInfo::of_functor(owner)?;
    let info = info.get();
    let inputs = tensor_objects(&info.name, "inputs", inputs)?;
    check_callable(&info.name, "forward_fn", forward_fn)?;
    check_callable(&info.name, "backward_fn", backward_fn)?;
    let output = record_functor(info, inputs, attrs, backward_fn, || forward_fn.call0())?;
    if name.is_some() {
        let object = output.cast::<PyTensor>()?;
        object.get().tensor.set_name(name);
        set_identity(object)?;
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
    let info = ClassInfo::of_functor(owner)?;
    let info = info.get();
    let op = &info.name;
    if as_tensor(input).is_none() {
        let what = if input.is_none() {
            "inputs must not be null: input is None".to_owned()
        } else {
            format!("input is a {}", type_name(input))
        };
        return Err(bad_type(op, what, "pass a tensor"));
    }
    check_callable(op, "forward_fn", forward_fn)?;
    check_callable(op, "inputs_fn", inputs_fn)?;
    check_callable(op, "backward_fn", backward_fn)?;
    let output = {
        let _off = ModeGuard::forward();
        forward_fn.call1((input,))?
    };
    let output = check_single_tensor(op, output)?;
    let inputs = tensor_objects(op, "the result of inputs_fn", &inputs_fn.call0()?)?;
    if !inputs.iter().any(|ob| ob.is(input)) {
        let what = "the result of inputs_fn does not contain the input";
        return Err(bad_value(op, what, "list the input first, then the parameters"));
    }
    let none = py.None().into_bound(py);
    record_functor(info, inputs, &none, backward_fn, || Ok(output))
}
