//! Methods of tensors that are made when they are first asked for.
//!
//! Owns: what stands in the class until then, and the putting of the method there. Never decides which methods there
//! are: that is `list.rs`.
//! Invariant: what a program has put under the name of a method stays.

use std::ffi::{c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi as c;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::bindings::attach::attached;
use crate::bindings::call::entry;
use crate::bindings::call::lazy_methods;
use crate::bindings::call::lazy_methods::Source;
use crate::bindings::errors::bad_type;
use crate::bindings::object::PyTensor;
use crate::bindings::package;
use crate::ops::registry;

/// A method, or an attribute, that puts itself into the class when it is first asked for. Most programs use a few of the
/// five hundred. A class of PyO3's would have the collector walk over each of these objects, which hold no others.
#[repr(C)]
struct Late {
    head: c::PyObject,
    /// The key in the class.
    name: *mut c::PyObject,
    source: Source,
}

/// What the method gives for this tensor, or for the class (None).
fn asked<'py>(
    late: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    source: Source,
    tensor: Option<Bound<'py, PyAny>>,
    kind: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = late.py();
    let class = py.get_type::<PyTensor>();
    let method = match source {
        Source::Operation { index, changes } => {
            entry::method(&class, usize::from(index), changes, name.to_str()?)?
        }
        Source::Package(row) => {
            let (module, _) = package::METHODS[usize::from(row)];
            py.import(module)?.getattr(name)?
        }
    };
    let there = class.getattr(intern!(py, "__dict__"))?.get_item(name);
    if there.is_ok_and(|there| there.is(late)) {
        class.setattr(name, &method)?;
    }
    method.call_method1(intern!(py, "__get__"), (tensor, kind))
}

/// # Safety
/// Called by CPython as `tp_descr_get` of an object that `fill` made, attached.
unsafe extern "C" fn look(
    slf: *mut c::PyObject,
    tensor: *mut c::PyObject,
    kind: *mut c::PyObject,
) -> *mut c::PyObject {
    attached(|py| {
        let run = || {
            // SAFETY: the caller's contract: live objects, of which the last two may be absent.
            let (late, name, tensor, kind) = unsafe {
                (
                    Bound::from_borrowed_ptr(py, slf),
                    Bound::from_borrowed_ptr(py, (*slf.cast::<Late>()).name),
                    Bound::from_borrowed_ptr_or_opt(py, tensor),
                    Bound::from_borrowed_ptr_or_opt(py, kind),
                )
            };
            // SAFETY: as above.
            let source = unsafe { (*slf.cast::<Late>()).source };
            asked(&late, name.cast::<PyString>()?, source, tensor, kind)
        };
        let panicked = || PyAttributeError::new_err("the making of the method panicked");
        match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(panicked())) {
            Ok(value) => value.into_ptr(),
            Err(error) => {
                error.restore(py);
                ptr::null_mut()
            }
        }
    })
}

/// The class of what stands for a method.
fn kind(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let slots = [
        c::PyType_Slot { slot: c::Py_tp_descr_get, pfunc: look as *mut c_void },
        c::PyType_Slot { slot: 0, pfunc: ptr::null_mut() },
    ];
    let flags = c::Py_TPFLAGS_DEFAULT | c::Py_TPFLAGS_DISALLOW_INSTANTIATION;
    let mut spec = c::PyType_Spec {
        name: c"ferrograd._core._Late".as_ptr(),
        basicsize: size_of::<Late>() as c_int,
        itemsize: 0,
        flags: flags as c_uint,
        slots: slots.as_ptr().cast_mut(),
    };
    // SAFETY: the specification lives until the call returns, and CPython copies it; attached.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, c::PyType_FromSpec(&raw mut spec))? };
    Ok(made.cast_into()?)
}

/// Gives the class of tensors, which nobody has seen yet, every method that is an operation and those that the package
/// has written.
pub(crate) fn fill(class: &Bound<'_, PyType>) -> PyResult<()> {
    let (py, count) = (class.py(), registry().len());
    if count > entry::MOST {
        return Err(bad_type("_core", format!("{count} operations"), "enlarge ENTRIES"));
    }
    let kind = kind(py)?;
    for (name, source) in lazy_methods::methods() {
        let name = PyString::intern(py, &name);
        // SAFETY: attached. An allocation is an object of the class with all that follows its head zero, and nobody else
        // has it yet. The class is ready, so its dict is there; an assignment to the attribute would look for a
        // descriptor in the class of the class and forget what is known of the subclasses, each time.
        let done = unsafe {
            let late = c::PyType_GenericAlloc(kind.as_type_ptr(), 0);
            let late = Bound::from_owned_ptr_or_err(py, late)?;
            let own = late.as_ptr().cast::<Late>();
            (&raw mut (*own).source).write(source);
            // A reference that is never given back: the object may outlive its place in the class.
            (&raw mut (*own).name).write(name.clone().into_ptr());
            c::PyDict_SetItem((*class.as_type_ptr()).tp_dict, name.as_ptr(), late.as_ptr())
        };
        if done != 0 {
            return Err(PyErr::fetch(py));
        }
    }
    // SAFETY: the class is live; attached.
    unsafe { c::PyType_Modified(class.as_type_ptr()) }
    Ok(())
}
