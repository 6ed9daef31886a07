//! Look-up of a context's saved tensors: staged during forward, lent to a running backward, or in the node. Values lent
//! to a backward are visible to its thread only.

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use smallvec::SmallVec;

use crate::bindings::custom_op::outputs::contract_error;
use crate::bindings::object::{PyTensor, wrap};
use crate::graph::{NodeId, SavedRef};
use crate::tensor::{Tensor, same_elements};

/// The objects of restored saved tensors; None where nothing was saved.
pub(super) type SavedObjects = SmallVec<[Py<PyAny>; 2]>;

/// The values lent to a backward that runs on one thread.
pub(super) struct RunningBackward {
    thread: usize,
    taken: bool,
    pub(super) objects: SavedObjects,
    pub(super) needs: SmallVec<[bool; 4]>,
}

/// A number unique among live threads.
#[inline]
pub(super) fn this_thread() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

impl RunningBackward {
    pub(super) fn new(objects: SavedObjects, needs: SmallVec<[bool; 4]>) -> RunningBackward {
        RunningBackward { thread: this_thread(), taken: false, objects, needs }
    }

    /// Moves the objects out, at the first call.
    pub(super) fn take(&mut self) -> Option<SavedObjects> {
        let first = !std::mem::replace(&mut self.taken, true);
        first.then(|| std::mem::take(&mut self.objects))
    }

    #[inline]
    pub(super) fn is_on_this_thread(&self) -> bool {
        self.thread == this_thread()
    }
}

/// Restores the saved values of a node outside a backward, with their history.
pub(super) fn from_node(id: NodeId<Tensor>) -> PyResult<Vec<Option<Tensor>>> {
    let freed = || {
        contract_error(
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

/// For each saved entry, a weak reference to the object that forward saved.
pub(super) type SavedObjectRefs = SmallVec<[Option<Py<PyWeakrefReference>>; 2]>;

/// A weak reference to a saved object. None for a leaf that requires grad, whose `Meta` refers to its object.
#[inline]
pub(super) fn weak_ref(ob: &Bound<'_, PyAny>, tensor: &Tensor) -> Option<Py<PyWeakrefReference>> {
    if tensor.meta().is_some_and(|meta| meta.requires_grad()) {
        return None;
    }
    PyWeakrefReference::new(ob).map(Bound::unbind).ok()
}

/// The object that forward saved, if it is alive and still has the restored elements and history.
fn live_original<'py>(
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

/// The Python object of a restored value: the one that forward saved, if alive.
#[inline]
pub(super) fn saved_object(
    py: Python<'_>,
    tensor: Tensor,
    original: Option<&Py<PyWeakrefReference>>,
) -> PyResult<Py<PyAny>> {
    match original.and_then(|original| live_original(py, original, &tensor)) {
        Some(object) => Ok(object.unbind()),
        None => Ok(wrap(py, tensor)?.unbind()),
    }
}
