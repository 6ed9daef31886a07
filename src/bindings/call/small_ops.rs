//! The short way of calls with a few floats, for operators and functions.
//!
//! Owns: which objects may take it, and the object of the result. Never computes:
//! `ops::core::formulas::small` does.
//! Invariant: subclasses, other operands, and modes in which somebody watches or code of the host may run, take the other way;
//! nothing has happened then.

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

/// What a call gives: an object, null for an exception, or nothing, if it is not of this sort.
pub(crate) type Answer = Option<Object>;

/// The float or small integer that an object is exactly.
///
/// # Safety
/// `ob` is a live object, and the thread is attached.
#[inline(always)]
pub(crate) unsafe fn number(ob: Object) -> Option<Scalar> {
    // SAFETY: the caller's contract.
    unsafe {
        if c::PyFloat_CheckExact(ob) != 0 {
            return Some(Scalar::Float(c::PyFloat_AS_DOUBLE(ob)));
        }
        if c::PyLong_CheckExact(ob) == 0 {
            return None;
        }
        let mut beyond = 0;
        let int = c::PyLong_AsLongLongAndOverflow(ob, &mut beyond);
        (beyond == 0).then_some(Scalar::Int(int))
    }
}

/// An operation of two tensors, or of a tensor and a number, in the mode of the thread.
///
/// # Safety
/// The objects live, and the thread is attached.
#[inline(never)]
pub(crate) unsafe fn two(op: &'static Elementwise, a: Object, b: Object, mode: Mode) -> Answer {
    if !intercept::is_quiet(mode) {
        return None;
    }
    // SAFETY: the caller's contract; the caller's references keep the tensors.
    let answer = || unsafe {
        match (free_list::exact(a), free_list::exact(b)) {
            (Some(x), Some(y)) => made(|place| op.run_small(x, (x, y), &[], mode, place)),
            (Some(x), None) => {
                let number = number(b)?;
                made(|place| op.run_small(x, (x, number), &[], mode, place))
            }
            (None, Some(y)) => {
                let number = number(a)?;
                made(|place| op.run_small(y, (number, y), &[], mode, place))
            }
            (None, None) => None,
        }
    };
    // A panic is for the other way, which makes an exception of it.
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or(None)
}

/// An operation of one tensor, in the mode of the thread.
///
/// # Safety
/// The object lives, and the thread is attached.
#[inline(never)]
pub(crate) unsafe fn one(op: &'static Elementwise, a: Object, mode: Mode) -> Answer {
    if !intercept::is_quiet(mode) {
        return None;
    }
    // SAFETY: the caller's contract; the caller's reference keeps the tensor.
    let answer = || unsafe {
        let x = free_list::exact(a)?;
        made(|place| op.run_small(x, (x, ()), &[], mode, place))
    };
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or(None)
}

/// The object of what is computed.
///
/// # Safety
/// The thread is attached.
#[inline(always)]
unsafe fn made(compute: impl FnOnce(&mut Option<Tensor>) -> Result<()>) -> Answer {
    // SAFETY: the caller's contract.
    let py = unsafe { Python::assume_attached() };
    match free_list::object_at(py, compute) {
        Ok(object) => object.map(|object| object.into_ptr()),
        Err(error) => {
            to_python(error).restore(py);
            Some(ptr::null_mut())
        }
    }
}
