//! Fast path of `grad`, `value_and_grad` and `jvp`: one float, float array or float tensor argument, outside every
//! other transform. Everything else is left to the Python implementation, which also raises the errors.

use ::numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString, PyTuple};
use smallvec::smallvec;

use crate::bindings::backward::depends_on::depends_on_others;
use crate::bindings::backward::ended_transforms;
use crate::bindings::backward::ended_transforms::depends_on_ended;
use crate::bindings::backward::engine_host::run_pass;
use crate::bindings::backward::transform_arguments::ActiveArgument;
use crate::bindings::call::thread_state::check_stack;
use crate::bindings::errors::to_py_result;
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, item_to_python, new_leaf, wrap};
use crate::graph::{GRAD, INFERENCE, Mode, ModeGuard, TRACING, TRANSFORM};
use crate::ops::autograd::backward::{Endpoint, GradOptions, grad_at};
use crate::ops::elementwise::arithmetic::conjugate;
use crate::tensor::Tensor;

/// The kind of an argument, which its derivative gets as well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    Tensor,
    Array,
    Float,
}

impl ArgumentKind {
    /// The number that `transforms/_conversion.py` gives this kind.
    fn number(self) -> u8 {
        match self {
            ArgumentKind::Tensor => 0,
            ArgumentKind::Array => 1,
            ArgumentKind::Float => 3,
        }
    }
}

impl FromPyObject<'_, '_> for ArgumentKind {
    type Error = PyErr;

    fn extract(number: pyo3::Borrowed<'_, '_, PyAny>) -> PyResult<ArgumentKind> {
        Ok(match number.extract::<u8>()? {
            0 => ArgumentKind::Tensor,
            3 => ArgumentKind::Float,
            _ => ArgumentKind::Array,
        })
    }
}

/// Copies a Python float or a float32 or float64 array into a tensor; None for any other object.
fn argument(x: &Bound<'_, PyAny>) -> PyResult<Option<(Tensor, ArgumentKind)>> {
    if let Ok(number) = x.cast_exact::<PyFloat>() {
        return Ok(Some((Tensor::from(number.value()), ArgumentKind::Float)));
    }
    let Ok(array) = x.cast_exact::<PyUntypedArray>() else {
        return Ok(None);
    };
    let descr = array.dtype();
    let dtype = numpy::dtype_of_code(descr.kind(), descr.itemsize());
    let Some(dtype) = dtype.filter(|dtype| dtype.is_float()) else {
        return Ok(None);
    };
    Ok(Some((numpy::copy("tensor", array, dtype)?.into_memory(), ArgumentKind::Array)))
}

/// The tensor that stands for the argument: a recorded copy of a tensor with history, a new leaf otherwise. None for a
/// value that is no float, and for a tensor while operations are observed, since the copy would not be.
fn recorded_argument<'py>(
    x: &Bound<'py, PyAny>,
    before: Mode,
) -> PyResult<Option<(Bound<'py, PyTensor>, ArgumentKind)>> {
    let py = x.py();
    let Ok(tensor) = x.cast::<PyTensor>() else {
        let made = argument(x)?;
        return made.map(|(made, kind)| Ok((new_leaf(py, made)?, kind))).transpose();
    };
    let tensor = &tensor.get().tensor;
    if !tensor.dtype().is_inexact() || before.has(TRACING) {
        return Ok(None);
    }
    if tensor.requires_grad() && before.has(GRAD) {
        let copy = wrap(py, tensor.copied("clone")?.with_kind_of(tensor))?;
        return Ok(Some((copy.cast_into()?, ArgumentKind::Tensor)));
    }
    let copy = tensor.detach().copied("clone")?.with_kind_of(tensor);
    Ok(Some((new_leaf(py, copy)?, ArgumentKind::Tensor)))
}

/// Calls `function` with a tensor that records for the argument at `position`. None, without side effects, if that argument
/// is no float and no array or tensor of floats, or inside another transform or inference mode. Otherwise a tag and its
/// payload: `"trace"` with the mode before, the tensor, its kind, and what the function returned; with `valued`, if the
/// fast path applies, `"result"` with the gradient, or the value and the gradient, or `"error"` with the exception that
/// the fast path raised.
#[pyfunction]
#[pyo3(signature = (function, position, args, kwargs, valued=None))]
pub(crate) fn _traced_call<'py>(
    function: &Bound<'py, PyAny>,
    position: isize,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
    valued: Option<bool>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    check_stack("grad")?;
    let before = Mode::current();
    let place = usize::try_from(position).ok().filter(|place| *place < args.len());
    let Some(place) = place.filter(|_| before.0 & (TRANSFORM | INFERENCE) == 0) else {
        return Ok(None);
    };
    let Some((x, kind)) = recorded_argument(&args.get_item(place)?, before)? else {
        return Ok(None);
    };
    let result = call_recorded(function, before, (&x, place), args, kwargs)?;
    let py = function.py();
    if let Some(valued) = valued {
        match fast_value_and_grad(before, &result, &x, kind, valued) {
            Ok(None) => {}
            Ok(Some((value, slope, attached))) => {
                if !attached {
                    drop_graph(result, x);
                }
                let given = match value {
                    None => slope,
                    Some(value) => PyTuple::new(py, [value, slope])?.into_any(),
                };
                return tagged(pyo3::intern!(py, "result"), given);
            }
            Err(error) => {
                return tagged(
                    pyo3::intern!(py, "error"),
                    error.into_value(py).into_bound(py).into_any(),
                );
            }
        }
    }
    tagged(
        pyo3::intern!(py, "trace"),
        (before.0, x, kind.number(), result).into_pyobject(py)?.into_any(),
    )
}

/// Calls the function with the tensor in place of its argument, with recording on.
fn call_recorded<'py>(
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

/// Drops the graph of a call whose derivatives have no history.
fn drop_graph(result: Bound<'_, PyAny>, x: Bound<'_, PyTensor>) {
    let argument = ended_transforms::argument(&x.get().tensor);
    drop((result, x));
    argument.into_iter().for_each(ended_transforms::end);
}

/// The return value of `_traced_call`: a tag and its payload.
fn tagged<'py>(
    name: &Bound<'py, PyString>,
    which: Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    PyTuple::new(name.py(), [name.as_any().clone(), which]).map(Some)
}

/// The result, if it is a recorded tensor and the argument was not written to.
fn recorded<'r>(result: &'r Bound<'_, PyAny>, x: &Tensor) -> Option<&'r Tensor> {
    let out = &result.cast_exact::<PyTensor>().ok()?.get().tensor;
    (out.requires_grad() && x.version() == 0).then_some(out)
}

/// The VJP of `out` with respect to `x` for cotangent `seed`; recorded if `create_graph`.
fn vjp(
    py: Python<'_>,
    out: &Tensor,
    x: &Tensor,
    seed: Option<Tensor>,
    create_graph: bool,
) -> PyResult<Option<Tensor>> {
    let (root, wanted) = (Endpoint::root("grad", out)?, [Endpoint::target("grad", 0, x)?]);
    let grads = run_pass(py, "grad", |host| {
        let options = GradOptions { allow_unused: true, create_graph, ..GradOptions::default() };
        grad_at(smallvec![root], &wanted, &[seed], &options, host)
    })?;
    Ok(grads.into_iter().next().flatten())
}

/// The value (if requested), the gradient, and whether they are recorded.
type ValueAndGrad<'py> = (Option<Bound<'py, PyAny>>, Bound<'py, PyAny>, bool);

/// The value (if `valued`) and the gradient of a scalar result of `_traced_call`, in the argument's kind; recorded if
/// the result also depends on tensors of the caller. None if the result is no recorded scalar, does not depend on the
/// argument, depends on the argument of an ended transform, or the argument was written to.
fn fast_value_and_grad<'py>(
    before: Mode,
    result: &Bound<'py, PyAny>,
    x: &Bound<'py, PyTensor>,
    kind: ArgumentKind,
    valued: bool,
) -> PyResult<Option<ValueAndGrad<'py>>> {
    let (py, x) = (x.py(), &x.get().tensor);
    let real = |out: &&Tensor| out.ndim() == 0 && !out.dtype().is_complex();
    let Some(out) = recorded(result, x).filter(real).filter(|out| !depends_on_ended(&[out])) else {
        return Ok(None);
    };
    let attached = kind == ArgumentKind::Tensor
        && before.has(GRAD)
        && (!x.is_leaf() || depends_on_others(&[out], &[x]));
    let Some(slope) = vjp(py, out, x, None, attached)? else {
        return Ok(None);
    };
    // The engine's gradient is the conjugate of the transforms' convention.
    let slope = if slope.dtype().is_complex() { to_py_result(conjugate(&slope))? } else { slope };
    let value = match (valued, kind) {
        (false, _) => None,
        (true, ArgumentKind::Float) => Some(item_to_python(py, out)?),
        (true, ArgumentKind::Array) => Some(numpy::scalar(py, out)?),
        (true, ArgumentKind::Tensor) if attached => Some(result.clone()),
        (true, ArgumentKind::Tensor) => Some(wrap(py, out.detached())?),
    };
    let slope = match kind {
        ArgumentKind::Float => item_to_python(py, &slope)?,
        ArgumentKind::Array => numpy::export(py, &slope, true)?,
        ArgumentKind::Tensor => wrap(py, slope)?,
    };
    Ok(Some((value, slope, attached)))
}

/// The value of a result of `_traced_call` and its JVP with a tangent, as floats or arrays: two VJPs, the second of the
/// first. None if the result is no recorded tensor, does not depend on the argument, or the tangent differs from the
/// argument in kind, shape or dtype.
#[pyfunction]
pub(crate) fn _short_push<'py>(
    result: &Bound<'py, PyAny>,
    x: &Bound<'py, PyTensor>,
    kind: ArgumentKind,
    tangent: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let (py, x) = (x.py(), &x.get().tensor);
    let out = recorded(result, x).filter(|out| !depends_on_ended(&[out]));
    let (Some(out), Some((tangent, given))) = (out, argument(tangent)?) else {
        return Ok(None);
    };
    if given != kind || tangent.shape() != x.shape() || tangent.dtype() != x.dtype() {
        return Ok(None);
    }
    let seed = Tensor::zeros(out.shape(), out.dtype())?.with_grad();
    let slope = vjp(py, out, x, Some(seed.clone()), true)?;
    let Some(slope) = slope.filter(Tensor::requires_grad) else {
        return Ok(None);
    };
    let Some(change) = vjp(py, &slope, &seed, Some(tangent), false)? else {
        return Ok(None);
    };
    let to_python = |tensor: &Tensor, owned: bool| match (tensor.ndim(), kind) {
        (0, ArgumentKind::Float) => item_to_python(py, tensor),
        (0, _) => numpy::scalar(py, tensor),
        _ if owned => numpy::export(py, tensor, true),
        _ => numpy::to_new_array(py, tensor),
    };
    Ok(Some((to_python(out, false)?, to_python(&change, true)?)))
}
