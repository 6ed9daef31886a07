//! The saved tensors of a context, wherever they are.
//!
//! Owns: the lookup in the three places: waiting in the context, restored for a running backward, or in the node.
//! Never keeps a tensor after forward: the node's saved values are the only copy.
//! Invariant: what was restored for a backward is seen by the thread that runs it, and is gone when it ends.

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use smallvec::SmallVec;

use crate::bindings::custom_op::outputs::contract;
use crate::bindings::object::{PyTensor, wrap};
use crate::graph::{NodeId, SavedRef};
use crate::tensor::{Tensor, same_elements};

/// The objects of saved tensors, restored; Python's `None` where nothing was saved.
pub(super) type SavedObjects = SmallVec<[Py<PyAny>; 2]>;

/// What a context gives while its backward runs on one thread.
pub(super) struct BackwardCall {
    thread: usize,
    taken: bool,
    pub(super) objects: SavedObjects,
    pub(super) needs: SmallVec<[bool; 4]>,
}

/// A number that no other living thread has.
#[inline]
pub(super) fn this_thread() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

impl BackwardCall {
    /// For the current thread.
    pub(super) fn new(objects: SavedObjects, needs: SmallVec<[bool; 4]>) -> BackwardCall {
        BackwardCall { thread: this_thread(), taken: false, objects, needs }
    }

    /// Gives the objects away, the first time.
    pub(super) fn take(&mut self) -> Option<SavedObjects> {
        let first = !std::mem::replace(&mut self.taken, true);
        first.then(|| std::mem::take(&mut self.objects))
    }

    /// Whether it was made for this thread.
    #[inline]
    pub(super) fn is_mine(&self) -> bool {
        self.thread == this_thread()
    }
}

/// Restores the saved values of a node outside a backward, with their history; `None` where nothing was saved.
pub(super) fn from_node(id: NodeId<Tensor>) -> PyResult<Vec<Option<Tensor>>> {
    let freed = || {
        contract(
            "Cannot retrieve tensor from disposed context: its graph was freed by a backward, or its outputs are \
             gone; keep an output alive and pass retain_graph=True"
                .into(),
        )
    };
    let node = id.upgrade().ok_or_else(freed)?;
    let held: Option<SmallVec<[_; 2]>> =
        node.with_saved(|saved| saved.iter().map(|entry| entry.to_ref(&node)).collect());
    let name = node.name();
    let restore = |held: Option<SavedRef<Tensor>>| held.map(|held| held.restore(&name)).transpose();
    let restored: crate::error::Result<_> =
        held.ok_or_else(freed)?.into_iter().map(restore).collect();
    Ok(restored?)
}

/// Of each saved entry the object that forward saved, if it may still be found when backward asks. Weak: a context keeps
/// no tensor.
pub(super) type Originals = SmallVec<[Option<Py<PyWeakrefReference>>; 2]>;

/// A way back to a saved object. None to a leaf that requires grad: its state leads there.
#[inline]
pub(super) fn original(ob: &Bound<'_, PyAny>, tensor: &Tensor) -> Option<Py<PyWeakrefReference>> {
    if tensor.meta().is_some_and(|meta| meta.requires_grad()) {
        return None;
    }
    PyWeakrefReference::new(ob).map(Bound::unbind).ok()
}

/// The object that forward saved, if it lives and is what was restored: the same elements with the same history.
fn alive<'py>(
    py: Python<'py>,
    original: &Py<PyWeakrefReference>,
    restored: &Tensor,
) -> Option<Bound<'py, PyAny>> {
    let object = original.bind(py).upgrade()?;
    let tensor = &object.cast::<PyTensor>().ok()?.get().tensor;
    let same = tensor.storage().same(restored.storage())
        && same_elements(tensor, restored)
        && tensor.grad_edge() == restored.grad_edge();
    same.then_some(object)
}

/// The Python object of one restored value: the one that forward saved, where it lives.
#[inline]
pub(super) fn object(
    py: Python<'_>,
    tensor: Tensor,
    original: Option<&Py<PyWeakrefReference>>,
) -> PyResult<Py<PyAny>> {
    match original.and_then(|original| alive(py, original, &tensor)) {
        Some(object) => Ok(object.unbind()),
        None => Ok(wrap(py, tensor)?.unbind()),
    }
}
