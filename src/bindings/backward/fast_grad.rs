//! Fast path of `grad` and `value_and_grad`: one float, float array or float tensor argument, outside every
//! other transform. Everything else is left to the Python implementation, which also raises the errors.

use ::numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyTuple};
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
use crate::graph::{DUAL, GRAD, INFERENCE, Mode, ModeGuard, TRACING, TRANSFORM};
use crate::ops::autograd::backward::{Endpoint, GradOptions, grad_at};
use crate::ops::elementwise::arithmetic::conjugate;
use crate::tensor::Tensor;

/// The kind of an argument, which its derivative gets as well.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ArgumentKind {
    Tensor = 0,
    Array = 1,
    Float = 3,
}

/// A call of a function with a recorded argument, which the Python package goes on with.
#[pyclass(name = "_TracedCall", module = "ferrograd._core", frozen)]
pub(crate) struct TracedCall {
    /// The mode before the call.
    before: Mode,
    leaf: Py<PyTensor>,
    kind: ArgumentKind,
    result: Py<PyAny>,
    /// What the fast path raised, if it applied.
    error: Option<PyErr>,
}

#[pymethods]
impl TracedCall {
    /// The kinds of arguments, in the order in which one decides on the kind of results.
    #[classattr]
    const TENSOR: u8 = ArgumentKind::Tensor as u8;
    #[classattr]
    const ARRAY: u8 = ArgumentKind::Array as u8;
    /// A scalar of NumPy's, which the fast path leaves to Python.
    #[classattr]
    const SCALAR: u8 = 2;
    #[classattr]
    const FLOAT: u8 = ArgumentKind::Float as u8;

    /// Bits of the mode word: recording, inference mode, inside a transform, a level of forward mode.
    #[classattr]
    const GRAD: u32 = GRAD;
    #[classattr]
    const INFERENCE: u32 = INFERENCE;
    #[classattr]
    const TRANSFORM: u32 = TRANSFORM;
    #[classattr]
    const DUAL: u32 = DUAL;

    #[getter]
    fn before(&self) -> u32 {
        self.before.0
    }

    /// The tensor that stands for the argument.
    #[getter]
    fn leaf(&self, py: Python<'_>) -> Py<PyTensor> {
        self.leaf.clone_ref(py)
    }

    #[getter]
    fn kind(&self) -> u8 {
        self.kind as u8
    }

    /// What the function returned.
    #[getter]
    fn result(&self, py: Python<'_>) -> Py<PyAny> {
        self.result.clone_ref(py)
    }

    /// What the fast path raised.
    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let error = self.error.as_ref()?;
        Some(error.clone_ref(py).into_value(py).into_bound(py).into_any())
    }
}

/// Copies a Python float or a float32 or float64 array into a tensor; None for any other object.
pub(super) fn argument(x: &Bound<'_, PyAny>) -> PyResult<Option<(Tensor, ArgumentKind)>> {
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
/// is no float and no array or tensor of floats, or inside another transform or inference mode. With `valued`, if the fast
/// path applies, the gradient, or the value and the gradient; a `TracedCall` otherwise.
#[pyfunction]
#[pyo3(signature = (function, position, args, kwargs, valued=None))]
pub(crate) fn _traced_call<'py>(
    function: &Bound<'py, PyAny>,
    position: isize,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
    valued: Option<bool>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    check_stack("grad")?;
    let before = Mode::current();
    let place = usize::try_from(position).ok().filter(|place| *place < args.len());
    let Some(place) = place.filter(|_| before.0 & (TRANSFORM | INFERENCE | DUAL) == 0) else {
        return Ok(None);
    };
    let Some((x, kind)) = recorded_argument(&args.get_item(place)?, before)? else {
        return Ok(None);
    };
    let result = call_recorded(function, before, (&x, place), args, kwargs)?;
    let (py, mut raised) = (function.py(), None);
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
                return Ok(Some(given));
            }
            Err(error) => raised = Some(error),
        }
    }
    let (leaf, result) = (x.unbind(), result.unbind());
    let call = TracedCall { before, leaf, kind, result, error: raised };
    Ok(Some(Bound::new(py, call)?.into_any()))
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
/// the result also depends on tensors of the caller. None if the result is no recorded scalar, depends on the argument of
/// an ended transform, or the argument was written to.
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
    let slope = match vjp(py, out, x, None, attached)? {
        Some(slope) => slope,
        // A backward written in Python returned None.
        None => Tensor::zeros(x.shape(), x.dtype())?,
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
