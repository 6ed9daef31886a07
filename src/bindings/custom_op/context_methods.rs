//! The methods of `FunctionContext`, as forward and backward call them.
//!
//! Owns: PyTorch's names and document 000's over the state in `context.rs`. Never keeps anything itself.
//! Invariant: values are dropped and Python code runs only after the lock is released.

use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::bindings::custom_op::context::{FunctionContext, State};
use crate::bindings::errors::{bad_type, to_python};
use crate::error::Error;
use crate::ops::custom_op::{cleared_error, index_error};

fn object_out_of_range(index: i64, count: usize) -> Box<Error> {
    let what = match count {
        0 => format!("Object index {index} is out of range: no objects were saved"),
        n => format!("Object index {index} is out of range. Valid range is 0 to {}", n - 1),
    };
    Box::new(Error::SavedIndex { what })
}

#[pymethods]
impl FunctionContext {
    #[new]
    fn new() -> FunctionContext {
        FunctionContext::default()
    }

    /// Keeps tensors (or None) for backward; a further call appends.
    #[pyo3(signature = (*tensors))]
    fn save_for_backward(&self, tensors: &Bound<'_, PyTuple>) -> PyResult<()> {
        for ob in tensors.iter_borrowed() {
            self.wait("save_for_backward", &ob, None)?;
        }
        Ok(())
    }

    /// Keeps nothing: for PyTorch's rules of forward mode, which are not used here.
    #[pyo3(signature = (*_tensors))]
    fn save_for_forward(&self, _tensors: &Bound<'_, PyTuple>) {}

    /// The saved tensors, in the order of saving.
    #[getter]
    fn saved_tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.saved(py)?)
    }

    /// Keeps a tensor under a key; the same key again replaces it.
    fn save_tensor(&self, key: &str, tensor: &Bound<'_, PyAny>) -> PyResult<()> {
        let known = {
            let state = self.lock();
            let mut keys = state.rare.iter().flat_map(|rare| &rare.keys);
            keys.find(|(k, _)| k == key).map(|(_, i)| *i)
        };
        let place = self.wait("save_tensor", tensor, known)?;
        if known.is_none() {
            self.lock().rare.get_or_insert_default().keys.push((key.to_owned(), place));
        }
        Ok(())
    }

    /// One saved tensor, by its index or by the key under which it was saved.
    fn get_saved_tensor<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        let place = match self.place(index)? {
            Some(place) => place as i64,
            None => index.extract::<i64>()?,
        };
        let saved = self.saved(py)?;
        let found = usize::try_from(place).ok().and_then(|i| saved.get(i));
        let found = found.map(|ob| ob.bind(py).clone());
        found.ok_or_else(|| to_python(index_error(place, saved.len())))
    }

    /// How many tensors were saved.
    #[getter]
    fn saved_tensor_count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.saved(py)?.len())
    }

    /// Keeps an object: `save_object(value)` at the next index, `save_object(key, value)` under a key.
    #[pyo3(signature = (*entry))]
    fn save_object(&self, entry: &Bound<'_, PyTuple>) -> PyResult<()> {
        let (name, ob) = match entry.len() {
            1 => (None, entry.get_item(0)?),
            2 => (Some(entry.get_item(0)?.extract::<String>()?), entry.get_item(1)?),
            n => {
                let what = format!("{n} arguments were given");
                return Err(bad_type(
                    "save_object",
                    what,
                    "pass an object, or a key and an object",
                ));
            }
        };
        let ob = ob.unbind();
        let mut state = self.lock();
        let objects = &mut state.rare.get_or_insert_default().objects;
        let same =
            name.as_ref().and_then(|n| objects.iter().position(|(k, _)| k.as_ref() == Some(n)));
        let old = match same {
            Some(i) => Some(std::mem::replace(&mut objects[i].1, ob)),
            None => {
                objects.push((name, ob));
                None
            }
        };
        drop(state);
        drop(old);
        Ok(())
    }

    /// One saved object, by its index or its key.
    fn get_saved_object<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let name = key.cast::<PyString>().ok().map(|k| k.to_string());
        let index = if name.is_some() { 0 } else { key.extract::<i64>()? };
        let state = self.lock();
        let cleared = state.cleared;
        let objects = state.rare.as_ref().map_or(&[][..], |rare| &rare.objects);
        let found = match &name {
            Some(name) => objects.iter().find(|(k, _)| k.as_deref() == Some(name)),
            None => usize::try_from(index).ok().and_then(|i| objects.get(i)),
        };
        let (found, count) = (found.map(|(_, ob)| ob.bind(py).clone()), objects.len());
        drop(state);
        match (found, name) {
            (Some(found), _) => Ok(found),
            _ if cleared => Err(to_python(cleared_error())),
            (None, Some(name)) => {
                Err(PyKeyError::new_err(format!("no object was saved under the key {name:?}")))
            }
            (None, None) => Err(to_python(object_out_of_range(index, count))),
        }
    }

    /// The saved objects, in the order of saving.
    #[getter]
    fn saved_objects<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let state = self.lock();
        let objects = state.rare.iter().flat_map(|rare| &rare.objects);
        let objects: Vec<_> = objects.map(|(_, ob)| ob.bind(py).clone()).collect();
        drop(state);
        PyList::new(py, objects)
    }

    /// How many objects were saved.
    #[getter]
    fn saved_object_count(&self) -> usize {
        self.lock().rare.as_ref().map_or(0, |rare| rare.objects.len())
    }

    /// Drops everything the context keeps; a second call does nothing.
    fn clear(&self) {
        let mut state = self.lock();
        let needs = state.needs.clone();
        let node = state.node.take();
        let old =
            std::mem::replace(&mut *state, State { needs, cleared: true, ..State::default() });
        drop(state);
        drop(old);
        if let Some(node) = node.and_then(|id| id.upgrade()) {
            node.free_saved();
        }
    }

    /// The same as `clear`.
    fn dispose(&self) {
        self.clear();
    }

    /// For each argument of forward, whether it needs a gradient; in backward, whether this pass asks for it.
    #[getter]
    pub(super) fn needs_input_grad<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let state = self.lock();
        let mine = state.running.iter().rev().find(|call| call.is_mine());
        let needs = mine.map_or(&state.needs, |call| &call.needs).clone();
        drop(state);
        PyTuple::new(py, needs)
    }

    /// Declares arguments that forward changed in place; it must return them.
    #[pyo3(signature = (*tensors))]
    fn mark_dirty(&self, tensors: &Bound<'_, PyTuple>) {
        self.mark(tensors, |marks| &mut marks.dirty);
    }

    /// Declares outputs constant: they will not require a gradient.
    #[pyo3(signature = (*outputs))]
    fn mark_non_differentiable(&self, outputs: &Bound<'_, PyTuple>) {
        self.mark(outputs, |marks| &mut marks.constants);
    }

    /// Whether backward sees zeros (the default) or None for outputs that received no gradient.
    fn set_materialize_grads(&self, value: bool) {
        self.lock().raw_absent = !value;
    }

    /// Attributes that were outputs of the call live with the saved tensors.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let own = slf.get();
        let place = {
            let state = own.lock();
            let mut kept = state.rare.iter().flat_map(|rare| &rare.attributes);
            kept.find(|(known, _)| known == name).map(|(_, i)| *i)
        };
        if let Some(place) = place
            && let Some(restored) = own.restored(slf.py())?
            && let Some(object) = restored.get(place)
        {
            return Ok(object.bind(slf.py()).clone());
        }
        Err(PyAttributeError::new_err(format!(
            "the context has no attribute {name:?}: forward did not set it"
        )))
    }

    /// A context where the inputs were expected: the parameters of a method are in the other order.
    fn __getitem__(&self, _key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Err(bad_type(
            "FunctionContext",
            "a context has no items; the method took the context for its inputs",
            "CustomFunction calls forward(self, inputs, ctx) and backward(self, grad_outputs, ctx), Function calls \
             forward(ctx, *args) and backward(ctx, *grads)",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(state) = self.state.try_lock() else {
            return Ok(());
        };
        state.to_save.iter().try_for_each(|ob| visit.call(ob))?;
        let Some(rare) = &state.rare else {
            return Ok(());
        };
        rare.objects.iter().try_for_each(|(_, ob)| visit.call(ob))?;
        rare.marks.dirty.iter().chain(&rare.marks.constants).try_for_each(|ob| visit.call(ob))
    }

    fn __clear__(&self) {
        self.release();
    }
}
