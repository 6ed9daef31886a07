//! One way into every registered operation: bind the arguments, call, wrap the result.
//!
//! Owns: the decision to release the GIL around large work, and the shape of what comes back. Never
//! knows a single operation's meaning.
//! Invariant: small calls keep the GIL; a call is released only when its operands are large.

use std::collections::HashMap;
use std::sync::LazyLock;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::bind::{Args, bind};
use crate::bindings::call::{attributes, observe};
use crate::bindings::errors::{bad_type, python};
use crate::bindings::tensor::{PyTensor, wrap, wrap_of};
use crate::error::Result;
use crate::ops::change::inplace;
use crate::ops::core::declare::{Arg, OpDecl, Output};
use crate::ops::derive::backward::admit_saved;
use crate::ops::registry;
use crate::tensor::Tensor;

/// Operands that together hold more bytes than this are worth 50 ns to release the GIL.
const DETACH_BYTES: usize = 64 << 10;
/// A tensor of at most this many elements is small whatever its dtype.
pub(crate) const SMALL: usize = DETACH_BYTES / 8;

/// Positional arguments.
pub(crate) type Positional<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;
/// Keyword arguments.
pub(crate) type Keywords<'py> = SmallVec<[(Bound<'py, PyString>, Bound<'py, PyAny>); 2]>;

static BY_NAME: LazyLock<HashMap<&'static str, &'static OpDecl>> = LazyLock::new(|| {
    let top = registry().iter().filter(|decl| decl.is_top_level());
    top.map(|decl| (decl.name, *decl)).collect()
});

/// The declaration with this name.
pub(crate) fn find(name: &str) -> Option<&'static OpDecl> {
    BY_NAME.get(name).copied()
}

/// Calls an operation that the bindings themselves need.
pub(crate) fn by_name(name: &'static str, args: &mut [Arg]) -> PyResult<Output> {
    match find(name) {
        Some(decl) => python((decl.call)(args)),
        None => Err(bad_type(name, "the operation does not exist", "report this")),
    }
}

/// The same for one tensor in and one out.
pub(crate) fn tensor_by_name(name: &'static str, args: &mut [Arg]) -> PyResult<Tensor> {
    match by_name(name, args)? {
        Output::Tensor(tensor) => Ok(tensor),
        _ => Err(bad_type(name, "the result is no tensor", "report this")),
    }
}

/// Binds, converts, calls and wraps.
pub(crate) fn call<'py>(
    py: Python<'py>,
    decl: &'static OpDecl,
    positional: &[Bound<'py, PyAny>],
    keywords: &[(Bound<'py, PyString>, Bound<'py, PyAny>)],
) -> PyResult<Bound<'py, PyAny>> {
    let mut args = Args::new();
    let asked = bind(decl, positional, keywords, &mut args)?;
    let pending = attributes::before(decl, &args);
    let inference = args.iter().any(|arg| matches!(arg, Arg::Tensor(t) if t.is_inference()));
    let output = if inference {
        admit_saved(decl.name, || (decl.call)(&mut args))
    } else if weight(&args) > DETACH_BYTES {
        py.detach(|| (decl.call)(&mut args))
    } else {
        (decl.call)(&mut args)
    };
    let source = positional.first().and_then(|ob| ob.cast::<PyTensor>().ok());
    let output = polish(decl, output)?;
    if let Some(call) = pending {
        call.made(&output);
    }
    let mut result = wrap_output(py, output, source)?;
    if !asked.is_empty() {
        result = asked.answer(decl, result)?;
    }
    if observe::active() {
        observe::dispatched(py, decl, positional, keywords, &result)?;
    }
    Ok(result)
}

/// The same in place: what the operation returns takes the place of the receiver's elements.
pub(crate) fn change<'py>(
    py: Python<'py>,
    decl: &'static OpDecl,
    positional: &[Bound<'py, PyAny>],
    keywords: &[(Bound<'py, PyString>, Bound<'py, PyAny>)],
) -> PyResult<Bound<'py, PyAny>> {
    let mut args = Args::new();
    bind(decl, positional, keywords, &mut args)?.refuse(decl)?;
    let name = decl.in_place.unwrap_or(decl.name);
    let output = if weight(&args) > DETACH_BYTES {
        py.detach(|| inplace::apply(decl, name, &mut args))
    } else {
        inplace::apply(decl, name, &mut args)
    };
    polish(decl, output)?;
    let receiver = positional[0].clone();
    if let Ok(receiver) = receiver.cast::<PyTensor>() {
        receiver.get().written();
    }
    if observe::active() {
        observe::dispatched(py, decl, positional, keywords, &receiver)?;
    }
    Ok(receiver)
}

/// Lets a message that cannot know its operation name it.
fn polish<T>(decl: &OpDecl, result: Result<T>) -> PyResult<T> {
    use crate::error::Error;
    python(result.map_err(|mut error| {
        if let Error::ArgumentType { op, .. } = &mut *error
            && op == "arguments"
        {
            *op = decl.name.into();
        }
        error
    }))
}

fn weight(args: &[Arg]) -> usize {
    let bytes = |t: &Tensor| t.size() * t.dtype().size();
    args.iter()
        .map(|arg| match arg {
            Arg::Tensor(tensor) => bytes(tensor),
            Arg::Tensors(tensors) => tensors.iter().map(bytes).sum(),
            _ => 0,
        })
        .sum()
}

/// What an operation returned, as Python objects; `source` is what parts of it may be views of.
pub(crate) fn wrap_output<'py>(
    py: Python<'py>,
    output: Output,
    source: Option<&Bound<'py, PyTensor>>,
) -> PyResult<Bound<'py, PyAny>> {
    let one = |tensor| match source {
        Some(source) => wrap_of(source, tensor),
        None => wrap(py, tensor),
    };
    let all = |parts: Vec<Tensor>| parts.into_iter().map(one).collect::<PyResult<Vec<_>>>();
    match output {
        Output::Tensor(tensor) => one(tensor),
        Output::Bool(flag) => Ok(PyBool::new(py, flag).to_owned().into_any()),
        Output::Tuple(parts) => Ok(PyTuple::new(py, all(parts)?)?.into_any()),
        Output::List(parts) => Ok(PyList::new(py, all(parts)?)?.into_any()),
    }
}
