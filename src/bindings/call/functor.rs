//! The functors of document 001 as Python calls them.
//!
//! Owns: conversion of their arguments, the output's name, and the attribute record as a dict.
//! Never checks an axis or a shape: `ops::product::functor` does.
//! Invariant: a call without a name and without observers costs no more than any operation.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::bindings::call::convert::tensor_of;
use crate::bindings::call::observe;
use crate::bindings::errors::{bad_type, bad_value};
use crate::bindings::tensor::{PyTensor, remember, run};
use crate::error::Result;
use crate::ops::elementwise::gelu::gelu_default;
use crate::ops::product::functor::{self, Attributes, Fiber, Gemm};
use crate::tensor::Tensor;

#[inline]
fn operand<'a>(op: &str, name: &str, ob: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, Tensor>> {
    if let Ok(tensor) = ob.cast::<PyTensor>() {
        return Ok(Cow::Borrowed(&tensor.get().tensor));
    }
    if ob.is_none() {
        return Err(bad_type(
            op,
            format!("inputs must not be null: {name} is None"),
            "pass a tensor",
        ));
    }
    tensor_of(op, name, ob).map(Cow::Owned)
}

fn count(op: &str, name: &str, given: isize) -> PyResult<usize> {
    usize::try_from(given)
        .map_err(|_| bad_value(op, format!("{name} is {given}"), "use 0 or more".to_owned()))
}

fn fiber(op: &str, axis: isize, batch_ndim: isize) -> PyResult<Fiber> {
    Ok(Fiber { axis: count(op, "axis", axis)?, batch_ndim: count(op, "batch_ndim", batch_ndim)? })
}

/// What every call needs beside its operands.
struct Call<'a, 'py> {
    op: &'static str,
    inputs: &'a [&'a Bound<'py, PyAny>],
    name: Option<&'a str>,
    attributes: Option<Attributes>,
}

impl<'py> Call<'_, 'py> {
    fn output(
        &self,
        py: Python<'py>,
        elements: usize,
        compute: impl FnOnce() -> Result<Tensor> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let out = match self.name {
            None => run(py, elements, compute)?,
            Some(name) => {
                let tensor = if elements > crate::bindings::call::dispatch::SMALL {
                    py.detach(compute)?
                } else {
                    compute()?
                };
                tensor.set_name(Some(name));
                let object = Bound::new(py, PyTensor::from(tensor))?;
                remember(&object)?;
                object.into_any()
            }
        };
        if observe::active() {
            let inputs = PyTuple::new(py, self.inputs)?;
            let attributes = self.attributes.map(|all| record(py, &all)).transpose()?;
            observe::note(py, self.op, &inputs, attributes.as_ref().map(Bound::as_any), &out)?;
        }
        Ok(out)
    }
}

/// `alpha x + beta y`.
#[pyfunction]
#[pyo3(signature = (alpha, x, beta, y, name=None))]
pub(crate) fn _add<'py>(
    alpha: f64,
    x: &Bound<'py, PyAny>,
    beta: f64,
    y: &Bound<'py, PyAny>,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let (a, b) = (operand("add", "x", x)?, operand("add", "y", y)?);
    let call = Call {
        op: "add",
        inputs: &[x, y],
        name,
        attributes: Some(Attributes::Add { alpha, beta }),
    };
    call.output(x.py(), a.size(), || functor::axpby(alpha, &a, beta, &b))
}

/// `alpha` times the contraction of `a` and `b`.
#[pyfunction]
#[pyo3(signature = (a, b, alpha=1.0, trans_a=false, trans_b=false, ndim=1, batch_ndim=0, name=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn _gemm<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    alpha: f64,
    trans_a: bool,
    trans_b: bool,
    ndim: isize,
    batch_ndim: isize,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, y) = (operand("gemm", "a", a)?, operand("gemm", "b", b)?);
    let (ndim, batch_ndim) =
        (count("gemm", "ndim", ndim)?, count("gemm", "batch_ndim", batch_ndim)?);
    let rule = Gemm { alpha, trans_a, trans_b, ndim, batch_ndim };
    let call = Call { op: "gemm", inputs: &[a, b], name, attributes: Some(Attributes::Gemm(rule)) };
    call.output(a.py(), x.size().saturating_mul(y.size()) / 64, || functor::gemm(&x, &y, rule))
}

/// `alpha` times a fiber, added to `beta` times a tensor.
#[pyfunction]
#[pyo3(signature = (alpha, fiber, beta, tensor, axis=0, batch_ndim=0, name=None))]
pub(crate) fn _add_fiber<'py>(
    alpha: f64,
    fiber: &Bound<'py, PyAny>,
    beta: f64,
    tensor: &Bound<'py, PyAny>,
    axis: isize,
    batch_ndim: isize,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let op = "add_fiber";
    let (f, t) = (operand(op, "fiber", fiber)?, operand(op, "tensor", tensor)?);
    let place = self::fiber(op, axis, batch_ndim)?;
    let attributes = Some(Attributes::AddFiber { alpha, beta, fiber: place });
    let call = Call { op, inputs: &[fiber, tensor], name, attributes };
    call.output(fiber.py(), t.size(), || functor::add_fiber(alpha, &f, beta, &t, place))
}

/// `alpha` times the sum over every axis but one and the trailing batch axes.
#[pyfunction]
#[pyo3(signature = (x, axis=0, batch_ndim=0, alpha=1.0, name=None))]
pub(crate) fn _sum_fiber<'py>(
    x: &Bound<'py, PyAny>,
    axis: isize,
    batch_ndim: isize,
    alpha: f64,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let op = "sum_fiber";
    let t = operand(op, "x", x)?;
    let place = fiber(op, axis, batch_ndim)?;
    let call = Call {
        op,
        inputs: &[x],
        name,
        attributes: Some(Attributes::SumFiber { alpha, fiber: place }),
    };
    call.output(x.py(), t.size(), || functor::sum_fiber(&t, place, alpha))
}

/// `x` times the normal distribution function.
#[pyfunction]
#[pyo3(signature = (x, name=None))]
pub(crate) fn _gelu<'py>(x: &Bound<'py, PyAny>, name: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let t = operand("gelu", "x", x)?;
    let call = Call { op: "gelu", inputs: &[x], name, attributes: None };
    call.output(x.py(), t.size(), || gelu_default(&t))
}

/// The attributes of a functor's node by name.
pub(crate) fn record<'py>(
    py: Python<'py>,
    attributes: &Attributes,
) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    let place = |fiber: &Fiber| -> PyResult<()> {
        named.set_item("axis", fiber.axis)?;
        named.set_item("batch_ndim", fiber.batch_ndim)
    };
    match attributes {
        Attributes::Add { alpha, beta } => {
            named.set_item("alpha", alpha)?;
            named.set_item("beta", beta)?;
        }
        Attributes::Gemm(rule) => {
            named.set_item("alpha", rule.alpha)?;
            named.set_item("trans_a", rule.trans_a)?;
            named.set_item("trans_b", rule.trans_b)?;
            named.set_item("ndim", rule.ndim)?;
            named.set_item("batch_ndim", rule.batch_ndim)?;
        }
        Attributes::AddFiber { alpha, beta, fiber } => {
            named.set_item("alpha", alpha)?;
            named.set_item("beta", beta)?;
            place(fiber)?;
        }
        Attributes::SumFiber { alpha, fiber } => {
            named.set_item("alpha", alpha)?;
            place(fiber)?;
        }
    }
    Ok(named)
}
