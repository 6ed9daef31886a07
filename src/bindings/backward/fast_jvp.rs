//! Fast path of `jvp`: floats and float arrays outside of every other transform. Everything else is left to the Python
//! implementation, which also raises the errors.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

use crate::bindings::backward::ended_transforms::depends_on_ended;
use crate::bindings::backward::fast_grad::{ArgumentKind, argument};
use crate::bindings::backward::transform_arguments::ActiveArgument;
use crate::bindings::call::thread_state::check_stack;
use crate::bindings::errors::to_py_result;
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, item_to_python, wrap};
use crate::graph::forward_ad::LevelGuard;
use crate::graph::{DUAL, GRAD, INFERENCE, Mode, ModeGuard, TRACING, TRANSFORM};
use crate::ops::autograd::forward_mode::{make_dual, unpack_dual};
use crate::tensor::Tensor;

/// The primals as tensors, their tangents, and the kind of the results.
type Arguments = (SmallVec<[(Tensor, Tensor); 2]>, SmallVec<[ArgumentKind; 2]>);

/// Reads primals and tangents; `None` if one is neither a float nor a float array, or a tangent differs from its primal in
/// kind, shape or dtype.
fn read_arguments(
    primals: &Bound<'_, PyAny>,
    tangents: &Bound<'_, PyAny>,
) -> PyResult<Option<Arguments>> {
    let (mut pairs, mut kinds) = (SmallVec::new(), SmallVec::new());
    for (primal, tangent) in primals.try_iter()?.zip(tangents.try_iter()?) {
        let (Some((x, kind)), Some((t, other))) = (argument(&primal?)?, argument(&tangent?)?)
        else {
            return Ok(None);
        };
        if kind != other || x.shape() != t.shape() || x.dtype() != t.dtype() {
            return Ok(None);
        }
        pairs.push((x, t));
        kinds.push(kind);
    }
    Ok(Some((pairs, kinds)))
}

/// `(value, change)` of a function of floats and float arrays; None, without a call, for other arguments or inside of another
/// transform. What is no single tensor is left to `finish(result, inputs, kinds, level)`.
#[pyfunction]
pub(crate) fn _fast_jvp<'py>(
    function: &Bound<'py, PyAny>,
    primals: &Bound<'py, PyAny>,
    tangents: &Bound<'py, PyAny>,
    finish: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    check_stack("jvp")?;
    let (py, before) = (function.py(), Mode::current());
    if before.0 & (TRANSFORM | INFERENCE | DUAL | TRACING) != 0 {
        return Ok(None);
    }
    let Some((pairs, kinds)) = read_arguments(primals, tangents)? else { return Ok(None) };
    let _mode = ModeGuard::new(Mode(before.0 | GRAD | TRANSFORM));
    let level = LevelGuard::enter(false, None);
    let mut duals: SmallVec<[Bound<'py, PyTensor>; 2]> = SmallVec::new();
    for (x, t) in &pairs {
        duals.push(wrap(py, make_dual(x, t, level.serial()))?.cast_into()?);
    }
    let result = {
        let _active: SmallVec<[ActiveArgument; 2]> =
            duals.iter().map(ActiveArgument::new).collect();
        function.call1(PyTuple::new(py, &duals)?)?
    };
    let kind = if kinds.iter().all(|kind| *kind == ArgumentKind::Float) {
        ArgumentKind::Float
    } else {
        ArgumentKind::Array
    };
    if pairs.iter().all(|(x, _)| x.version() == 0)
        && let Some(found) = unpack(py, &result, level.serial(), kind)?
    {
        return Ok(Some(found));
    }
    let codes: Vec<u8> = kinds.iter().map(|kind| *kind as u8).collect();
    let inputs: PyResult<Vec<_>> = pairs.iter().map(|(x, _)| wrap(py, x.clone())).collect();
    let found = finish.call1((
        result,
        PyList::new(py, inputs?)?,
        PyList::new(py, codes)?,
        level.serial(),
    ))?;
    Ok(Some(found.extract()?))
}

/// The value and the change of a result that is one float tensor with a tangent.
fn unpack<'py>(
    py: Python<'py>,
    result: &Bound<'py, PyAny>,
    level: u64,
    kind: ArgumentKind,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let Ok(object) = result.cast_exact::<PyTensor>() else { return Ok(None) };
    let out = &object.get().tensor;
    if !out.dtype().is_inexact() || depends_on_ended(&[out]) {
        return Ok(None);
    }
    let (value, change) = to_py_result(unpack_dual(out, level))?;
    let Some(change) = change else { return Ok(None) };
    let to_python = |tensor: &Tensor, owned: bool| match (tensor.ndim(), kind) {
        (0, ArgumentKind::Float) => item_to_python(py, tensor),
        (0, _) => numpy::scalar(py, tensor),
        _ if owned => numpy::export(py, tensor, true),
        _ => numpy::to_new_array(py, tensor),
    };
    Ok(Some((to_python(&value, false)?, to_python(&change, true)?)))
}
