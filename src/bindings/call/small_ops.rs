//! Fast path of operators and functions on a few float elements, computed directly in the memory of the result's object
//! (`ops/core/formulas/small.rs`).
//! Returns None, without side effects, for subclasses, other operand types, or modes in which calls are intercepted or
//! Python code may run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pyo3::ffi as c;
use pyo3::prelude::*;

use crate::bindings::call::intercept;
use crate::bindings::errors::to_python;
use crate::bindings::object::free_list;
use crate::error::Result;
use crate::graph::Mode;
use crate::ops::core::elementwise::Elementwise;
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
    if !intercept::allows_small_ops(mode) {
        return None;
    }
    // SAFETY: the caller's contract; the caller's references keep the tensors.
    let attempt = || unsafe {
        match (free_list::exact_tensor(a), free_list::exact_tensor(b)) {
            (Some(x), Some(y)) => new_object(|place| op.run_small(x, (x, y), &[], mode, place)),
            (Some(x), None) => {
                let exact_number = exact_number(b)?;
                new_object(|place| op.run_small(x, (x, exact_number), &[], mode, place))
            }
            (None, Some(y)) => {
                let exact_number = exact_number(a)?;
                new_object(|place| op.run_small(y, (exact_number, y), &[], mode, place))
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
    if !intercept::allows_small_ops(mode) {
        return None;
    }
    // SAFETY: the caller's contract; the caller's reference keeps the tensor.
    let attempt = || unsafe {
        let x = free_list::exact_tensor(a)?;
        new_object(|place| op.run_small(x, (x, ()), &[], mode, place))
    };
    catch_unwind(AssertUnwindSafe(attempt)).unwrap_or(None)
}

/// Computes into a new object.
///
/// # Safety
/// The thread is attached.
#[inline(always)]
unsafe fn new_object(compute: impl FnOnce(&mut Option<Tensor>) -> Result<()>) -> SmallResult {
    // SAFETY: the caller's contract.
    let py = unsafe { Python::assume_attached() };
    match free_list::compute_plain_object(py, compute) {
        Ok(object) => object.map(|object| object.into_ptr()),
        Err(error) => {
            to_python(error).restore(py);
            Some(ptr::null_mut())
        }
    }
}
