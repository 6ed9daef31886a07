//! C entry points of the operations' functions and methods, one per registry index, and the fast path for small
//! operands without keywords.
//!
//! Invariant: entry point `I` calls `registry()[I]`; no panic unwinds into C; method definitions live for ever.

use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use pyo3::ffi as c;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::bindings::attach::attached;
use crate::bindings::call::dispatch::{self, Keywords, Positional};
use crate::bindings::call::intercept;
use crate::bindings::call::intercept::Keyword;
use crate::bindings::call::signature_text::documentation;
use crate::bindings::call::small_ops::SmallResult;
use crate::bindings::call::{node_attributes, small_ops};
use crate::bindings::errors::to_python;
use crate::bindings::object::{PyTensor, wrap};
use crate::error::Error;
use crate::graph::Mode;
use crate::ops::core::elementwise::unary_with;
use crate::ops::core::op_decl::{OpDecl, Shortcut};
use crate::ops::registry;
use crate::tensor::Tensor;

type DispatchFn = for<'py> fn(
    Python<'py>,
    &'static OpDecl,
    &[Bound<'py, PyAny>],
    &[Keyword<'py>],
) -> PyResult<Bound<'py, PyAny>>;
type Entry = unsafe extern "C" fn(
    *mut c::PyObject,
    *const *mut c::PyObject,
    c::Py_ssize_t,
    *mut c::PyObject,
) -> *mut c::PyObject;

/// # Safety
/// Called by CPython as METH_FASTCALL | METH_KEYWORDS, attached.
unsafe extern "C" fn entry<const I: usize>(
    slf: *mut c::PyObject,
    args: *const *mut c::PyObject,
    nargs: c::Py_ssize_t,
    kwnames: *mut c::PyObject,
) -> *mut c::PyObject {
    // SAFETY: the caller's contract.
    unsafe { call_fast_or_general(I, slf, args, nargs as usize, kwnames) }
}

/// # Safety
/// As `entry`.
unsafe extern "C" fn entry_in_place<const I: usize>(
    slf: *mut c::PyObject,
    args: *const *mut c::PyObject,
    nargs: c::Py_ssize_t,
    kwnames: *mut c::PyObject,
) -> *mut c::PyObject {
    // SAFETY: the caller's contract.
    unsafe { call_general(dispatch::call_in_place, I, slf, args, nargs as usize, kwnames) }
}

type Entries = [[Entry; 16]; MAX_OPERATIONS / 16];

macro_rules! entries {
    ($entry:ident) => {
        entries!($entry 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    ($entry:ident $($row:literal)*) => { [$(entries!(@row $entry $row)),*] };
    (@row $entry:ident $row:literal) => {
        entries!(@of $entry $row: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@of $entry:ident $row:literal: $($k:literal)*) => { [$($entry::<{ $row * 16 + $k }>),*] };
}

/// Upper bound of the number of operations: the number of monomorphised entry points.
pub(crate) const MAX_OPERATIONS: usize = 512;

static ENTRIES: Entries = entries!(entry);
/// Entry points of the in-place methods.
static IN_PLACE_ENTRIES: Entries = entries!(entry_in_place);

/// # Safety
/// As `entry`.
#[inline]
unsafe fn call_fast_or_general(
    index: usize,
    slf: *mut c::PyObject,
    args: *const *mut c::PyObject,
    nargs: usize,
    kwnames: *mut c::PyObject,
) -> *mut c::PyObject {
    let decl = registry()[index];
    let mode = Mode::current();
    if kwnames.is_null() && !intercept::is_intercepted(mode) {
        // SAFETY: the arguments are `slf`, unless null, and `nargs` more live objects; attached.
        let computed = unsafe {
            match (&decl.shortcut, slf.is_null(), nargs) {
                (Shortcut::Unary(op, []), false, 0) => small_ops::unary(op, slf, mode),
                (Shortcut::Unary(op, []), true, 1) => small_ops::unary(op, *args, mode),
                (Shortcut::Binary(op), false, 1) => small_ops::binary(op, slf, *args, mode),
                (Shortcut::Binary(op), true, 2) => small_ops::binary(op, *args, *args.add(1), mode),
                (_, false, 0) => with_defaults(index, slf),
                (_, true, 1) => with_defaults(index, *args),
                _ => None,
            }
        };
        if let Some(object) = computed {
            return object;
        }
    }
    // SAFETY: the caller's contract.
    unsafe { call_general(dispatch::call, index, slf, args, nargs, kwnames) }
}

/// Sets the exception and returns null, as CPython expects.
#[cold]
fn raise(py: Python<'_>, error: PyErr) -> *mut c::PyObject {
    error.restore(py);
    ptr::null_mut()
}

/// The error for a panic inside an operation.
#[cold]
fn panic_error(decl: &OpDecl) -> PyErr {
    to_python(Box::new(Error::Internal {
        op: decl.name.into(),
        what: "the operation panicked".into(),
    }))
}

/// The tensor of an exact (not subclass) object, if it has few elements.
///
/// # Safety
/// `ob` is a live object and the thread is attached.
#[inline(always)]
unsafe fn small_tensor<'a>(ob: *mut c::PyObject) -> Option<&'a Tensor> {
    // SAFETY: the caller's contract; the class is frozen, so the tensor does not move while the caller's reference
    // lives.
    unsafe {
        let ob = Borrowed::<PyAny>::from_ptr(Python::assume_attached(), ob);
        let tensor = &(*ptr::from_ref(ob.cast_exact::<PyTensor>().ok()?.get())).tensor;
        (tensor.size() <= intercept::GIL_RELEASE_ELEMENTS).then_some(tensor)
    }
}

/// Fast path: one exact tensor, all other arguments at their defaults.
///
/// # Safety
/// `ob` is a live object and the thread is attached.
#[inline]
unsafe fn with_defaults(index: usize, ob: *mut c::PyObject) -> SmallResult {
    let decl = registry()[index];
    if !matches!(decl.shortcut, Shortcut::Unary(..) | Shortcut::Plain(_)) {
        return None;
    }
    // SAFETY: the caller's contract.
    let (x, py) = unsafe { (small_tensor(ob)?, Python::assume_attached()) };
    // SAFETY: `small_tensor` has checked that the object is an exact tensor.
    let source = || unsafe { Bound::from_borrowed_ptr(py, ob).cast_into_unchecked::<PyTensor>() };
    let run = || match decl.shortcut {
        Shortcut::Unary(op, defaults) => {
            let out = unary_with(op, x, defaults)?;
            node_attributes::number_tensor(index, x, &out);
            wrap(py, out)
        }
        Shortcut::Plain(plain) => {
            let output = plain(x)?;
            if decl.has_attributes {
                node_attributes::number_output(index, x, &output);
            }
            dispatch::wrap_output(py, decl, output, Some(&source()))
        }
        Shortcut::Binary(_) | Shortcut::None => Err(panic_error(decl)),
    };
    let done = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(panic_error(decl)));
    Some(done.map_or_else(|error| raise(py, error), Bound::into_ptr))
}

/// # Safety
/// As `entry`.
#[inline(never)]
unsafe fn call_general(
    call: DispatchFn,
    index: usize,
    slf: *mut c::PyObject,
    args: *const *mut c::PyObject,
    nargs: usize,
    kwnames: *mut c::PyObject,
) -> *mut c::PyObject {
    let decl = registry()[index];
    attached(|py| {
        // SAFETY: CPython passes borrowed, live objects: `nargs` positional ones, then one per keyword name. A `Bound`
        // has the layout of the pointer to its object.
        let (given, receiver) = unsafe {
            let given = match nargs {
                0 => &[],
                _ => slice::from_raw_parts(args.cast::<Bound<'_, PyAny>>(), nargs),
            };
            (given, Bound::from_borrowed_ptr_or_opt(py, slf))
        };
        let run = || -> PyResult<Bound<'_, PyAny>> {
            // SAFETY: as above.
            let keywords = unsafe { keyword_arguments(py, args, nargs, kwnames)? };
            let Some(receiver) = receiver else {
                return call(py, decl, given, &keywords);
            };
            let mut positional = Positional::new();
            positional.push(receiver);
            given.iter().for_each(|value| positional.push(value.clone()));
            call(py, decl, &positional, &keywords)
        };
        match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(panic_error(decl))) {
            Ok(value) => value.into_ptr(),
            Err(error) => raise(py, error),
        }
    })
}

/// The keyword arguments of a call.
///
/// # Safety
/// The pointers are those of a METH_FASTCALL | METH_KEYWORDS call.
#[inline]
unsafe fn keyword_arguments<'py>(
    py: Python<'py>,
    args: *const *mut c::PyObject,
    nargs: usize,
    kwnames: *mut c::PyObject,
) -> PyResult<Keywords<'py>> {
    let mut keywords = Keywords::new();
    if kwnames.is_null() {
        return Ok(keywords);
    }
    // SAFETY: the caller's contract.
    unsafe {
        let names = Bound::from_borrowed_ptr(py, kwnames).cast_into::<PyTuple>()?;
        for (i, name) in names.iter().enumerate() {
            let value = Bound::from_borrowed_ptr(py, *args.add(nargs + i));
            keywords.push((name.cast_into::<PyString>()?, value));
        }
    }
    Ok(keywords)
}

fn leak_c_string(text: String) -> PyResult<*const c_char> {
    Ok(CString::new(text)?.into_raw().cast_const())
}

fn method_def(
    py: Python<'_>,
    entries: &Entries,
    index: usize,
    name: &str,
    method: bool,
) -> PyResult<*mut c::PyMethodDef> {
    let (decl, in_place) = (registry()[index], ptr::eq(entries, &IN_PLACE_ENTRIES));
    Ok(Box::into_raw(Box::new(c::PyMethodDef {
        ml_name: leak_c_string(name.to_owned())?,
        ml_meth: c::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: entries[index / 16][index % 16],
        },
        ml_flags: c::METH_FASTCALL | c::METH_KEYWORDS,
        ml_doc: leak_c_string(documentation(py, decl, name, method, in_place)?)?,
    })))
}

unsafe extern "C" {
    /// The address of an object's `__dict__`; exported by every CPython, but not declared by pyo3.
    fn _PyObject_GetDictPtr(ob: *mut c::PyObject) -> *mut *mut c::PyObject;
}

/// The `__dict__` of an object, if it was ever created; unlike `__dict__` this creates nothing.
pub(crate) fn existing_dict<'py>(ob: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    // SAFETY: the object is live and the thread attached; the slot of the dict, if there is one, is valid while the
    // object is, and the dict is borrowed until the reference is counted.
    unsafe {
        let place = _PyObject_GetDictPtr(ob.as_ptr());
        let dict = if place.is_null() { ptr::null_mut() } else { *place };
        Bound::from_borrowed_ptr_or_opt(ob.py(), dict)?.cast_into().ok()
    }
}

/// Creates the module function of an operation.
pub(crate) fn function<'py>(
    module: &Bound<'py, PyModule>,
    index: usize,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let owner = module.name()?;
    // SAFETY: the definition is leaked, so it outlives the function object.
    unsafe {
        let made = c::PyCFunction_NewEx(
            method_def(module.py(), &ENTRIES, index, name, false)?,
            ptr::null_mut(),
            owner.as_ptr(),
        );
        Bound::from_owned_ptr_or_err(module.py(), made)
    }
}

/// Creates the method of an operation, or its in-place variant.
pub(crate) fn method<'py>(
    class: &Bound<'py, PyType>,
    index: usize,
    in_place: bool,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let definition =
        method_def(py, if in_place { &IN_PLACE_ENTRIES } else { &ENTRIES }, index, name, true)?;
    // SAFETY: as in `function`; the descriptor keeps its own reference to the type.
    unsafe {
        let method = c::PyDescr_NewMethod(class.as_type_ptr(), definition);
        Bound::from_owned_ptr_or_err(py, method)
    }
}
