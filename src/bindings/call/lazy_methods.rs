//! Operations as functions and methods in Python: their names, and the methods of `Tensor`, created when first looked up.
//!
//! Invariant: no two methods have one name, and no two functions; an attribute that a program has assigned to the class is not replaced.

use std::borrow::Cow;
use std::ffi::{c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi as c;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::bindings::attach::attached;
use crate::bindings::call::entry;
use crate::bindings::call::python_methods::PYTHON_METHODS;
use crate::bindings::errors::bad_type;
use crate::bindings::object::PyTensor;
use crate::bindings::package;
use crate::ops::core::op_decl::OpDecl;
use crate::ops::registry;

/// A non-data descriptor that replaces itself in the class by the real method at the first look-up: most programs use a
/// few of the five hundred methods. Not a pyo3 class, since the garbage collector would then traverse each of these
/// objects, which refer to nothing that can form a cycle.
#[repr(C)]
struct LazyMethod {
    head: c::PyObject,
    /// The attribute name in the class.
    name: *mut c::PyObject,
    source: MethodSource,
}

/// Creates the method, puts it into the class, and binds it to `tensor` (None for access through the class).
fn resolve<'py>(
    descriptor: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    source: MethodSource,
    tensor: Option<Bound<'py, PyAny>>,
    kind: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = descriptor.py();
    let class = py.get_type::<PyTensor>();
    let method = match source {
        MethodSource::Operation { index, in_place } => {
            entry::method(&class, usize::from(index), in_place, name.to_str()?)?
        }
        MethodSource::Package(row) => {
            let (module, _) = PYTHON_METHODS[usize::from(row)];
            py.import(format!("{}.{module}", package::PACKAGE))?.getattr(name)?
        }
    };
    let there = class.getattr(intern!(py, "__dict__"))?.get_item(name);
    if there.is_ok_and(|there| there.is(descriptor)) {
        class.setattr(name, &method)?;
    }
    method.call_method1(intern!(py, "__get__"), (tensor, kind))
}

/// # Safety
/// Called by CPython as `tp_descr_get` of an object that `install` made, attached.
unsafe extern "C" fn descr_get(
    slf: *mut c::PyObject,
    tensor: *mut c::PyObject,
    kind: *mut c::PyObject,
) -> *mut c::PyObject {
    attached(|py| {
        let run = || {
            // SAFETY: the caller's contract: live objects; the last two may be null.
            let (descriptor, name, tensor, kind) = unsafe {
                (
                    Bound::from_borrowed_ptr(py, slf),
                    Bound::from_borrowed_ptr(py, (*slf.cast::<LazyMethod>()).name),
                    Bound::from_borrowed_ptr_or_opt(py, tensor),
                    Bound::from_borrowed_ptr_or_opt(py, kind),
                )
            };
            // SAFETY: as above.
            let source = unsafe { (*slf.cast::<LazyMethod>()).source };
            resolve(&descriptor, name.cast::<PyString>()?, source, tensor, kind)
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

/// Creates the descriptor class.
fn descriptor_class(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let slots = [
        c::PyType_Slot { slot: c::Py_tp_descr_get, pfunc: descr_get as *mut c_void },
        c::PyType_Slot { slot: 0, pfunc: ptr::null_mut() },
    ];
    let flags = c::Py_TPFLAGS_DEFAULT | c::Py_TPFLAGS_DISALLOW_INSTANTIATION;
    let mut spec = c::PyType_Spec {
        name: c"ferrograd._core._Late".as_ptr(),
        basicsize: size_of::<LazyMethod>() as c_int,
        itemsize: 0,
        flags: flags as c_uint,
        slots: slots.as_ptr().cast_mut(),
    };
    // SAFETY: the spec lives until the call returns, and CPython copies it; attached.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, c::PyType_FromSpec(&raw mut spec))? };
    Ok(made.cast_into()?)
}

/// Adds a descriptor for every method to the class of tensors, which must not be visible to Python code yet.
pub(crate) fn install(class: &Bound<'_, PyType>) -> PyResult<()> {
    let (py, count) = (class.py(), registry().len());
    if count > entry::MAX_OPERATIONS {
        return Err(bad_type("_core", format!("{count} operations"), "enlarge ENTRIES"));
    }
    let class_of_descriptors = descriptor_class(py)?;
    for (name, source) in methods() {
        let name = PyString::intern(py, &name);
        // SAFETY: attached. `PyType_GenericAlloc` returns a zeroed object that nothing else refers to. The class is
        // ready, so its dict exists; setting the attribute instead would look up the metaclass and invalidate the
        // caches of subclasses each time.
        let done = unsafe {
            let descriptor = c::PyType_GenericAlloc(class_of_descriptors.as_type_ptr(), 0);
            let descriptor = Bound::from_owned_ptr_or_err(py, descriptor)?;
            let own = descriptor.as_ptr().cast::<LazyMethod>();
            (&raw mut (*own).source).write(source);
            // A leaked reference: the object may outlive its place in the class.
            (&raw mut (*own).name).write(name.clone().into_ptr());
            c::PyDict_SetItem((*class.as_type_ptr()).tp_dict, name.as_ptr(), descriptor.as_ptr())
        };
        if done != 0 {
            return Err(PyErr::fetch(py));
        }
    }
    // SAFETY: the class is live; attached.
    unsafe { c::PyType_Modified(class.as_type_ptr()) }
    Ok(())
}

/// The implementation of a method of `Tensor`.
#[derive(Clone, Copy)]
pub(crate) enum MethodSource {
    /// The operation with this number, or its in-place variant.
    Operation { index: u16, in_place: bool },
    /// A Python method: the row of `PYTHON_METHODS`.
    Package(u16),
}

/// The name of an operation and its aliases.
fn names(decl: &OpDecl) -> impl Iterator<Item = &'static str> {
    std::iter::once(decl.name).chain(decl.facts.aliases.iter().copied())
}

/// The methods of an operation, and whether they work in place.
fn methods_of(decl: &'static OpDecl) -> impl Iterator<Item = (Cow<'static, str>, bool)> {
    let (top, alone) = (decl.is_top_level(), decl.is_method_only());
    let in_place = top && decl.in_place.is_some();
    let others = if in_place { decl.facts.in_place_aliases } else { &[] };
    let plain = names(decl).filter(move |_| alone || top && decl.takes_tensor());
    let in_place_names =
        names(decl).filter(move |_| in_place).map(|name| Cow::from(format!("{name}_")));
    others
        .iter()
        .map(|name| (Cow::from(*name), true))
        .chain(plain.map(|name| (name.into(), false)))
        .chain(in_place_names.map(|name| (name, true)))
}

/// All lazily created methods.
pub(crate) fn methods() -> impl Iterator<Item = (Cow<'static, str>, MethodSource)> {
    let operations = registry().iter().enumerate().flat_map(|(index, decl)| {
        let index = index as u16;
        methods_of(decl)
            .map(move |(name, in_place)| (name, MethodSource::Operation { index, in_place }))
    });
    let written = (0..).zip(PYTHON_METHODS).flat_map(|(row, (_, names))| {
        names.split(' ').map(move |name| (name.into(), MethodSource::Package(row)))
    });
    operations.chain(written)
}

/// The module functions that are operations: their numbers and names.
pub(crate) fn functions() -> impl Iterator<Item = (usize, &'static str)> {
    let top = registry().iter().enumerate().filter(|(_, decl)| decl.is_top_level());
    top.flat_map(|(index, decl)| decl.functions().map(move |name| (index, name)))
}

/// The module function of this name, if it is an operation.
pub(crate) fn function<'py>(
    module: &Bound<'py, PyModule>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = functions().find(|(_, known)| *known == name);
    found.map(|(index, name)| entry::function(module, index, name)).transpose()
}

/// The functions of each namespace, by its name.
pub(crate) fn namespaces<'py>(module: &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyAny>> {
    let spaces = PyDict::new(module.py());
    for (index, decl) in registry().iter().enumerate().filter(|(_, decl)| !decl.is_method_only()) {
        for space in decl.facts.namespaces.iter().filter(|space| !space.is_empty()) {
            let members = match spaces.get_item(space)? {
                Some(members) => members.cast_into::<PyDict>()?,
                None => {
                    let fresh = PyDict::new(module.py());
                    spaces.set_item(space, &fresh)?;
                    fresh
                }
            };
            for name in decl.functions() {
                members.set_item(name, entry::function(module, index, name)?)?;
            }
        }
    }
    Ok(spaces.into_any())
}
