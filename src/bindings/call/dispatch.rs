//! General path of a call: binds the arguments, runs the operation through `Call::intercept`, wraps the result.

use std::collections::HashMap;
use std::sync::LazyLock;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::bind::{Args, bind};
use crate::bindings::call::intercept::{Call, Inputs, Keyword};
use crate::bindings::call::node_attributes;
use crate::bindings::call::numpy_arguments;
use crate::bindings::object::{PyTensor, wrap, wrap_result_of};
use crate::bindings::package::NAMED_TUPLE;
use crate::error::Error;
use crate::ops::core::op_decl::{Arg, OpDecl, Output};
use crate::ops::inplace::methods;
use crate::ops::inplace::out::compute_into;
use crate::ops::registry;
use crate::tensor::Tensor;

/// Positional arguments.
pub(crate) type Positional<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;
/// Keyword arguments.
pub(crate) type Keywords<'py> = SmallVec<[Keyword<'py>; 2]>;

static BY_NAME: LazyLock<HashMap<&'static str, &'static OpDecl>> = LazyLock::new(|| {
    let top = registry().iter().filter(|decl| decl.is_top_level());
    top.map(|decl| (decl.name, *decl)).collect()
});

pub(crate) fn find(name: &str) -> Option<&'static OpDecl> {
    BY_NAME.get(name).copied()
}

/// Binds and converts the arguments, calls the operation and wraps the result.
pub(crate) fn call<'py>(
    py: Python<'py>,
    decl: &'static OpDecl,
    positional: &[Bound<'py, PyAny>],
    keywords: &[Keyword<'py>],
) -> PyResult<Bound<'py, PyAny>> {
    let mut args = Args::new();
    let options = match bind(decl, positional, keywords, &mut args) {
        Ok(options) => options,
        Err(error) => {
            let folded = numpy_arguments::call_numpy_reduction(py, decl, positional, keywords);
            return folded.unwrap_or(Err(error));
        }
    };
    let pending = node_attributes::capture_call(decl, &args);
    let source = positional.first().and_then(|ob| ob.cast::<PyTensor>().ok());
    let (elements, target) = (element_count(&args), options.target());
    let place = target.as_ref().map(|target| target.get().tensor.clone());
    let object = |output| {
        let Some(output) = output else {
            return Ok(target.map_or_else(|| py.None().into_bound(py), Bound::into_any));
        };
        if let Some(call) = pending {
            call.attach_to(&output);
        }
        let result = wrap_output(py, decl, output, source)?;
        if options.is_empty() { Ok(result) } else { options.apply(decl, result) }
    };
    let compute = || {
        if let Some(place) = &place
            && compute_into(decl, &args, place)?
        {
            return Ok(None);
        }
        (decl.call)(&mut args).map(Some).map_err(|error| with_op_name(decl, error))
    };
    Call::new(py, decl.name, Inputs::Declared(decl, positional, keywords))
        .run(elements, compute, object)
}

/// Calls the in-place variant: the result is written to the receiver.
pub(crate) fn call_in_place<'py>(
    py: Python<'py>,
    decl: &'static OpDecl,
    positional: &[Bound<'py, PyAny>],
    keywords: &[Keyword<'py>],
) -> PyResult<Bound<'py, PyAny>> {
    let mut args = Args::new();
    bind(decl, positional, keywords, &mut args)?.refuse(decl)?;
    let name = decl.in_place.unwrap_or(decl.name);
    let call = Call::new(py, decl.name, Inputs::Declared(decl, positional, keywords));
    call.run_in_place(&positional[0], element_count(&args), || {
        methods::apply(decl, name, &mut args).map_err(|error| with_op_name(decl, error))
    })
}

/// Puts the operation's name into an error message that could not know it.
#[cold]
fn with_op_name(decl: &OpDecl, mut error: Box<Error>) -> Box<Error> {
    if let Error::ArgumentType { op, .. } = &mut *error
        && op == "arguments"
    {
        *op = decl.name.into();
    }
    error
}

/// The number of input elements, which decides whether to release the GIL.
fn element_count(args: &[Arg]) -> usize {
    args.iter()
        .map(|arg| match arg {
            Arg::Tensor(tensor) => tensor.size(),
            Arg::Tensors(tensors) => tensors.iter().map(Tensor::size).sum(),
            _ => 0,
        })
        .sum()
}

/// Wraps what an operation returned as Python objects; results may be views of `source`.
pub(crate) fn wrap_output<'py>(
    py: Python<'py>,
    decl: &OpDecl,
    output: Output,
    source: Option<&Bound<'py, PyTensor>>,
) -> PyResult<Bound<'py, PyAny>> {
    let one = |tensor: Tensor| {
        let tensor = if decl.facts.memory { tensor.into_memory() } else { tensor };
        match source {
            Some(source) => wrap_result_of(source, tensor),
            None => wrap(py, tensor),
        }
    };
    let all = |parts: Vec<Tensor>| parts.into_iter().map(one).collect::<PyResult<Vec<_>>>();
    match output {
        Output::Tensor(tensor) => one(tensor),
        Output::Bool(flag) => Ok(PyBool::new(py, flag).to_owned().into_any()),
        Output::Tuple(parts) => {
            let parts = PyTuple::new(py, all(parts)?)?;
            match decl.facts.fields {
                Some(fields) => named_tuple(decl.name, fields, parts),
                None => Ok(parts.into_any()),
            }
        }
        Output::List(parts) => Ok(PyList::new(py, all(parts)?)?.into_any()),
    }
}

/// A named tuple of results.
fn named_tuple<'py>(
    name: &str,
    fields: &str,
    parts: Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    NAMED_TUPLE.get(parts.py())?.call1((name, fields, parts))
}
