//! The leaves that stand for arguments of functions being differentiated on this thread. A copy of one has a history.
//!
//! Invariant: a leaf is in the list exactly while such a function runs.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::object::PyTensor;

thread_local! {
    /// Addresses of the Python objects of active leaves.
    static ACTIVE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Marks a leaf as active until dropped.
pub(crate) struct ActiveArgument {
    before: usize,
}

impl ActiveArgument {
    pub(crate) fn new(leaf: &Bound<'_, PyTensor>) -> ActiveArgument {
        let address = leaf.as_ptr() as usize;
        ACTIVE.with_borrow_mut(|active| {
            active.push(address);
            ActiveArgument { before: active.len() - 1 }
        })
    }
}

impl Drop for ActiveArgument {
    fn drop(&mut self) {
        ACTIVE.with_borrow_mut(|active| active.truncate(self.before));
    }
}

/// Marks several leaves as active; returns the value for `_pop_arguments`.
#[pyfunction]
pub(crate) fn _push_arguments(leaves: &Bound<'_, PyList>) -> usize {
    ACTIVE.with_borrow_mut(|active| {
        let before = active.len();
        active.extend(leaves.iter().map(|leaf| leaf.as_ptr() as usize));
        before
    })
}

/// Ends `_push_arguments`.
#[pyfunction]
pub(crate) fn _pop_arguments(before: usize) {
    ACTIVE.with_borrow_mut(|active| active.truncate(before));
}

/// Whether the tensor has a history, or is an active argument of a transform.
#[pyfunction]
pub(crate) fn _has_history(tensor: &Bound<'_, PyTensor>) -> bool {
    let own = &tensor.get().tensor;
    let address = tensor.as_ptr() as usize;
    !own.is_leaf()
        || (own.requires_grad() && ACTIVE.with_borrow(|active| active.contains(&address)))
}
