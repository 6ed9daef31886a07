//! Graph scopes: who is told of every operation that is called.
//!
//! Owns: the observers of each thread and the call to them. Never keeps a tensor or a node.
//! Invariant: without an observer on the thread nothing is built, and what an observer does is not observed.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::graph::{FORWARD, Mode, ModeGuard, PACKING, TRACING, take_packing_failure};
use crate::ops::core::declare::OpDecl;

thread_local! {
    static OBSERVERS: RefCell<Vec<Py<PyAny>>> = const { RefCell::new(Vec::new()) };
}

/// Whether something is to be done after each operation of this thread: it is observed, or what it saves is packed.
#[inline]
pub(crate) fn active() -> bool {
    Mode::current().0 & (TRACING | PACKING) != 0
}

/// Whether this thread observes its operations; raises what the packing of the last one raised.
fn observed() -> PyResult<bool> {
    match take_packing_failure() {
        Some(error) => Err(error.into()),
        None => Ok(Mode::current().has(TRACING)),
    }
}

/// Calls `observer(name, arguments, attributes, result, inside)` after every operation called on this thread.
#[pyfunction]
pub(crate) fn _observe(observer: Py<PyAny>) {
    OBSERVERS.with_borrow_mut(|all| all.push(observer));
    Mode::current().with(TRACING, true).set();
}

/// Stops calling an observer.
#[pyfunction]
pub(crate) fn _unobserve(observer: &Bound<'_, PyAny>) {
    let gone = OBSERVERS.with_borrow_mut(|all| {
        let last = all.iter().rposition(|known| known.is(observer));
        last.map(|i| all.remove(i))
    });
    drop(gone);
    let more = OBSERVERS.with_borrow(|all| !all.is_empty());
    Mode::current().with(TRACING, more).set();
}

/// Tells the observers of one operation. `arguments` are those that may be tensors.
#[cold]
pub(crate) fn note<'py>(
    py: Python<'py>,
    name: &str,
    arguments: &Bound<'py, PyTuple>,
    attributes: Option<&Bound<'py, PyAny>>,
    result: &Bound<'py, PyAny>,
) -> PyResult<()> {
    if !observed()? {
        return Ok(());
    }
    let observers: Vec<Py<PyAny>> =
        OBSERVERS.with_borrow(|all| all.iter().map(|ob| ob.clone_ref(py)).collect());
    let inside = Mode::current().has(FORWARD);
    let _quiet = ModeGuard::switch(TRACING, false);
    for observer in observers {
        observer.call1(py, (name, arguments, attributes, result, inside))?;
    }
    Ok(())
}

/// Tells the observers of an operator.
#[cold]
pub(crate) fn operator<'py>(
    name: &str,
    operands: &[&Bound<'py, PyAny>],
    result: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let py = result.py();
    note(py, name, &PyTuple::new(py, operands)?, None, result)
}

/// Tells the observers of a call through the registry: tensors are arguments, the rest attributes by name.
#[cold]
pub(crate) fn dispatched<'py>(
    py: Python<'py>,
    decl: &OpDecl,
    positional: &[Bound<'py, PyAny>],
    keywords: &[(Bound<'py, PyString>, Bound<'py, PyAny>)],
    result: &Bound<'py, PyAny>,
) -> PyResult<()> {
    if !observed()? {
        return Ok(());
    }
    let attributes = PyDict::new(py);
    let last = decl.positional().saturating_sub(1);
    // The name of the result may follow the arguments.
    let arguments = if decl.facts.named { decl.params.len() } else { positional.len() };
    for (i, ob) in positional.iter().enumerate().take(arguments) {
        let name = decl.params.get(i.min(last)).map_or("", |param| param.name);
        let value = match attributes.get_item(name)? {
            // Several arguments for one parameter: `reshape(2, 3)`.
            Some(before) if i > last => spread(&before, ob)?,
            _ => ob.clone(),
        };
        attributes.set_item(name, value)?;
    }
    for (name, ob) in keywords.iter().filter(|(name, _)| !asked(decl, name)) {
        attributes.set_item(name, ob)?;
    }
    note(py, decl.name, &PyTuple::empty(py), Some(attributes.as_any()), result)
}

/// Whether a keyword says where the result goes or what it is called.
fn asked(decl: &OpDecl, keyword: &Bound<'_, PyString>) -> bool {
    let keyword = keyword.to_string_lossy();
    matches!(&*keyword, "out" | "name") && decl.parameter(&keyword).is_none()
}

fn spread<'py>(before: &Bound<'py, PyAny>, ob: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let mut all: Vec<Bound<'py, PyAny>> = match before.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![before.clone()],
    };
    all.push(ob.clone());
    Ok(PyTuple::new(ob.py(), all)?.into_any())
}

/// Tells the observers of a call of a custom function; its attributes are those of `owner`, if it has any.
#[cold]
pub(crate) fn called<'py>(
    owner: &Bound<'py, PyAny>,
    name: &str,
    arguments: &Bound<'py, PyTuple>,
    result: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let py = owner.py();
    let attributes = owner.getattr_opt(PyString::intern(py, "attrs"))?;
    note(py, name, arguments, attributes.as_ref(), result)
}
