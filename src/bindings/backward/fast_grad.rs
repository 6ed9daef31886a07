//! The short way of `grad`, `value_and_grad` and `jvp`: one float, float array or float tensor, outside every
//! other transform.
//!
//! Owns: the argument as a tensor of its own, the mode around the call, the pull of a scalar result and the push of a tangent.
//! Never says what is wrong with a call: what is not of this sort is left to the package.
//! Invariant: the thread's mode is back when the function has returned or raised.

use ::numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString, PyTuple};
use smallvec::smallvec;

use crate::bindings::backward::depends_on::depends_on_others;
use crate::bindings::backward::ended_transforms;
use crate::bindings::backward::ended_transforms::leads_there;
use crate::bindings::backward::engine_host::run_pass;
use crate::bindings::backward::transform_arguments::ActiveArgument;
use crate::bindings::call::thread_state::room;
use crate::bindings::errors::python;
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, item, leaf, wrap};
use crate::graph::{GRAD, INFERENCE, Mode, ModeGuard, TRACING, TRANSFORM};
use crate::ops::autograd::backward::{Endpoint, GradOptions, grad_at};
use crate::ops::elementwise::arithmetic::conjugate;
use crate::tensor::Tensor;

/// What an argument is, and its derivative will be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tensor,
    Array,
    Float,
}

impl Kind {
    /// The number that `transforms/_conversion.py` gives this kind.
    fn number(self) -> u8 {
        match self {
            Kind::Tensor => 0,
            Kind::Array => 1,
            Kind::Float => 3,
        }
    }
}

impl FromPyObject<'_, '_> for Kind {
    type Error = PyErr;

    fn extract(number: pyo3::Borrowed<'_, '_, PyAny>) -> PyResult<Kind> {
        Ok(match number.extract::<u8>()? {
            0 => Kind::Tensor,
            3 => Kind::Float,
            _ => Kind::Array,
        })
    }
}

/// A copy of a Python float or of an array of float64 or float32; None for anything else.
fn argument(x: &Bound<'_, PyAny>) -> PyResult<Option<(Tensor, Kind)>> {
    if let Ok(number) = x.cast_exact::<PyFloat>() {
        return Ok(Some((Tensor::from(number.value()), Kind::Float)));
    }
    let Ok(array) = x.cast_exact::<PyUntypedArray>() else {
        return Ok(None);
    };
    let descr = array.dtype();
    let found = numpy::dtype_of_code(descr.kind(), descr.itemsize());
    let Some(dtype) = found.filter(|dtype| dtype.is_float()) else {
        return Ok(None);
    };
    Ok(Some((numpy::copy("tensor", array, dtype)?.into_memory(), Kind::Array)))
}

/// A tensor of its own for the argument: computed from a tensor that is recorded in this mode, a leaf otherwise. None for
/// what is no float, and for a tensor where operations are observed: the copy would not be.
fn entered<'py>(
    x: &Bound<'py, PyAny>,
    before: Mode,
) -> PyResult<Option<(Bound<'py, PyTensor>, Kind)>> {
    let py = x.py();
    let Ok(tensor) = x.cast::<PyTensor>() else {
        let made = argument(x)?;
        return made.map(|(made, kind)| Ok((leaf(py, made)?, kind))).transpose();
    };
    let tensor = &tensor.get().tensor;
    if !tensor.dtype().is_inexact() || before.has(TRACING) {
        return Ok(None);
    }
    if tensor.requires_grad() && before.has(GRAD) {
        let copy = wrap(py, tensor.copied("clone")?.with_kind_of(tensor))?;
        return Ok(Some((copy.cast_into()?, Kind::Tensor)));
    }
    let copy = tensor.detach().copied("clone")?.with_kind_of(tensor);
    Ok(Some((leaf(py, copy)?, Kind::Tensor)))
}

/// Calls `function` with a tensor for the argument at `position`. None, and nothing has happened, when that argument is
/// no float and no array or tensor of floats, or when a transform or inference mode surrounds the call. Otherwise a pair of
/// what was found and that: `"trace"` with the mode before, the tensor, its kind, and what the function returned; and with
/// `valued`, where there is a short way, `"result"` with the gradient, or the value and the gradient, or `"error"` with the
/// one that was raised on that way.
#[pyfunction]
#[pyo3(signature = (function, position, args, kwargs, valued=None))]
pub(crate) fn _traced_call<'py>(
    function: &Bound<'py, PyAny>,
    position: isize,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
    valued: Option<bool>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    room("grad")?;
    let before = Mode::current();
    let place = usize::try_from(position).ok().filter(|place| *place < args.len());
    let Some(place) = place.filter(|_| before.0 & (TRANSFORM | INFERENCE) == 0) else {
        return Ok(None);
    };
    let Some((x, kind)) = entered(&args.get_item(place)?, before)? else {
        return Ok(None);
    };
    let result = called(function, before, (&x, place), args, kwargs)?;
    let py = function.py();
    if let Some(valued) = valued {
        match short_gradient(before, &result, &x, kind, valued) {
            Ok(None) => {}
            Ok(Some((value, slope, attached))) => {
                if !attached {
                    let_go(result, x);
                }
                let given = match value {
                    None => slope,
                    Some(value) => PyTuple::new(py, [value, slope])?.into_any(),
                };
                return found(pyo3::intern!(py, "result"), given);
            }
            Err(error) => {
                return found(
                    pyo3::intern!(py, "error"),
                    error.into_value(py).into_bound(py).into_any(),
                );
            }
        }
    }
    found(
        pyo3::intern!(py, "trace"),
        (before.0, x, kind.number(), result).into_pyobject(py)?.into_any(),
    )
}

/// What the function returns for the tensor in the place of its argument, recorded as part of a transform.
fn called<'py>(
    function: &Bound<'py, PyAny>,
    before: Mode,
    (x, place): (&Bound<'py, PyTensor>, usize),
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let _mode = ModeGuard::new(Mode(before.0 | GRAD | TRANSFORM));
    let _handed = ActiveArgument::new(x);
    if args.len() == 1 && kwargs.is_empty() {
        return function.call1((x,));
    }
    let mut all: Vec<Bound<'py, PyAny>> = args.iter().collect();
    all[place] = x.clone().into_any();
    function.call(PyTuple::new(function.py(), all)?, Some(kwargs))
}

/// Ends a call whose derivatives have no history.
fn let_go(result: Bound<'_, PyAny>, x: Bound<'_, PyTensor>) {
    let argument = ended_transforms::argument(&x.get().tensor);
    drop((result, x));
    argument.into_iter().for_each(ended_transforms::end);
}

/// What a traced call found, by its name.
fn found<'py>(
    name: &Bound<'py, PyString>,
    which: Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    PyTuple::new(name.py(), [name.as_any().clone(), which]).map(Some)
}

/// The result, if it is a recorded tensor, and the argument is what it was.
fn recorded<'r>(result: &'r Bound<'_, PyAny>, x: &Tensor) -> Option<&'r Tensor> {
    let out = &result.cast_exact::<PyTensor>().ok()?.get().tensor;
    (out.requires_grad() && x.version() == 0).then_some(out)
}

/// The gradient of `out`, weighted by `seed`, by `x`; recorded for another pull if `again`.
fn pulled(
    py: Python<'_>,
    out: &Tensor,
    x: &Tensor,
    seed: Option<Tensor>,
    again: bool,
) -> PyResult<Option<Tensor>> {
    let (root, wanted) = (Endpoint::root("grad", out)?, [Endpoint::target("grad", 0, x)?]);
    let found = run_pass(py, "grad", |host| {
        let options =
            GradOptions { allow_unused: true, create_graph: again, ..GradOptions::default() };
        grad_at(smallvec![root], &wanted, &[seed], &options, host)
    })?;
    Ok(found.into_iter().next().flatten())
}

/// The value, if it is asked for, the derivative, and whether they have a history.
type Pulled<'py> = (Option<Bound<'py, PyAny>>, Bound<'py, PyAny>, bool);

/// The value, if it is wanted, and the gradient of a scalar result of `_traced_call`, in the kind of the argument;
/// recorded where a tensor among what they depend on is the caller's. None when the result is no recorded scalar, does
/// not depend on the argument or depends on that of a call which has ended, or the argument was changed.
fn short_gradient<'py>(
    before: Mode,
    result: &Bound<'py, PyAny>,
    x: &Bound<'py, PyTensor>,
    kind: Kind,
    valued: bool,
) -> PyResult<Option<Pulled<'py>>> {
    let (py, x) = (x.py(), &x.get().tensor);
    let real = |out: &&Tensor| out.ndim() == 0 && !out.dtype().is_complex();
    let Some(out) = recorded(result, x).filter(real).filter(|out| !leads_there(&[out])) else {
        return Ok(None);
    };
    let attached = kind == Kind::Tensor
        && before.has(GRAD)
        && (!x.is_leaf() || depends_on_others(&[out], &[x]));
    let Some(slope) = pulled(py, out, x, None, attached)? else {
        return Ok(None);
    };
    // The engine's gradient is the conjugate of what a transform gives.
    let slope = if slope.dtype().is_complex() { python(conjugate(&slope))? } else { slope };
    let value = match (valued, kind) {
        (false, _) => None,
        (true, Kind::Float) => Some(item(py, out)?),
        (true, Kind::Array) => Some(numpy::scalar(py, out)?),
        (true, Kind::Tensor) if attached => Some(result.clone()),
        (true, Kind::Tensor) => Some(wrap(py, out.detached())?),
    };
    let slope = match kind {
        Kind::Float => item(py, &slope)?,
        Kind::Array => numpy::export(py, &slope, true)?,
        Kind::Tensor => wrap(py, slope)?,
    };
    Ok(Some((value, slope, attached)))
}

/// The value of a result of `_traced_call` and its change along a tangent, as floats or arrays: two pulls, the second of
/// the first. None when the result is no recorded tensor, does not depend on the argument, or the tangent is not of the
/// argument's kind, shape and dtype.
#[pyfunction]
pub(crate) fn _short_push<'py>(
    result: &Bound<'py, PyAny>,
    x: &Bound<'py, PyTensor>,
    kind: Kind,
    tangent: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let (py, x) = (x.py(), &x.get().tensor);
    let out = recorded(result, x).filter(|out| !leads_there(&[out]));
    let (Some(out), Some((tangent, given))) = (out, argument(tangent)?) else {
        return Ok(None);
    };
    if given != kind || tangent.shape() != x.shape() || tangent.dtype() != x.dtype() {
        return Ok(None);
    }
    let seed = Tensor::zeros(out.shape(), out.dtype())?.with_grad();
    let slope = pulled(py, out, x, Some(seed.clone()), true)?;
    let Some(slope) = slope.filter(Tensor::requires_grad) else {
        return Ok(None);
    };
    let Some(change) = pulled(py, &slope, &seed, Some(tangent), false)? else {
        return Ok(None);
    };
    let plain = |found: &Tensor, owned: bool| match (found.ndim(), kind) {
        (0, Kind::Float) => item(py, found),
        (0, _) => numpy::scalar(py, found),
        _ if owned => numpy::export(py, found, true),
        _ => numpy::fresh(py, found),
    };
    Ok(Some((plain(out, false)?, plain(&change, true)?)))
}
