//! Functions and methods of `_core`, made from the registry without a macro per operation.
//!
//! Owns: the C entry points and the method definitions handed to CPython, which live for ever.
//! Never binds an argument: that is `dispatch.rs`. Never decides which there are: that is `names/list.rs`.
//! Invariant: entry point `I` calls `registry()[I]`; no panic crosses into C.

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
use crate::bindings::call::{attributes, small_ops};
use crate::bindings::errors::to_python;
use crate::bindings::object::{PyTensor, wrap};
use crate::error::Error;
use crate::graph::Mode;
use crate::ops::core::elementwise::{binary, unary_with};
use crate::ops::core::op_decl::{OpDecl, Shortcut};
use crate::ops::registry;
use crate::tensor::Tensor;

type Call = for<'py> fn(
    Python<'py>,
    &'static OpDecl,
    &[Bound<'py, PyAny>],
    &[Keyword<'py>],
) -> PyResult<Bound<'py, PyAny>>;
/// What the short way gave, if it was taken.
type Short<'py> = Option<PyResult<Bound<'py, PyAny>>>;
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
    unsafe { enter(I, slf, args, nargs as usize, kwnames) }
}

/// # Safety
/// As `entry`.
unsafe extern "C" fn change<const I: usize>(
    slf: *mut c::PyObject,
    args: *const *mut c::PyObject,
    nargs: c::Py_ssize_t,
    kwnames: *mut c::PyObject,
) -> *mut c::PyObject {
    // SAFETY: the caller's contract.
    unsafe { general(dispatch::change, I, slf, args, nargs as usize, kwnames) }
}

type Entries = [[Entry; 16]; MOST / 16];

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

/// The most operations that there may be.
pub(crate) const MOST: usize = 512;

static ENTRIES: Entries = entries!(entry);
/// The entry points of the methods that change their receiver.
static CHANGES: Entries = entries!(change);

/// # Safety
/// As `entry`.
#[inline]
unsafe fn enter(
    index: usize,
    slf: *mut c::PyObject,
    args: *const *mut c::PyObject,
    nargs: usize,
    kwnames: *mut c::PyObject,
) -> *mut c::PyObject {
    let decl = registry()[index];
    let mode = Mode::current();
    if kwnames.is_null() && !intercept::intercepts(mode) {
        // SAFETY: the arguments are `slf`, if it is there, and `nargs` more; attached.
        let few = unsafe {
            match (&decl.shortcut, slf.is_null(), nargs) {
                (Shortcut::Unary(op, []), false, 0) => small_ops::one(op, slf, mode),
                (Shortcut::Unary(op, []), true, 1) => small_ops::one(op, *args, mode),
                (Shortcut::Binary(op), false, 1) => small_ops::two(op, slf, *args, mode),
                (Shortcut::Binary(op), true, 2) => small_ops::two(op, *args, *args.add(1), mode),
                _ => None,
            }
        };
        if let Some(object) = few {
            return object;
        }
        // SAFETY: as above.
        let done = unsafe {
            match (slf.is_null(), nargs) {
                (false, 0) => alone(index, slf),
                (true, 1) => alone(index, *args),
                (false, 1) => paired(decl, slf, *args),
                (true, 2) => paired(decl, *args, *args.add(1)),
                _ => None,
            }
        };
        match done {
            Some(Ok(object)) => return object.into_ptr(),
            // SAFETY: attached, as CPython calls.
            Some(Err(error)) => return raise(unsafe { Python::assume_attached() }, error),
            None => {}
        }
    }
    // SAFETY: the caller's contract.
    unsafe { general(dispatch::call, index, slf, args, nargs, kwnames) }
}

/// Sets the exception; the null that tells CPython of it.
#[cold]
fn raise(py: Python<'_>, error: PyErr) -> *mut c::PyObject {
    error.restore(py);
    ptr::null_mut()
}

/// The error of a panic.
#[cold]
fn panicked(decl: &OpDecl) -> PyErr {
    to_python(Box::new(Error::Internal {
        op: decl.name.into(),
        what: "the operation panicked".into(),
    }))
}

/// The small tensor that an object is exactly.
///
/// # Safety
/// `ob` is a live object and the thread is attached.
#[inline(always)]
unsafe fn small<'a>(ob: *mut c::PyObject) -> Option<&'a Tensor> {
    // SAFETY: the caller's contract; the class is frozen, so the tensor stays where it is while the
    // caller's argument lives.
    unsafe {
        let ob = Borrowed::<PyAny>::from_ptr(Python::assume_attached(), ob);
        let tensor = &(*ptr::from_ref(ob.cast_exact::<PyTensor>().ok()?.get())).tensor;
        (tensor.size() <= intercept::SMALL).then_some(tensor)
    }
}

/// The result for one exact tensor and all defaults; `None` leaves the call to the general path.
///
/// # Safety
/// `ob` is a live object and the thread is attached.
#[inline]
unsafe fn alone<'py>(index: usize, ob: *mut c::PyObject) -> Short<'py> {
    let decl = registry()[index];
    if !matches!(decl.shortcut, Shortcut::Unary(..) | Shortcut::Plain(_)) {
        return None;
    }
    // SAFETY: the caller's contract.
    let (x, py) = unsafe { (small(ob)?, Python::assume_attached()) };
    // SAFETY: `small` saw an exact tensor.
    let source = || unsafe { Bound::from_borrowed_ptr(py, ob).cast_into_unchecked::<PyTensor>() };
    let run = || match decl.shortcut {
        Shortcut::Unary(op, defaults) => {
            let out = unary_with(op, x, defaults)?;
            if !defaults.is_empty() {
                attributes::of_default(index, x, &out);
            }
            wrap(py, out)
        }
        Shortcut::Plain(plain) => {
            let output = plain(x)?;
            if decl.has_attributes {
                attributes::by_default(index, x, &output);
            }
            dispatch::wrap_output(py, decl, output, Some(&source()))
        }
        Shortcut::Binary(_) | Shortcut::None => Err(panicked(decl)),
    };
    Some(catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(panicked(decl))))
}

/// The same for two exact tensors.
///
/// # Safety
/// `a` and `b` are live objects and the thread is attached.
#[inline]
unsafe fn paired<'py>(decl: &OpDecl, a: *mut c::PyObject, b: *mut c::PyObject) -> Short<'py> {
    let Shortcut::Binary(op) = decl.shortcut else {
        return None;
    };
    // SAFETY: the caller's contract.
    let (a, b, py) = unsafe { (small(a)?, small(b)?, Python::assume_attached()) };
    let run = || wrap(py, binary(op, a, b)?);
    Some(catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(panicked(decl))))
}

/// # Safety
/// As `entry`.
#[inline(never)]
unsafe fn general(
    call: Call,
    index: usize,
    slf: *mut c::PyObject,
    args: *const *mut c::PyObject,
    nargs: usize,
    kwnames: *mut c::PyObject,
) -> *mut c::PyObject {
    let decl = registry()[index];
    attached(|py| {
        // SAFETY: CPython passes borrowed, live objects: `nargs` positional ones, then one per keyword name. A `Bound` is
        // the pointer to its object.
        let (given, receiver) = unsafe {
            let given = match nargs {
                0 => &[],
                _ => slice::from_raw_parts(args.cast::<Bound<'_, PyAny>>(), nargs),
            };
            (given, Bound::from_borrowed_ptr_or_opt(py, slf))
        };
        let run = || -> PyResult<Bound<'_, PyAny>> {
            // SAFETY: as above.
            let keywords = unsafe { named(py, args, nargs, kwnames)? };
            let Some(receiver) = receiver else {
                return call(py, decl, given, &keywords);
            };
            let mut positional = Positional::new();
            positional.push(receiver);
            given.iter().for_each(|value| positional.push(value.clone()));
            call(py, decl, &positional, &keywords)
        };
        match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(panicked(decl))) {
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
unsafe fn named<'py>(
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

fn leak(text: String) -> PyResult<*const c_char> {
    Ok(CString::new(text)?.into_raw().cast_const())
}

fn definition(
    py: Python<'_>,
    entries: &Entries,
    index: usize,
    name: &str,
    method: bool,
) -> PyResult<*mut c::PyMethodDef> {
    let (decl, changes) = (registry()[index], ptr::eq(entries, &CHANGES));
    Ok(Box::into_raw(Box::new(c::PyMethodDef {
        ml_name: leak(name.to_owned())?,
        ml_meth: c::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: entries[index / 16][index % 16],
        },
        ml_flags: c::METH_FASTCALL | c::METH_KEYWORDS,
        ml_doc: leak(documentation(py, decl, name, method, changes)?)?,
    })))
}

unsafe extern "C" {
    /// Where an object keeps its attributes; exported by every CPython, absent from pyo3's declarations.
    fn _PyObject_GetDictPtr(ob: *mut c::PyObject) -> *mut *mut c::PyObject;
}

/// The attributes of an object, if any was ever set; unlike `__dict__` it creates nothing.
pub(crate) fn existing_dict<'py>(ob: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    // SAFETY: the object is live and the thread attached; the place of the dict, if there is one, is
    // valid while the object is, and what it holds is borrowed until the reference is counted.
    unsafe {
        let place = _PyObject_GetDictPtr(ob.as_ptr());
        let dict = if place.is_null() { ptr::null_mut() } else { *place };
        Bound::from_borrowed_ptr_or_opt(ob.py(), dict)?.cast_into().ok()
    }
}

/// The function of the module that calls an operation.
pub(crate) fn function<'py>(
    module: &Bound<'py, PyModule>,
    index: usize,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let owner = module.name()?;
    // SAFETY: the definition is leaked, so it outlives the function object.
    unsafe {
        let made = c::PyCFunction_NewEx(
            definition(module.py(), &ENTRIES, index, name, false)?,
            ptr::null_mut(),
            owner.as_ptr(),
        );
        Bound::from_owned_ptr_or_err(module.py(), made)
    }
}

/// The method that calls an operation, or that `changes` its receiver with it.
pub(crate) fn method<'py>(
    class: &Bound<'py, PyType>,
    index: usize,
    changes: bool,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let definition = definition(py, if changes { &CHANGES } else { &ENTRIES }, index, name, true)?;
    // SAFETY: as in `function`; the descriptor keeps its own reference to the type.
    unsafe {
        let method = c::PyDescr_NewMethod(class.as_type_ptr(), definition);
        Bound::from_owned_ptr_or_err(py, method)
    }
}
