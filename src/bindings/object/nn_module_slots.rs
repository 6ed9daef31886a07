//! Type slots that replace CPython's in `Module` classes: attribute look-up of registered members, and calls without
//! hooks. Also the traversal of submodules. Everything else goes to `Module.__getattr__` and `Module.__call__`.
//!
//! Invariant: a class that overrides one of those methods keeps CPython's slot; without a GIL the slots are not used.

use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, Ordering};

use pyo3::PyTypeInfo;
use pyo3::exceptions::PyAttributeError;
use pyo3::ffi as c;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyType};
use smallvec::SmallVec;

use crate::bindings::object::free_list::HAS_GIL;

type Object = *mut c::PyObject;

unsafe extern "C" {
    /// Looks a name up in the MRO of a class: a borrowed reference from CPython's type cache, or null without an
    /// exception.
    fn _PyType_Lookup(class: *mut c::PyTypeObject, name: Object) -> Object;
}

/// Number of active traces that observe member look-ups.
static ACTIVE_TRACES: AtomicIsize = AtomicIsize::new(0);

/// Interned names and the original slot.
struct Names {
    getattr: Py<PyString>,
    hooks: Py<PyString>,
    forward: Py<PyString>,
    tables: [Py<PyString>; 3],
    /// CPython's `tp_call` of a class with `__call__`.
    call: c::ternaryfunc,
}

static NAMES: OnceLock<Names> = OnceLock::new();

/// Adds `change` to the number of active traces.
#[pyfunction]
pub(crate) fn _watch_members(change: isize) {
    ACTIVE_TRACES.fetch_add(change, Ordering::Relaxed);
}

/// Installs the type slots in a `Module` class, if `getattr` and `call` are its `__getattr__` and `__call__`.
#[pyfunction]
pub(crate) fn _shorten_module(
    class: &Bound<'_, PyType>,
    getattr: &Bound<'_, PyAny>,
    call: &Bound<'_, PyAny>,
) {
    let py = class.py();
    let kind = class.as_type_ptr();
    let name = |text| PyString::intern(py, text).unbind();
    // SAFETY: attached; the class is live, and its slots are only changed with the GIL held.
    unsafe {
        let inherits = |text, want: &Bound<'_, PyAny>| {
            let name = PyString::intern(py, text);
            ptr::eq(_PyType_Lookup(class.as_type_ptr(), name.as_ptr()), want.as_ptr())
        };
        let plain = _PyType_Lookup(
            <PyAny as PyTypeInfo>::type_object_raw(py),
            PyString::intern(py, "__getattribute__").as_ptr(),
        );
        let (Some(before), true) = ((*kind).tp_call, HAS_GIL) else {
            return;
        };
        NAMES.get_or_init(|| Names {
            getattr: name("__getattr__"),
            hooks: name("_hooks"),
            forward: name("forward"),
            tables: ["_parameters", "_buffers", "_modules"].map(name),
            call: before,
        });
        let plain = Bound::from_borrowed_ptr(py, plain);
        if inherits("__getattr__", getattr) && inherits("__getattribute__", &plain) {
            (*kind).tp_getattro = Some(getattro);
        }
        if inherits("__call__", call) {
            (*kind).tp_call = Some(call_forward);
        }
        c::PyType_Modified(kind);
    }
}

/// A module and all its submodules, depth first, each once; with a table's name, the distinct values of that table.
#[pyfunction]
#[pyo3(signature = (module, table=None))]
pub(crate) fn _below<'py>(
    module: &Bound<'py, PyAny>,
    table: Option<&Bound<'py, PyString>>,
) -> PyResult<Bound<'py, PyList>> {
    let (py, mut seen) = (module.py(), ObjectSet::default());
    let (found, mut pending) = (PyList::empty(py), vec![module.clone()]);
    while let Some(member) = pending.pop() {
        let (module, dict) = module_and_dict(member)?;
        if !seen.insert(&module) {
            continue;
        }
        match table {
            None => found.append(&module)?,
            Some(table) => each_value(&dict, table, |held| match seen.insert(&held) {
                true => found.append(held),
                false => Ok(()),
            })?,
        }
        let first = pending.len();
        each_value(&dict, intern!(py, "_modules"), |child| {
            pending.push(child);
            Ok(())
        })?;
        pending[first..].reverse();
    }
    Ok(found)
}

/// The module of a member (the member itself, or the module it was compiled from) and its `__dict__`.
fn module_and_dict<'py>(
    mut member: Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let py = member.py();
    loop {
        let dict = member.getattr(intern!(py, "__dict__")).ok();
        if let Some(Ok(dict)) = dict.map(Bound::cast_into::<PyDict>)
            && dict.contains(intern!(py, "_modules"))?
        {
            return Ok((member, dict));
        }
        member = member.getattr(intern!(py, "__wrapped__"))?;
    }
}

/// Calls `take` with each value of a table.
fn each_value<'py>(
    dict: &Bound<'py, PyDict>,
    table: &Bound<'py, PyString>,
    mut take: impl FnMut(Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let Some(table) = dict.get_item(table)? else {
        return Ok(());
    };
    match table.cast_exact::<PyDict>() {
        Ok(table) => table.iter().try_for_each(|(_, value)| take(value)),
        // A dict subclass may override `values`.
        Err(_) => {
            let values = table.call_method0(intern!(dict.py(), "values"))?;
            values.try_iter()?.try_for_each(|value| take(value?))
        }
    }
}

/// A set of objects by identity; the first few are searched linearly, which is faster than hashing.
#[derive(Default)]
struct ObjectSet {
    inline: SmallVec<[Object; 16]>,
    hashed: HashSet<Object>,
}

impl ObjectSet {
    /// Inserts an object and returns whether it is new.
    fn insert(&mut self, ob: &Bound<'_, PyAny>) -> bool {
        let ob = ob.as_ptr();
        if self.inline.contains(&ob) || self.hashed.contains(&ob) {
            return false;
        }
        if self.inline.len() < self.inline.inline_size() {
            self.inline.push(ob);
            return true;
        }
        self.hashed.insert(ob)
    }
}

/// `tp_getattro`: looks in the class, the `__dict__`, then the registered members; otherwise calls the class's
/// `__getattr__`.
///
/// # Safety
/// As `tp_getattro`.
unsafe extern "C" fn getattro(slf: Object, name: Object) -> Object {
    // SAFETY: the caller's contract: live objects, attached. Borrowed references are held by a dict, and no code that
    // could change it runs meanwhile.
    unsafe {
        if !_PyType_Lookup(c::Py_TYPE(slf), name).is_null() {
            let found = c::PyObject_GenericGetAttr(slf, name);
            if !found.is_null() || c::PyErr_ExceptionMatches(c::PyExc_AttributeError) == 0 {
                return found;
            }
            c::PyErr_Clear();
            return call_getattr(slf, name);
        }
        let dict = c::PyObject_GenericGetDict(slf, ptr::null_mut::<c_void>());
        if dict.is_null() {
            return dict;
        }
        let mut found = c::PyDict_GetItemWithError(dict, name);
        if found.is_null() && ACTIVE_TRACES.load(Ordering::Relaxed) == 0 {
            found = registered_member(dict, name);
        }
        c::Py_XINCREF(found);
        c::Py_DECREF(dict);
        if found.is_null() && c::PyErr_Occurred().is_null() {
            call_getattr(slf, name)
        } else {
            found
        }
    }
}

/// The registered member of this name, borrowed; null if there is none, or with an exception set.
///
/// # Safety
/// The objects live, the first is a dict, and the thread is attached.
unsafe fn registered_member(dict: Object, name: Object) -> Object {
    let tables = NAMES.get().map_or(&[][..], |names| &names.tables);
    for table in tables {
        // SAFETY: the caller's contract.
        unsafe {
            let table = c::PyDict_GetItemWithError(dict, table.as_ptr());
            if !table.is_null() && c::PyDict_Check(table) != 0 {
                let found = c::PyDict_GetItemWithError(table, name);
                if !found.is_null() || !c::PyErr_Occurred().is_null() {
                    return found;
                }
            }
        }
    }
    ptr::null_mut()
}

/// Calls the class's `__getattr__`.
///
/// # Safety
/// The objects live, and the thread is attached.
#[cold]
unsafe fn call_getattr(slf: Object, name: Object) -> Object {
    // SAFETY: the caller's contract.
    unsafe {
        match NAMES.get() {
            Some(names) => c::PyObject_CallMethodOneArg(slf, names.getattr.as_ptr(), name),
            None => {
                PyAttributeError::new_err("a module without names")
                    .restore(Python::assume_attached());
                ptr::null_mut()
            }
        }
    }
}

/// `tp_call`: calls the class's `forward` directly if no trace is active and there are no hooks; otherwise the class's
/// `__call__`.
///
/// # Safety
/// As `tp_call`.
unsafe extern "C" fn call_forward(slf: Object, args: Object, keywords: Object) -> Object {
    let Some(names) = NAMES.get() else {
        return ptr::null_mut();
    };
    // SAFETY: the caller's contract: live objects, attached; the method is kept alive while it runs, the arguments by
    // the caller.
    unsafe {
        let method = _PyType_Lookup(c::Py_TYPE(slf), names.forward.as_ptr());
        let plain_call = ACTIVE_TRACES.load(Ordering::Relaxed) == 0
            && !method.is_null()
            && c::PyType_HasFeature(c::Py_TYPE(method), c::Py_TPFLAGS_METHOD_DESCRIPTOR) != 0
            && dict_lacks(slf, [&names.hooks, &names.forward]);
        if !plain_call {
            return (names.call)(slf, args, keywords);
        }
        c::Py_INCREF(method);
        let count = c::PyTuple_GET_SIZE(args) as usize;
        let mut given: SmallVec<[Object; 6]> = SmallVec::with_capacity(count + 1);
        given.push(slf);
        given.extend((0..count).map(|i| c::PyTuple_GET_ITEM(args, i as c::Py_ssize_t)));
        let result = c::PyObject_VectorcallDict(method, given.as_ptr(), given.len(), keywords);
        c::Py_DECREF(method);
        result
    }
}

/// Whether the `__dict__` of an object has none of the names.
///
/// # Safety
/// The object lives, and the thread is attached.
unsafe fn dict_lacks(slf: Object, names: [&Py<PyString>; 2]) -> bool {
    // SAFETY: the caller's contract.
    unsafe {
        let dict = c::PyObject_GenericGetDict(slf, ptr::null_mut::<c_void>());
        if dict.is_null() {
            c::PyErr_Clear();
            return false;
        }
        let none = names.iter().all(|name| c::PyDict_Contains(dict, name.as_ptr()) == 0);
        c::Py_DECREF(dict);
        none
    }
}
