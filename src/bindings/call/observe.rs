//! Per-thread observers of operations (`fg.Graph()` scopes), which are notified after every call.
//!
//! Invariant: without observers nothing is built; calls made by an observer are not observed.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::bindings::call::intercept::Keyword;
use crate::bindings::call::signature_text::to_python_value;
use crate::graph::{FORWARD, Mode, ModeGuard, TRACING};
use crate::ops::core::op_decl::OpDecl;

thread_local! {
    static OBSERVERS: RefCell<Vec<Py<PyAny>>> = const { RefCell::new(Vec::new()) };
}

/// Restores the observers of this thread when dropped.
pub(crate) struct ObserversGuard(Vec<Py<PyAny>>);

/// Saves the observers of this thread; dropping the guard restores them.
pub(crate) fn save_observers(py: Python<'_>) -> ObserversGuard {
    ObserversGuard(OBSERVERS.with_borrow(|all| all.iter().map(|ob| ob.clone_ref(py)).collect()))
}

impl Drop for ObserversGuard {
    fn drop(&mut self) {
        let before = std::mem::take(&mut self.0);
        let gone = OBSERVERS.with_borrow_mut(|all| std::mem::replace(all, before));
        drop(gone);
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

/// Notifies the observers of one call. `arguments` are those that may be tensors.
pub(crate) fn notify<'py>(
    name: &str,
    arguments: &Bound<'py, PyTuple>,
    attributes: Option<&Bound<'py, PyAny>>,
    result: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let py = result.py();
    let observers: Vec<Py<PyAny>> =
        OBSERVERS.with_borrow(|all| all.iter().map(|ob| ob.clone_ref(py)).collect());
    let inside = Mode::current().has(FORWARD);
    let _quiet = ModeGuard::switch(TRACING, false);
    for observer in observers {
        observer.call1(py, (name, arguments, attributes, result, inside))?;
    }
    Ok(())
}

/// The arguments of a declared operation by parameter name.
pub(crate) fn arguments_by_name<'py>(
    py: Python<'py>,
    decl: &OpDecl,
    positional: &[Bound<'py, PyAny>],
    keywords: &[Keyword<'py>],
) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    let last = decl.positional().saturating_sub(1);
    // The name of the result may follow the arguments.
    let arguments = if decl.facts.named { decl.params.len() } else { positional.len() };
    for (i, ob) in positional.iter().enumerate().take(arguments) {
        let name = decl.params.get(i.min(last)).map_or("", |param| param.name);
        let value = match named.get_item(name)? {
            // Several arguments for one parameter: `reshape(2, 3)`.
            Some(before) if i > last => append(&before, ob)?,
            _ => ob.clone(),
        };
        named.set_item(name, value)?;
    }
    for (name, ob) in keywords.iter().filter(|(name, _)| !is_result_option(decl, name)) {
        named.set_item(name, ob)?;
    }
    if decl.facts.named {
        add_defaults(decl, &named)?;
    }
    Ok(named)
}

/// Adds defaults that were left out: the attributes of a functor are listed in full.
fn add_defaults(decl: &OpDecl, named: &Bound<'_, PyDict>) -> PyResult<()> {
    for param in decl.params {
        if let Some(default) = param.default
            && !named.contains(param.name)?
        {
            named.set_item(param.name, to_python_value(named.py(), &default())?)?;
        }
    }
    Ok(())
}

/// Whether a keyword is `out=` or `name=`.
fn is_result_option(decl: &OpDecl, keyword: &Bound<'_, PyString>) -> bool {
    let keyword = keyword.to_string_lossy();
    matches!(&*keyword, "out" | "name") && decl.parameter(&keyword).is_none()
}

fn append<'py>(before: &Bound<'py, PyAny>, ob: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let mut all: Vec<Bound<'py, PyAny>> = match before.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![before.clone()],
    };
    all.push(ob.clone());
    Ok(PyTuple::new(ob.py(), all)?.into_any())
}
