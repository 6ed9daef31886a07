//! Operands that are arrays of other libraries (labelled, with units, masked): whether a tensor defers to them, by
//! NumPy's rules (`__array_ufunc__`, `__array_priority__`).

use ::numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt, PyList, PyTuple, PyType};

use crate::bindings::errors::{bad_type, type_name};
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;

/// Which of NumPy's override rules applies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverrideRule {
    /// `t * other`: defers to a type with `__array_ufunc__`, or with a higher `__array_priority__` than a tensor's 0.
    Operator,
    /// `other * t`, after the other operand returned NotImplemented: its priority does not count any more.
    Reflected,
    /// `np.multiply(t, other)`: defers only to a type with its own `__array_ufunc__`.
    Ufunc,
}

/// Whether the tensor's operator must return NotImplemented for this operand.
#[inline]
pub(crate) fn should_defer(rule: OverrideRule, ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_common_type = ob.is_exact_instance_of::<PyTensor>()
        || ob.is_exact_instance_of::<PyFloat>()
        || ob.is_exact_instance_of::<PyInt>()
        || ob.cast_exact::<PyUntypedArray>().is_ok();
    if is_common_type { Ok(false) } else { overrides(rule, ob) }
}

fn overrides(rule: OverrideRule, ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    static NDARRAY_UFUNC: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = ob.py();
    let known = ob.is_instance_of::<PyTensor>()
        || ob.is_instance_of::<PyList>()
        || ob.is_instance_of::<PyTuple>();
    if known || numpy::is_scalar(ob)? {
        return Ok(false);
    }
    let class = ob.get_type();
    let name = intern!(py, "__array_ufunc__");
    if let Some(ufunc) = class.getattr_opt(name)? {
        let plain = NDARRAY_UFUNC
            .get_or_try_init(py, || {
                py.get_type::<PyUntypedArray>().getattr(name).map(Bound::unbind)
            })?
            .bind(py);
        if !ufunc.is(plain) {
            return Ok(rule != OverrideRule::Ufunc || !ufunc.is_none());
        }
    }
    if rule != OverrideRule::Operator || is_masked(ob)? {
        return Ok(false);
    }
    let priority = class.getattr_opt(intern!(py, "__array_priority__"))?;
    Ok(priority.is_some_and(|p| p.extract::<f64>().is_ok_and(|p| p > 0.0)))
}

/// Whether the operand is a SciPy sparse array, whose products take dense arrays only.
pub(crate) fn is_sparse(ob: &Bound<'_, PyAny>) -> bool {
    let module = ob.get_type().module();
    module.is_ok_and(|name| name.to_string_lossy().starts_with("scipy.sparse."))
}

fn is_masked(ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    static MASKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if ob.cast::<PyUntypedArray>().is_err() || ob.cast_exact::<PyUntypedArray>().is_ok() {
        return Ok(false);
    }
    ob.is_instance(MASKED.import(ob.py(), "numpy.ma", "MaskedArray")?.as_any())
}

/// Refuses a masked array: a tensor would lose the mask.
#[inline]
pub(crate) fn refuse_masked(op: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    if array.as_any().cast_exact::<PyUntypedArray>().is_ok() || !is_masked(array.as_any())? {
        return Ok(());
    }
    static NO_MASK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = array.py();
    if array.getattr(intern!(py, "mask"))?.is(NO_MASK.import(py, "numpy.ma", "nomask")?) {
        return Ok(());
    }
    Err(bad_type(
        op,
        "a masked array, whose mask a tensor would lose, was given",
        "pass a.filled(value), and use the mask in np.where(mask, ..., ...)",
    ))
}

/// Refuses `t += other` where `other` overrides the operator: the tensor cannot become its result.
#[inline]
pub(crate) fn refuse_in_place(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<()> {
    if !should_defer(OverrideRule::Operator, ob)? {
        return Ok(());
    }
    let what = format!("the operand is a {}, which computes by rules of its own", type_name(ob));
    Err(bad_type(op, what, "write a = a + b instead of a += b, or pass np.asarray(b)"))
}
