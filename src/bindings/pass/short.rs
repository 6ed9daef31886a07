//! The short way of `grad`, `value_and_grad` and `jvp`: one float or float array, outside every other transform.
//!
//! Owns: the argument as a leaf, the mode around the call, the pull of a scalar result and the push of a tangent.
//! Never says what is wrong with a call: what is not of this sort is left to the package.
//! Invariant: the thread's mode is back when the function has returned or raised.

use ::numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyTuple};
use smallvec::smallvec;

use crate::bindings::exchange::numpy;
use crate::bindings::pass::host::run_pass;
use crate::bindings::tensor::{PyTensor, item, leaf};
use crate::graph::{GRAD, INFERENCE, Mode, ModeGuard, TRANSFORM};
use crate::ops::derive::backward::{GradOptions, Point, grad_at};
use crate::tensor::Tensor;

/// The mode before, the argument as a tensor, whether it is a float, and what the function returned.
type Traced<'py> = (u32, Bound<'py, PyTensor>, bool, Bound<'py, PyAny>);

/// A copy of a Python float or of an array of float64 or float32; None for anything else.
fn argument(x: &Bound<'_, PyAny>) -> PyResult<Option<(Tensor, bool)>> {
    if let Ok(number) = x.cast_exact::<PyFloat>() {
        return Ok(Some((Tensor::from(number.value()), true)));
    }
    let Ok(array) = x.cast_exact::<PyUntypedArray>() else {
        return Ok(None);
    };
    let descr = array.dtype();
    let found = numpy::dtype_of_code(descr.kind(), descr.itemsize());
    let Some(dtype) = found.filter(|dtype| dtype.is_float()) else {
        return Ok(None);
    };
    Ok(Some((numpy::copy("tensor", array, dtype)?, false)))
}

/// Calls `function` with a tensor for the argument at `position`. None, and nothing has happened, when that argument is
/// neither a float nor an array of floats, or when a transform or inference mode surrounds the call.
#[pyfunction]
pub(crate) fn _traced_call<'py>(
    function: &Bound<'py, PyAny>,
    position: isize,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Option<Traced<'py>>> {
    let before = Mode::current();
    let place = usize::try_from(position).ok().filter(|place| *place < args.len());
    let Some(place) = place.filter(|_| before.0 & (TRANSFORM | INFERENCE) == 0) else {
        return Ok(None);
    };
    let Some((tensor, float)) = argument(&args.get_item(place)?)? else {
        return Ok(None);
    };
    let x = leaf(function.py(), tensor)?;
    let _mode = ModeGuard::new(Mode(before.0 | GRAD | TRANSFORM));
    let result = if args.len() == 1 && kwargs.is_empty() {
        function.call1((&x,))?
    } else {
        let mut all: Vec<Bound<'py, PyAny>> = args.iter().collect();
        all[place] = x.clone().into_any();
        function.call(PyTuple::new(function.py(), all)?, Some(kwargs))?
    };
    Ok(Some((before.0, x, float, result)))
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
    let (root, wanted) = (Point::root("grad", out)?, [Point::target("grad", 0, x)?]);
    let found = run_pass(py, smallvec![root], |roots, host| {
        let options =
            GradOptions { allow_unused: true, create_graph: again, ..GradOptions::default() };
        grad_at(roots, &wanted, &[seed], &options, host)
    })?;
    Ok(found.into_iter().next().flatten())
}

/// A derivative or value, and what it is asked for.
type Pulled<'py> = (Option<Bound<'py, PyAny>>, Bound<'py, PyAny>);

/// The value, if it is wanted, and the gradient of a scalar result of `_traced_call`, as floats or arrays. None when the
/// result is no recorded scalar, does not depend on the argument, or the argument was changed.
#[pyfunction]
pub(crate) fn _short_gradient<'py>(
    result: &Bound<'py, PyAny>,
    x: &Bound<'py, PyTensor>,
    float: bool,
    valued: bool,
) -> PyResult<Option<Pulled<'py>>> {
    let (py, x) = (x.py(), &x.get().tensor);
    let Some(out) = recorded(result, x).filter(|out| out.ndim() == 0) else {
        return Ok(None);
    };
    let Some(slope) = pulled(py, out, x, None, false)? else {
        return Ok(None);
    };
    let value = match (valued, float) {
        (false, _) => None,
        (true, true) => Some(item(py, out)?),
        (true, false) => Some(numpy::scalar(py, out)?),
    };
    let slope = if float { item(py, &slope)? } else { numpy::export(py, &slope, true)? };
    Ok(Some((value, slope)))
}

/// The value of a result of `_traced_call` and its change along a tangent, as floats or arrays: two pulls, the second of
/// the first. None when the result is no recorded tensor, does not depend on the argument, or the tangent is not of the
/// argument's kind, shape and dtype.
#[pyfunction]
pub(crate) fn _short_push<'py>(
    result: &Bound<'py, PyAny>,
    x: &Bound<'py, PyTensor>,
    float: bool,
    tangent: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let (py, x) = (x.py(), &x.get().tensor);
    let (Some(out), Some((tangent, single))) = (recorded(result, x), argument(tangent)?) else {
        return Ok(None);
    };
    if single != float || tangent.shape() != x.shape() || tangent.dtype() != x.dtype() {
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
    let plain = |found: &Tensor, owned: bool| match (found.ndim(), float) {
        (0, true) => item(py, found),
        (0, false) => numpy::scalar(py, found),
        _ if owned => numpy::export(py, found, true),
        _ => numpy::fresh(py, found),
    };
    Ok(Some((plain(out, false)?, plain(&change, true)?)))
}
