//! The short ways of modules: to a registered member, through a call without hooks, and over all that a module holds.
//!
//! Owns: the two slots that stand in front of CPython's in classes of modules, the walk over members, and how many
//! recordings watch what modules hold. Never registers a member and never says that one is missing: `Module.__getattr__` and `Module.__call__` do, and
//! whatever is not of this sort goes to them.
//! Invariant: a class that has one of those methods from elsewhere, or defines it later, keeps CPython's slot; without a
//! GIL the slots are not used.

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
    /// What a class or its bases have under a name, borrowed, from CPython's cache; no exception where there is nothing.
    fn _PyType_Lookup(class: *mut c::PyTypeObject, name: Object) -> Object;
}

/// How many recordings note what they look at.
static WATCHING: AtomicIsize = AtomicIsize::new(0);

/// What the slots need on their way.
struct Names {
    getattr: Py<PyString>,
    hooks: Py<PyString>,
    forward: Py<PyString>,
    tables: [Py<PyString>; 3],
    /// CPython's slot of a class with `__call__`.
    call: c::ternaryfunc,
}

static NAMES: OnceLock<Names> = OnceLock::new();

/// Counts recordings that begin and end.
#[pyfunction]
pub(crate) fn _watch_members(change: isize) {
    WATCHING.fetch_add(change, Ordering::Relaxed);
}

/// Gives a class of modules the short ways, where `getattr` and `call` are its methods of those names.
#[pyfunction]
pub(crate) fn _shorten_module(
    class: &Bound<'_, PyType>,
    getattr: &Bound<'_, PyAny>,
    call: &Bound<'_, PyAny>,
) {
    let py = class.py();
    let kind = class.as_type_ptr();
    let name = |text| PyString::intern(py, text).unbind();
    // SAFETY: attached; the class lives, and its slots change only while the GIL is held.
    unsafe {
        let own = |text, want: &Bound<'_, PyAny>| {
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
        if own("__getattr__", getattr) && own("__getattribute__", &plain) {
            (*kind).tp_getattro = Some(member);
        }
        if own("__call__", call) {
            (*kind).tp_call = Some(forward);
        }
        c::PyType_Modified(kind);
    }
}

/// A module and all below, depth first, each once; with a table's name, what they hold there, each once.
#[pyfunction]
#[pyo3(signature = (module, table=None))]
pub(crate) fn _below<'py>(
    module: &Bound<'py, PyAny>,
    table: Option<&Bound<'py, PyString>>,
) -> PyResult<Bound<'py, PyList>> {
    let (py, mut seen) = (module.py(), Seen::default());
    let (found, mut pending) = (PyList::empty(py), vec![module.clone()]);
    while let Some(member) = pending.pop() {
        let (module, dict) = own(member)?;
        if !seen.adds(&module) {
            continue;
        }
        match table {
            None => found.append(&module)?,
            Some(table) => each_value(&dict, table, |held| match seen.adds(&held) {
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

/// A member's module, which is the member or what it is compiled of, and its dict.
fn own<'py>(mut member: Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
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

/// Calls `take` with what a table holds.
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
        // A table of another kind may have something to say.
        Err(_) => {
            let values = table.call_method0(intern!(dict.py(), "values"))?;
            values.try_iter()?.try_for_each(|value| take(value?))
        }
    }
}

/// Objects that were met. A few are looked through, which is faster than to hash them.
#[derive(Default)]
struct Seen {
    few: SmallVec<[Object; 16]>,
    many: HashSet<Object>,
}

impl Seen {
    /// Notes an object, and says whether it is new.
    fn adds(&mut self, ob: &Bound<'_, PyAny>) -> bool {
        let ob = ob.as_ptr();
        if self.few.contains(&ob) || self.many.contains(&ob) {
            return false;
        }
        if self.few.len() < self.few.inline_size() {
            self.few.push(ob);
            return true;
        }
        self.many.insert(ob)
    }
}

/// Finds an attribute: in the class, in the dict, among the members that are registered; else the class's `__getattr__` does.
///
/// # Safety
/// As `tp_getattro`.
unsafe extern "C" fn member(slf: Object, name: Object) -> Object {
    // SAFETY: the caller's contract: live objects, attached. What is borrowed is held by a dict that no code runs to change.
    unsafe {
        if !_PyType_Lookup(c::Py_TYPE(slf), name).is_null() {
            let found = c::PyObject_GenericGetAttr(slf, name);
            if !found.is_null() || c::PyErr_ExceptionMatches(c::PyExc_AttributeError) == 0 {
                return found;
            }
            c::PyErr_Clear();
            return missing(slf, name);
        }
        let dict = c::PyObject_GenericGetDict(slf, ptr::null_mut::<c_void>());
        if dict.is_null() {
            return dict;
        }
        let mut found = c::PyDict_GetItemWithError(dict, name);
        if found.is_null() && WATCHING.load(Ordering::Relaxed) == 0 {
            found = registered(dict, name);
        }
        c::Py_XINCREF(found);
        c::Py_DECREF(dict);
        if found.is_null() && c::PyErr_Occurred().is_null() { missing(slf, name) } else { found }
    }
}

/// The member that is registered under a name, borrowed; null if there is none, or with an exception.
///
/// # Safety
/// The objects live, the first is a dict, and the thread is attached.
unsafe fn registered(dict: Object, name: Object) -> Object {
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

/// What the class's `__getattr__` gives.
///
/// # Safety
/// The objects live, and the thread is attached.
#[cold]
unsafe fn missing(slf: Object, name: Object) -> Object {
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

/// Calls the class's `forward`, where nobody watches and there are no hooks; else the class's `__call__` does.
///
/// # Safety
/// As `tp_call`.
unsafe extern "C" fn forward(slf: Object, args: Object, keywords: Object) -> Object {
    let Some(names) = NAMES.get() else {
        return ptr::null_mut();
    };
    // SAFETY: the caller's contract: live objects, attached; the method is held while it runs, the arguments by the caller.
    unsafe {
        let method = _PyType_Lookup(c::Py_TYPE(slf), names.forward.as_ptr());
        let usual = WATCHING.load(Ordering::Relaxed) == 0
            && !method.is_null()
            && c::PyType_HasFeature(c::Py_TYPE(method), c::Py_TPFLAGS_METHOD_DESCRIPTOR) != 0
            && lacks(slf, [&names.hooks, &names.forward]);
        if !usual {
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

/// Whether the dict of an object has none of the names.
///
/// # Safety
/// The object lives, and the thread is attached.
unsafe fn lacks(slf: Object, names: [&Py<PyString>; 2]) -> bool {
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
