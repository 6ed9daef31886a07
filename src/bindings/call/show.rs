//! Arguments of operations as Python values: for defaults in signatures and attributes of nodes.
//!
//! Owns: this one conversion, the inverse of that in `bind`. Never computes.
//! Invariant: what is shown converts back to the argument it was made from.

use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyList, PyString, PyTuple};

use crate::bindings::exchange::numpy;
use crate::bindings::object::wrap;
use crate::ops::core::declare::{Arg, Ints, Nested, Param, Scalar};

/// A number as Python's.
fn number<'py>(py: Python<'py>, scalar: Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match scalar {
        Scalar::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Scalar::Int(int) => int.into_pyobject(py)?.into_any(),
        Scalar::Unsigned(int) => int.into_pyobject(py)?.into_any(),
        Scalar::Float(float) | Scalar::Huge(float) => float.into_pyobject(py)?.into_any(),
        Scalar::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any(),
    })
}

fn tuple<'py>(py: Python<'py>, ints: &Ints) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyTuple::new(py, ints.iter())?.into_any())
}

/// The Python value of an argument; None for what Python cannot be shown.
pub(crate) fn value_of<'py>(py: Python<'py>, arg: &Arg) -> PyResult<Bound<'py, PyAny>> {
    match arg {
        Arg::Missing | Arg::None | Arg::Index(_) => Ok(py.None().into_bound(py)),
        Arg::Tensor(tensor) => wrap(py, tensor.clone()),
        Arg::Scalar(scalar) => number(py, *scalar),
        Arg::Ints(ints) => tuple(py, ints),
        Arg::Nested(Nested::One(int)) => number(py, Scalar::Int(*int)),
        Arg::Nested(Nested::Each(lists)) => {
            let lists = lists.iter().map(|ints| tuple(py, ints)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyTuple::new(py, lists)?.into_any())
        }
        Arg::Tensors(tensors) => {
            let all = tensors.iter().map(|x| wrap(py, x.clone())).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, all)?.into_any())
        }
        Arg::Str(text) => Ok(PyString::new(py, text).into_any()),
        Arg::DType(dtype) => Ok(numpy::descr(py, *dtype).into_any()),
    }
}

/// The default of a parameter as Python spells it; an optional one without another has None.
pub(crate) fn default_text(py: Python<'_>, param: &Param) -> PyResult<Option<String>> {
    match param.default.map(|default| default()) {
        Some(Arg::Str(text)) => Ok(Some(format!("{text:?}"))),
        Some(value) => Ok(Some(value_of(py, &value)?.repr()?.to_cow()?.into_owned())),
        None => Ok(param.optional.then(|| "None".to_owned())),
    }
}
