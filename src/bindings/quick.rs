//! The short way of `grad` and `value_and_grad`: one float or float array, outside every other transform.
//!
//! Owns: the argument as a leaf, the mode around the call, and the pull of a scalar result.
//! Never says what is wrong with a call: what is not of this sort is left to the package.
//! Invariant: the thread's mode is back when the function has returned or raised.

use ::numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyTuple};
use smallvec::smallvec;

use crate::bindings::host::run_pass;
use crate::bindings::numpy;
use crate::bindings::tensor::{PyTensor, item, leaf};
use crate::dtype::DType;
use crate::graph::{GRAD, INFERENCE, Mode, ModeGuard, TRANSFORM};
use crate::ops::autograd::{GradOptions, Point, grad_at};
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
    let dtype = match (descr.kind(), descr.itemsize()) {
        (b'f', 8) => DType::F64,
        (b'f', 4) => DType::F32,
        _ => return Ok(None),
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
    let Ok(out) = result.cast_exact::<PyTensor>() else {
        return Ok(None);
    };
    let out = &out.get().tensor;
    if out.ndim() != 0 || !out.requires_grad() || x.version() != 0 {
        return Ok(None);
    }
    let (root, wanted) = (Point::root("grad", out)?, [Point::target("grad", 0, x)?]);
    let found = run_pass(py, smallvec![root], |roots, host| {
        let options = GradOptions { allow_unused: true, ..GradOptions::default() };
        grad_at(roots, &wanted, &[], &options, host)
    })?;
    let Some(slope) = found.into_iter().next().flatten() else {
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
