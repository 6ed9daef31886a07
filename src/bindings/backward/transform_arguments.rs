//! The leaves that stand for the arguments of functions under differentiation.
//!
//! Owns: which leaves the transforms of this thread have handed to functions that still run. What is copied of one has a
//! history. Invariant: a leaf is among them exactly while such a function runs.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::object::PyTensor;

thread_local! {
    /// The objects of the leaves that transforms of this thread have handed to functions which still run.
    static HANDED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A leaf in the hands of a function under differentiation, until this is dropped: what is made of it has a history.
pub(crate) struct ActiveArgument {
    before: usize,
}

impl ActiveArgument {
    pub(crate) fn new(leaf: &Bound<'_, PyTensor>) -> ActiveArgument {
        let address = leaf.as_ptr() as usize;
        HANDED.with_borrow_mut(|handed| {
            handed.push(address);
            ActiveArgument { before: handed.len() - 1 }
        })
    }
}

impl Drop for ActiveArgument {
    fn drop(&mut self) {
        HANDED.with_borrow_mut(|handed| handed.truncate(self.before));
    }
}

/// The same for several leaves of a caller in Python: gives what `_pop_arguments` takes.
#[pyfunction]
pub(crate) fn _push_arguments(leaves: &Bound<'_, PyList>) -> usize {
    HANDED.with_borrow_mut(|handed| {
        let before = handed.len();
        handed.extend(leaves.iter().map(|leaf| leaf.as_ptr() as usize));
        before
    })
}

/// The end of `_push_arguments`.
#[pyfunction]
pub(crate) fn _pop_arguments(before: usize) {
    HANDED.with_borrow_mut(|handed| handed.truncate(before));
}

/// Whether somebody differentiates by what a tensor was computed from, or by the tensor as an argument.
#[pyfunction]
pub(crate) fn _has_history(tensor: &Bound<'_, PyTensor>) -> bool {
    let own = &tensor.get().tensor;
    let address = tensor.as_ptr() as usize;
    !own.is_leaf()
        || (own.requires_grad() && HANDED.with_borrow(|handed| handed.contains(&address)))
}
