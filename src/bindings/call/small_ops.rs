//! Element-wise operators, functions and methods on exact tensors of few elements and on numbers. A few floats are computed
//! directly in the memory of the result's object (`ops/core/formulas/small.rs`).
//! Returns None, without side effects, for subclasses, other operand types, many elements, or modes in which calls are
//! intercepted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pyo3::ffi as c;
use pyo3::prelude::*;

use crate::bindings::call::intercept;
use crate::bindings::errors::to_python;
use crate::bindings::object::{free_list, wrap_computed};
use crate::graph::Mode;
use crate::ops::core::elementwise::{Elementwise, OperandRef};
use crate::ops::core::op_decl::Scalar;
use crate::tensor::Tensor;

pub(crate) type Object = *mut c::PyObject;

/// The result of a fast path: an object, null with an exception set, or `None` if the fast path does not apply.
pub(crate) type SmallResult = Option<Object>;

/// The value of an exact `float`, or of an exact `int` that fits 64 bits.
///
/// # Safety
/// `ob` is a live object, and the thread is attached.
#[inline(always)]
pub(crate) unsafe fn exact_number(ob: Object) -> Option<Scalar> {
    // SAFETY: the caller's contract.
    unsafe {
        if c::PyFloat_CheckExact(ob) != 0 {
            return Some(Scalar::Float(c::PyFloat_AS_DOUBLE(ob)));
        }
        if c::PyLong_CheckExact(ob) == 0 {
            return None;
        }
        let mut overflow = 0;
        let int = c::PyLong_AsLongLongAndOverflow(ob, &mut overflow);
        (overflow == 0).then_some(Scalar::Int(int))
    }
}

/// A binary operation of two tensors, or of a tensor and a number, in the thread's mode.
///
/// # Safety
/// The objects live, and the thread is attached.
#[inline(never)]
pub(crate) unsafe fn binary(
    op: &'static Elementwise,
    a: Object,
    b: Object,
    mode: Mode,
) -> SmallResult {
    // SAFETY: the caller's contract; the caller's references keep the tensors.
    let attempt = || unsafe {
        use OperandRef::{Scalar, Tensor};
        match (free_list::exact_tensor(a), free_list::exact_tensor(b)) {
            (Some(x), Some(y)) => compute(op, x, || [Tensor(x), Tensor(y)], mode),
            (Some(x), None) => {
                let number = exact_number(b)?;
                compute(op, x, || [Tensor(x), Scalar(number)], mode)
            }
            (None, Some(y)) => {
                let number = exact_number(a)?;
                compute(op, y, || [Scalar(number), Tensor(y)], mode)
            }
            (None, None) => None,
        }
    };
    // After a panic the general path runs, which turns it into an exception.
    catch_unwind(AssertUnwindSafe(attempt)).unwrap_or(None)
}

/// A unary operation of a tensor, in the thread's mode.
///
/// # Safety
/// The object lives, and the thread is attached.
#[inline(never)]
pub(crate) unsafe fn unary(op: &'static Elementwise, a: Object, mode: Mode) -> SmallResult {
    // SAFETY: the caller's contract; the caller's reference keeps the tensor.
    let attempt = || unsafe {
        let x = free_list::exact_tensor(a)?;
        compute(op, x, || [OperandRef::Tensor(x)], mode)
    };
    catch_unwind(AssertUnwindSafe(attempt)).unwrap_or(None)
}

/// Computes into a new object: a few floats at once, other tensors of few elements by the general path. `operands` is a
/// function so that each kind of operands has code of its own.
///
/// # Safety
/// The thread is attached.
#[inline(always)]
unsafe fn compute<'a, const N: usize>(
    op: &'static Elementwise,
    like: &Tensor,
    operands: impl Fn() -> [OperandRef<'a>; N],
    mode: Mode,
) -> SmallResult {
    // SAFETY: the caller's contract.
    let py = unsafe { Python::assume_attached() };
    if intercept::allows_small_ops(mode) {
        let run = |place: &mut Option<Tensor>| op.run_small(like, operands(), mode, place);
        match free_list::compute_plain_object(py, run) {
            Ok(Some(object)) => return Some(object.into_ptr()),
            Ok(None) => {}
            Err(error) => return Some(raise(py, to_python(error))),
        }
    }
    let operands = operands();
    let is_small = |x: &OperandRef<'_>| x.size() <= intercept::GIL_RELEASE_ELEMENTS;
    if intercept::is_intercepted(mode) || !operands.iter().all(is_small) {
        return None;
    }
    compute_general(py, op, &operands)
}

/// As `compute`, by the general path.
#[inline(never)]
fn compute_general(
    py: Python<'_>,
    op: &'static Elementwise,
    operands: &[OperandRef<'_>],
) -> SmallResult {
    let computed = wrap_computed(py, || op.apply(operands));
    Some(computed.map_or_else(|error| raise(py, error), Bound::into_ptr))
}

/// Sets the exception and returns null, as CPython expects.
#[cold]
fn raise(py: Python<'_>, error: PyErr) -> Object {
    error.restore(py);
    ptr::null_mut()
}
