//! Operands that are arrays of other libraries: labelled, with units, masked.
//!
//! Owns: the decision whether a tensor leaves an operation to the other operand, by NumPy's rules, and the refusal of
//! masked arrays. Never converts.
//! Invariant: an object that knows how to compute with arrays is never taken for its bare elements by an operator or
//! a ufunc.

use ::numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt, PyList, PyTuple, PyType};

use crate::bindings::errors::{bad_type, type_name};
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;

/// Which of NumPy's rules decides whether the other operand overrides the operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverrideRule {
    /// `t * other`: a type that has no ufuncs, or a higher priority than a tensor's 0, goes first too.
    Operator,
    /// `other * t`, which the other one has left to us: its priority counts no more.
    Reflected,
    /// `np.multiply(t, other)`: only a type with ufuncs of its own.
    Ufunc,
}

/// Whether the tensor leaves the operation to the other operand.
#[inline]
pub(crate) fn should_defer(rule: OverrideRule, ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    let usual = ob.is_exact_instance_of::<PyTensor>()
        || ob.is_exact_instance_of::<PyFloat>()
        || ob.is_exact_instance_of::<PyInt>()
        || ob.cast_exact::<PyUntypedArray>().is_ok();
    if usual { Ok(false) } else { overrides(rule, ob) }
}

fn overrides(rule: OverrideRule, ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    static OURS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
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
        let plain = OURS
            .get_or_try_init(py, || {
                py.get_type::<PyUntypedArray>().getattr(name).map(Bound::unbind)
            })?
            .bind(py);
        if !ufunc.is(plain) {
            return Ok(rule != OverrideRule::Ufunc || !ufunc.is_none());
        }
    }
    if rule != OverrideRule::Operator || masked(ob)? {
        return Ok(false);
    }
    let priority = class.getattr_opt(intern!(py, "__array_priority__"))?;
    Ok(priority.is_some_and(|p| p.extract::<f64>().is_ok_and(|p| p > 0.0)))
}

/// Whether the operand is a sparse array of SciPy's, which has a product with dense ones only.
pub(crate) fn is_sparse(ob: &Bound<'_, PyAny>) -> bool {
    let module = ob.get_type().module();
    module.is_ok_and(|name| name.to_string_lossy().starts_with("scipy.sparse."))
}

fn masked(ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    static MASKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if ob.cast::<PyUntypedArray>().is_err() || ob.cast_exact::<PyUntypedArray>().is_ok() {
        return Ok(false);
    }
    ob.is_instance(MASKED.import(ob.py(), "numpy.ma", "MaskedArray")?.as_any())
}

/// Refuses an array whose mask a tensor would lose.
#[inline]
pub(crate) fn refuse_masked(op: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    if array.as_any().cast_exact::<PyUntypedArray>().is_ok() || !masked(array.as_any())? {
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

/// Refuses a change in place that belongs to the operand: the tensor cannot become what that makes.
#[inline]
pub(crate) fn refuse_in_place(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<()> {
    if !should_defer(OverrideRule::Operator, ob)? {
        return Ok(());
    }
    let what = format!("the operand is a {}, which computes by rules of its own", type_name(ob));
    Err(bad_type(op, what, "write a = a + b instead of a += b, or pass np.asarray(b)"))
}
