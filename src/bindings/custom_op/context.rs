//! `FunctionContext`: what forward keeps for backward (saved tensors, objects, marks), and its methods under the names
//! of PyTorch and of the `CustomFunction` spec. One context per call.
//!
//! Invariant: values are dropped, and Python code runs, only after the lock is released.

use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyWeakrefReference};
use smallvec::SmallVec;

use crate::bindings::call::convert::tensor_of;
use crate::bindings::custom_op::context_saved::{
    RunningBackward, SavedObjectRefs, SavedObjects, from_node, saved_object,
};
use crate::bindings::custom_op::outputs::{as_tensor, is_numpy};
use crate::bindings::errors::{bad_type, to_py_result, to_python, type_name};
use crate::bindings::object::wrap;
use crate::error::Error;
use crate::graph::NodeId;
use crate::ops::custom_op::{cleared_error, index_error, key_error};
use crate::tensor::{self, Tensor};
use crate::threads::{Lock, LockGuard};

/// The state of one call.
#[derive(Default)]
pub(super) struct ContextState {
    /// Tensors to save, until the node takes them.
    pub(super) to_save: ToSave,
    /// The recorded node.
    pub(super) node: Option<NodeId<Tensor>>,
    /// Weak references to the objects whose tensors the node saved.
    pub(super) originals: SavedObjectRefs,
    pub(super) needs: SmallVec<[bool; 4]>,
    pub(super) raw_absent: bool,
    pub(super) cleared: bool,
    /// Whether backward may read the saved tensors only once, and then owns them alone.
    pub(super) once: bool,
    pub(super) running: SmallVec<[RunningBackward; 1]>,
    /// Addresses of array arguments, valid while forward runs.
    pub(super) arrays: Arrays,
    pub(super) extras: Option<Box<ContextExtras>>,
}

/// Rarely used state, allocated on demand.
#[derive(Default)]
pub(super) struct ContextExtras {
    pub(super) keys: Vec<(String, usize)>,
    pub(super) objects: Vec<(Option<String>, Py<PyAny>)>,
    pub(super) marks: MarkedTensors,
    /// Attributes that are outputs of the call: name and index among the saved values.
    pub(super) attributes: Vec<(String, usize)>,
}

pub(super) type Arrays = SmallVec<[usize; 2]>;

/// Tensor objects to save.
pub(super) type ToSave = SmallVec<[Py<PyAny>; 2]>;

/// What forward declared through the context.
pub(super) struct Declared {
    pub(super) to_save: ToSave,
    pub(super) marks: MarkedTensors,
    /// Whether backward gets None for outputs without a gradient (`set_materialize_grads(False)`).
    pub(super) raw_absent: bool,
}

/// The arguments and outputs that forward marked.
#[derive(Default)]
pub(super) struct MarkedTensors {
    /// Arguments changed in place.
    pub(super) dirty: Vec<Py<PyAny>>,
    /// Outputs without a derivative.
    pub(super) constants: Vec<Py<PyAny>>,
}

/// What forward keeps for backward: one for each call of a custom function.
#[pyclass(name = "FunctionContext", module = "ferrograd", frozen, dict, weakref)]
#[derive(Default)]
pub(crate) struct FunctionContext {
    pub(super) state: Lock<ContextState>,
}

impl FunctionContext {
    #[inline]
    pub(super) fn for_call(
        needs: SmallVec<[bool; 4]>,
        once: bool,
        arrays: Arrays,
    ) -> FunctionContext {
        FunctionContext {
            state: Lock::new(ContextState { needs, once, arrays, ..ContextState::default() }),
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> LockGuard<'_, ContextState> {
        self.state.lock()
    }

    /// Takes the declarations; the tensors to save move to the node, if the call is recorded.
    pub(super) fn take_declared(&self, recorded: bool) -> Declared {
        let mut state = self.lock();
        Declared {
            to_save: if recorded { std::mem::take(&mut state.to_save) } else { ToSave::new() },
            marks: state
                .extras
                .as_mut()
                .map_or_else(MarkedTensors::default, |r| std::mem::take(&mut r.marks)),
            raw_absent: state.raw_absent,
        }
    }

    /// Stores that the attribute `name` is saved value number `index`.
    pub(super) fn move_attribute(&self, name: String, index: usize) {
        self.lock().extras.get_or_insert_default().attributes.push((name, index));
    }

    /// Sets the node that owns the saved tensors.
    pub(super) fn set_node(&self, node: NodeId<Tensor>, originals: SavedObjectRefs) {
        let mut state = self.lock();
        state.node = Some(node);
        state.originals = originals;
    }

    /// A weak reference to the object that entry `i` was saved from.
    pub(super) fn original(&self, py: Python<'_>, i: usize) -> Option<Py<PyWeakrefReference>> {
        Some(self.lock().originals.get(i)?.as_ref()?.clone_ref(py))
    }

    /// Makes restored values available to the backward that is about to run on this thread.
    pub(super) fn begin_backward(&self, call: RunningBackward) {
        self.lock().running.push(call);
    }

    /// Drops the values of this thread's innermost backward.
    pub(super) fn end_backward(&self) {
        let mut state = self.lock();
        let call = state
            .running
            .iter()
            .rposition(RunningBackward::is_on_this_thread)
            .map(|i| state.running.swap_remove(i));
        drop(state);
        drop(call);
    }

    /// Drops the Python objects; called when the collector found a cycle.
    pub(super) fn release(&self) {
        let mut state = self.lock();
        let old = (std::mem::take(&mut state.to_save), state.extras.take());
        drop(state);
        drop(old);
    }

    /// Takes the values of the running backward, if they may be read only once.
    fn take_once(&self) -> PyResult<Option<SavedObjects>> {
        let mut state = self.lock();
        if !state.once || state.extras.as_ref().is_some_and(|extras| !extras.attributes.is_empty())
        {
            return Ok(None);
        }
        let mine = state.running.iter_mut().rev().find(|call| call.is_on_this_thread());
        let objects = mine.map(|call| call.take());
        drop(state);
        match objects {
            None => Ok(None),
            Some(Some(objects)) => Ok(Some(objects)),
            Some(None) => Err(to_python(Box::new(Error::State {
                op: "saved_tensors".into(),
                what: "with clear_saved_tensors_on_access they can only be accessed once".into(),
                remedy: "keep them in variables",
            }))),
        }
    }

    /// The saved tensors after forward; None while forward runs.
    pub(super) fn restored(&self, py: Python<'_>) -> PyResult<Option<SavedObjects>> {
        let state = self.lock();
        if state.cleared {
            drop(state);
            return Err(to_python(cleared_error()));
        }
        if let Some(call) = state.running.iter().rev().find(|call| call.is_on_this_thread()) {
            return Ok(Some(call.objects.iter().map(|ob| ob.clone_ref(py)).collect()));
        }
        let Some(node) = state.node else {
            return Ok(None);
        };
        drop(state);
        let found = |(i, tensor)| match tensor {
            Some(tensor) => saved_object(py, tensor, self.original(py, i).as_ref()),
            None => Ok(py.None()),
        };
        from_node(node)?.into_iter().enumerate().map(found).collect::<PyResult<_>>().map(Some)
    }

    /// The objects of the saved tensors, without attributes that are outputs.
    pub(super) fn saved(&self, py: Python<'_>) -> PyResult<SavedObjects> {
        if let Some(objects) = self.take_once()? {
            return Ok(objects);
        }
        let Some(mut restored) = self.restored(py)? else {
            return Ok(self.lock().to_save.iter().map(|ob| ob.clone_ref(py)).collect());
        };
        let attributes = self.lock().extras.as_ref().map_or(0, |extras| extras.attributes.len());
        restored.truncate(restored.len() - attributes);
        Ok(restored)
    }

    /// Adds a tensor to be saved, or replaces the one at index `at`.
    pub(super) fn stage_tensor(
        &self,
        op: &str,
        ob: &Bound<'_, PyAny>,
        at: Option<usize>,
    ) -> PyResult<usize> {
        let object = match as_tensor(ob) {
            None if !ob.is_none() => self.array_to_tensor(op, ob)?,
            _ => ob.clone(),
        };
        let mut state = self.lock();
        if state.node.is_some() || !state.running.is_empty() {
            drop(state);
            return Err(to_python(Box::new(Error::State {
                op: op.to_owned().into(),
                what: "the forward of this call is over".into(),
                remedy: "save tensors in forward",
            })));
        }
        let object = object.unbind();
        let (index, old) = match at {
            Some(i) => (i, Some(std::mem::replace(&mut state.to_save[i], object))),
            None => {
                state.to_save.push(object);
                (state.to_save.len() - 1, None)
            }
        };
        drop(state);
        drop(old);
        Ok(index)
    }

    /// Copies an array into a tensor: a constant if it is an argument of forward, otherwise an intermediate result.
    #[cold]
    fn array_to_tensor<'py>(
        &self,
        op: &str,
        ob: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !is_numpy(ob)? {
            let what = format!("a {} cannot be saved as a tensor", type_name(ob));
            return Err(bad_type(op, what, "keep other objects as attributes of ctx: ctx.k = k"));
        }
        let copy = to_py_result(tensor_of(op, "an array", ob)?.duplicate())?;
        let state = self.lock();
        let given = state.arrays.contains(&(ob.as_ptr() as usize));
        let varies = !given && copy.dtype().is_inexact() && state.needs.contains(&true);
        drop(state);
        wrap(ob.py(), if varies { copy.marked(tensor::TensorFlags::CUT) } else { copy })
    }

    pub(super) fn add_marks(
        &self,
        obs: &Bound<'_, PyTuple>,
        list: fn(&mut MarkedTensors) -> &mut Vec<Py<PyAny>>,
    ) {
        let mut state = self.lock();
        list(&mut state.extras.get_or_insert_default().marks).extend(obs.iter().map(Bound::unbind));
    }

    pub(super) fn index_of_key(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let Ok(key) = key.cast::<PyString>() else {
            return Ok(None);
        };
        let key = key.to_str()?;
        let state = self.lock();
        let keys = state.extras.iter().flat_map(|extras| &extras.keys);
        let index = keys.into_iter().find(|(known, _)| known == key).map(|(_, i)| *i);
        let cleared = state.cleared;
        drop(state);
        match index {
            Some(index) => Ok(Some(index)),
            None if cleared => Err(to_python(cleared_error())),
            None => Err(PyKeyError::new_err(key_error(key).to_string())),
        }
    }
}

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
            self.stage_tensor("save_for_backward", &ob, None)?;
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
            let mut keys = state.extras.iter().flat_map(|extras| &extras.keys);
            keys.find(|(k, _)| k == key).map(|(_, i)| *i)
        };
        let place = self.stage_tensor("save_tensor", tensor, known)?;
        if known.is_none() {
            self.lock().extras.get_or_insert_default().keys.push((key.to_owned(), place));
        }
        Ok(())
    }

    /// One saved tensor, by its index or by the key under which it was saved.
    fn get_saved_tensor<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        let place = match self.index_of_key(index)? {
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
        let objects = &mut state.extras.get_or_insert_default().objects;
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
        let objects = state.extras.as_ref().map_or(&[][..], |extras| &extras.objects);
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
        let objects = state.extras.iter().flat_map(|extras| &extras.objects);
        let objects: Vec<_> = objects.map(|(_, ob)| ob.bind(py).clone()).collect();
        drop(state);
        PyList::new(py, objects)
    }

    /// How many objects were saved.
    #[getter]
    fn saved_object_count(&self) -> usize {
        self.lock().extras.as_ref().map_or(0, |extras| extras.objects.len())
    }

    /// Drops everything the context keeps; a second call does nothing.
    fn clear(&self) {
        let mut state = self.lock();
        let needs = state.needs.clone();
        let node = state.node.take();
        let old = std::mem::replace(
            &mut *state,
            ContextState { needs, cleared: true, ..ContextState::default() },
        );
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
        let mine = state.running.iter().rev().find(|call| call.is_on_this_thread());
        let needs = mine.map_or(&state.needs, |call| &call.needs).clone();
        drop(state);
        PyTuple::new(py, needs)
    }

    /// Declares arguments that forward changed in place; it must return them.
    #[pyo3(signature = (*tensors))]
    fn mark_dirty(&self, tensors: &Bound<'_, PyTuple>) {
        self.add_marks(tensors, |marks| &mut marks.dirty);
    }

    /// Declares outputs constant: they will not require a gradient.
    #[pyo3(signature = (*outputs))]
    fn mark_non_differentiable(&self, outputs: &Bound<'_, PyTuple>) {
        self.add_marks(outputs, |marks| &mut marks.constants);
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
            let mut attributes = state.extras.iter().flat_map(|extras| &extras.attributes);
            attributes.find(|(known, _)| known == name).map(|(_, i)| *i)
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
        let Some(extras) = &state.extras else {
            return Ok(());
        };
        extras.objects.iter().try_for_each(|(_, ob)| visit.call(ob))?;
        extras.marks.dirty.iter().chain(&extras.marks.constants).try_for_each(|ob| visit.call(ob))
    }

    fn __clear__(&self) {
        self.release();
    }
}
