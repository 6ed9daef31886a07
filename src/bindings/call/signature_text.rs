//! Argument values as Python objects, for node attributes and defaults, and the signature line of each operation.
//!
//! Invariant: a value shown here converts back to the same argument.

use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyList, PyString, PyTuple};

use crate::bindings::interop::numpy;
use crate::bindings::object::wrap;
use crate::ops::core::op_decl::{Arg, Ints, Kind, Nested, OpDecl, Param, Returns, Scalar};

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

/// The Python value of an argument; None if it has none.
pub(crate) fn to_python_value<'py>(py: Python<'py>, arg: &Arg) -> PyResult<Bound<'py, PyAny>> {
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

/// The source text of a parameter's default; an optional parameter without a default has None.
pub(crate) fn default_text(py: Python<'_>, param: &Param) -> PyResult<Option<String>> {
    match param.default.map(|default| default()) {
        Some(Arg::Str(text)) => Ok(Some(format!("{text:?}"))),
        // Fast path for frequent defaults.
        Some(Arg::None) => Ok(Some("None".to_owned())),
        Some(Arg::Scalar(Scalar::Bool(true))) => Ok(Some("True".to_owned())),
        Some(Arg::Scalar(Scalar::Bool(false))) => Ok(Some("False".to_owned())),
        Some(Arg::Scalar(Scalar::Int(int))) => Ok(Some(int.to_string())),
        Some(value) => Ok(Some(to_python_value(py, &value)?.repr()?.to_cow()?.into_owned())),
        None => Ok(param.optional.then(|| "None".to_owned())),
    }
}

/// The signature line that `inspect` reads, then the documentation, of a function, a method or an in-place method.
pub(crate) fn documentation(
    py: Python<'_>,
    decl: &OpDecl,
    name: &str,
    method: bool,
    in_place: bool,
) -> PyResult<String> {
    let doc = decl.doc.trim();
    let mut text = String::with_capacity(doc.len() + 64 + 24 * decl.params.len());
    text.push_str(name);
    text.push('(');
    let mut by_name = false;
    for (i, param) in decl.params.iter().enumerate() {
        if i > 0 {
            text.push_str(", ");
        }
        if i > 0 && i == decl.positional() {
            by_name = true;
            text.push_str("*, ");
        }
        let variadic = param.kind == Kind::Variadic;
        by_name |= variadic;
        text.push_str(if variadic { "*" } else { "" });
        text.push_str(if method && i == 0 { "$self, /" } else { param.name });
        if i > 0
            && !variadic
            && let Some(default) = default_text(py, param)?
        {
            text.push('=');
            text.push_str(&default);
        }
    }
    if !in_place && decl.returns != Returns::Bool {
        let star = if by_name { "" } else { ", *" };
        let [before, after] =
            if decl.facts.named { [", name=None", ""] } else { ["", ", name=None"] };
        [before, star, ", out=None", after].iter().for_each(|part| text.push_str(part));
    }
    text.push_str(")\n--\n\n");
    text.push_str(doc);
    Ok(text)
}
