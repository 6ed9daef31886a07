//! The tensors a context kept, wherever they are now.
//!
//! Owns: the lookup in the three places: waiting in the context, lent by a running backward, or in the node.
//! Never keeps a tensor after forward: the node's saved values are the only copy.
//! Invariant: what a backward was lent is seen by the thread that runs it, and is gone when it ends.

use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::bindings::function::outputs::contract;
use crate::bindings::tensor::wrap;
use crate::graph::{Held, NodeId};
use crate::tensor::Tensor;

/// Saved tensors, restored; `None` where nothing was saved.
pub(super) type Restored = SmallVec<[Option<Tensor>; 2]>;

/// What a context lends while its backward runs.
pub(super) struct Loan {
    thread: usize,
    taken: bool,
    pub(super) tensors: Restored,
    pub(super) needs: SmallVec<[bool; 4]>,
}

/// A number that no other living thread has.
#[inline]
pub(super) fn this_thread() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

impl Loan {
    /// For the current thread.
    pub(super) fn new(tensors: Restored, needs: SmallVec<[bool; 4]>) -> Loan {
        Loan { thread: this_thread(), taken: false, tensors, needs }
    }

    /// Gives the tensors away, the first time.
    pub(super) fn take(&mut self) -> Option<Restored> {
        let first = !std::mem::replace(&mut self.taken, true);
        first.then(|| std::mem::take(&mut self.tensors))
    }

    /// Whether it was made for this thread.
    #[inline]
    pub(super) fn is_mine(&self) -> bool {
        self.thread == this_thread()
    }
}

/// Restores the saved values of a node outside a backward, with their history.
pub(super) fn from_node(id: NodeId<Tensor>) -> PyResult<Restored> {
    let freed = || {
        contract(
            "Cannot retrieve tensor from disposed context: its graph was freed by a backward, or its outputs are \
             gone; keep an output alive and pass retain_graph=True"
                .into(),
        )
    };
    let node = id.upgrade().ok_or_else(freed)?;
    let held: Option<SmallVec<[_; 2]>> =
        node.with_saved(|saved| saved.iter().map(|entry| entry.hold(&node)).collect());
    let name = node.name();
    let restore = |held: Option<Held<Tensor>>| held.map(|held| held.restore(&name)).transpose();
    let restored: crate::error::Result<Restored> =
        held.ok_or_else(freed)?.into_iter().map(restore).collect();
    Ok(restored?)
}

/// The Python object of one restored value.
#[inline]
pub(super) fn object(py: Python<'_>, tensor: Option<Tensor>) -> PyResult<Bound<'_, PyAny>> {
    match tensor {
        Some(tensor) => wrap(py, tensor),
        None => Ok(py.None().into_bound(py)),
    }
}
