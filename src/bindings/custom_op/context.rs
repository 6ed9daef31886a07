//! `FunctionContext`: what forward hands to backward, under PyTorch's names and document 000's.
//!
//! Owns: tensors until the node takes them, objects and marks. Never a saved tensor after forward.
//! Invariant: fresh for each call, and no Python code or destructor runs while the lock is held.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyWeakrefReference};
use smallvec::SmallVec;

use crate::bindings::call::convert::tensor_of;
use crate::bindings::custom_op::outputs::{as_tensor, is_numpy};
use crate::bindings::custom_op::saved::{BackwardCall, Originals, SavedObjects, from_node, object};
use crate::bindings::errors::{bad_type, python, to_python, type_name};
use crate::bindings::object::wrap;
use crate::error::Error;
use crate::graph::NodeId;
use crate::ops::custom_op::{cleared_error, key_error};
use crate::tensor::{self, Tensor};
use crate::threads::{Lock, LockGuard};

/// What a context holds of one call.
#[derive(Default)]
pub(super) struct State {
    /// Tensors to save, until the node takes them.
    pub(super) to_save: ToSave,
    /// The node, once there is one.
    pub(super) node: Option<NodeId<Tensor>>,
    /// The objects that the node saved the tensors of.
    pub(super) originals: Originals,
    pub(super) needs: SmallVec<[bool; 4]>,
    pub(super) raw_absent: bool,
    pub(super) cleared: bool,
    /// Whether backward may read the saved tensors only once and then holds them alone.
    pub(super) once: bool,
    pub(super) running: SmallVec<[BackwardCall; 1]>,
    /// The addresses of the arrays among the arguments, alive while forward runs.
    pub(super) arrays: Arrays,
    pub(super) rare: Option<Box<Rare>>,
}

/// What few calls use.
#[derive(Default)]
pub(super) struct Rare {
    pub(super) keys: Vec<(String, usize)>,
    pub(super) objects: Vec<(Option<String>, Py<PyAny>)>,
    pub(super) marks: MarkedTensors,
    /// Attributes that are outputs of the call: name and place among the saved values.
    pub(super) attributes: Vec<(String, usize)>,
}

/// Addresses of arrays.
pub(super) type Arrays = SmallVec<[usize; 2]>;

/// Tensor objects to save.
pub(super) type ToSave = SmallVec<[Py<PyAny>; 2]>;

/// What forward declared to its context.
pub(super) struct Declared {
    pub(super) to_save: ToSave,
    pub(super) marks: MarkedTensors,
    /// Whether backward sees `None` for outputs without a gradient.
    pub(super) raw_absent: bool,
}

/// What forward declared about arguments and outputs.
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
    pub(super) state: Lock<State>,
}

impl FunctionContext {
    #[inline]
    pub(super) fn for_call(
        needs: SmallVec<[bool; 4]>,
        once: bool,
        arrays: Arrays,
    ) -> FunctionContext {
        FunctionContext { state: Lock::new(State { needs, once, arrays, ..State::default() }) }
    }

    #[inline]
    pub(super) fn lock(&self) -> LockGuard<'_, State> {
        self.state.lock()
    }

    /// What forward declared; the tensors to save are the node's from now on, if there will be one.
    pub(super) fn take_declared(&self, recorded: bool) -> Declared {
        let mut state = self.lock();
        Declared {
            to_save: if recorded { std::mem::take(&mut state.to_save) } else { ToSave::new() },
            marks: state
                .rare
                .as_mut()
                .map_or_else(MarkedTensors::default, |r| std::mem::take(&mut r.marks)),
            raw_absent: state.raw_absent,
        }
    }

    /// Notes that the attribute `name` lives among the saved values at `place`.
    pub(super) fn move_attribute(&self, name: String, place: usize) {
        self.lock().rare.get_or_insert_default().attributes.push((name, place));
    }

    /// Notes the node that keeps the saved tensors.
    pub(super) fn set_node(&self, node: NodeId<Tensor>, originals: Originals) {
        let mut state = self.lock();
        state.node = Some(node);
        state.originals = originals;
    }

    /// The object that entry `i` was saved from.
    pub(super) fn original(&self, py: Python<'_>, i: usize) -> Option<Py<PyWeakrefReference>> {
        Some(self.lock().originals.get(i)?.as_ref()?.clone_ref(py))
    }

    /// Gives restored values to the backward that is about to run on this thread.
    pub(super) fn begin_backward(&self, call: BackwardCall) {
        self.lock().running.push(call);
    }

    /// Drops what this thread was given last.
    pub(super) fn end_backward(&self) {
        let mut state = self.lock();
        let call = state
            .running
            .iter()
            .rposition(BackwardCall::is_mine)
            .map(|i| state.running.swap_remove(i));
        drop(state);
        drop(call);
    }

    /// Drops the Python objects: the collector found them in a cycle.
    pub(super) fn release(&self) {
        let mut state = self.lock();
        let old = (std::mem::take(&mut state.to_save), state.rare.take());
        drop(state);
        drop(old);
    }

    /// Takes what the running backward was given, where it may be read only once.
    fn taken(&self) -> PyResult<Option<SavedObjects>> {
        let mut state = self.lock();
        if !state.once || state.rare.as_ref().is_some_and(|rare| !rare.attributes.is_empty()) {
            return Ok(None);
        }
        let mine = state.running.iter_mut().rev().find(|call| call.is_mine());
        let taken = mine.map(|call| call.take());
        drop(state);
        match taken {
            None => Ok(None),
            Some(Some(objects)) => Ok(Some(objects)),
            Some(None) => Err(to_python(Box::new(Error::State {
                op: "saved_tensors".into(),
                what: "with clear_saved_tensors_on_access they can only be accessed once".into(),
                remedy: "keep them in variables",
            }))),
        }
    }

    /// The saved tensors after forward; `None` while they still wait in the context.
    pub(super) fn restored(&self, py: Python<'_>) -> PyResult<Option<SavedObjects>> {
        let state = self.lock();
        if state.cleared {
            drop(state);
            return Err(to_python(cleared_error()));
        }
        if let Some(call) = state.running.iter().rev().find(|call| call.is_mine()) {
            return Ok(Some(call.objects.iter().map(|ob| ob.clone_ref(py)).collect()));
        }
        let Some(node) = state.node else {
            return Ok(None);
        };
        drop(state);
        let found = |(i, tensor)| match tensor {
            Some(tensor) => object(py, tensor, self.original(py, i).as_ref()),
            None => Ok(py.None()),
        };
        from_node(node)?.into_iter().enumerate().map(found).collect::<PyResult<_>>().map(Some)
    }

    /// The objects of the saved tensors, attributes that are outputs left out.
    pub(super) fn saved(&self, py: Python<'_>) -> PyResult<SavedObjects> {
        if let Some(taken) = self.taken()? {
            return Ok(taken);
        }
        let Some(mut restored) = self.restored(py)? else {
            return Ok(self.lock().to_save.iter().map(|ob| ob.clone_ref(py)).collect());
        };
        let attributes = self.lock().rare.as_ref().map_or(0, |rare| rare.attributes.len());
        restored.truncate(restored.len() - attributes);
        Ok(restored)
    }

    /// Keeps a tensor object at the next place, or at `at`.
    pub(super) fn wait(
        &self,
        op: &str,
        ob: &Bound<'_, PyAny>,
        at: Option<usize>,
    ) -> PyResult<usize> {
        let object = match as_tensor(ob) {
            None if !ob.is_none() => self.copied(op, ob)?,
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
        let (place, old) = match at {
            Some(i) => (i, Some(std::mem::replace(&mut state.to_save[i], object))),
            None => {
                state.to_save.push(object);
                (state.to_save.len() - 1, None)
            }
        };
        drop(state);
        drop(old);
        Ok(place)
    }

    /// A copy of an array as a tensor: a constant if forward was given it, else an intermediate result.
    #[cold]
    fn copied<'py>(&self, op: &str, ob: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !is_numpy(ob)? {
            let what = format!("a {} cannot be saved as a tensor", type_name(ob));
            return Err(bad_type(op, what, "keep other objects as attributes of ctx: ctx.k = k"));
        }
        let copy = python(tensor_of(op, "an array", ob)?.duplicate())?;
        let state = self.lock();
        let given = state.arrays.contains(&(ob.as_ptr() as usize));
        let varies = !given && copy.dtype().is_inexact() && state.needs.contains(&true);
        drop(state);
        wrap(ob.py(), if varies { copy.marked(tensor::TensorFlags::CUT) } else { copy })
    }

    pub(super) fn mark(
        &self,
        obs: &Bound<'_, PyTuple>,
        list: fn(&mut MarkedTensors) -> &mut Vec<Py<PyAny>>,
    ) {
        let mut state = self.lock();
        list(&mut state.rare.get_or_insert_default().marks).extend(obs.iter().map(Bound::unbind));
    }

    pub(super) fn place(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let Ok(key) = key.cast::<PyString>() else {
            return Ok(None);
        };
        let key = key.to_str()?;
        let state = self.lock();
        let keys = state.rare.iter().flat_map(|rare| &rare.keys);
        let place = keys.into_iter().find(|(known, _)| known == key).map(|(_, i)| *i);
        let cleared = state.cleared;
        drop(state);
        match place {
            Some(place) => Ok(Some(place)),
            None if cleared => Err(to_python(cleared_error())),
            None => Err(PyKeyError::new_err(key_error(key).to_string())),
        }
    }
}
