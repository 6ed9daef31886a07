//! The gradients of leaves that a captured function reads or sets: the state that it changes beside memory.
//!
//! Owns: the list of those leaves while this thread captures. Never sets a gradient.
//! Invariant: a leaf is listed once, with the gradient that it had before the function touched it.

use std::cell::RefCell;
use std::sync::Arc;

use crate::array::capture;
use crate::tensor::{Meta, Tensor};

/// A leaf whose gradient a captured function read or set.
pub(crate) struct TouchedLeaf {
    pub(crate) meta: Arc<Meta>,
    /// The gradient before.
    pub(crate) before: Option<Tensor>,
    /// Whether what the function did may depend on it.
    pub(crate) read: bool,
    /// Whether somebody else had a handle of its memory, or was a view of it.
    pub(crate) shared: bool,
}

thread_local! {
    static LEAVES: RefCell<Vec<TouchedLeaf>> = const { RefCell::new(Vec::new()) };
}

/// Takes note that the gradient of a leaf is about to be read or replaced.
#[inline]
pub(crate) fn touch(meta: &Arc<Meta>, read: bool) {
    if capture::active() {
        list(meta, read);
    }
}

#[cold]
fn list(meta: &Arc<Meta>, read: bool) {
    LEAVES.with_borrow_mut(|leaves| {
        if !leaves.iter().any(|leaf| Arc::ptr_eq(&leaf.meta, meta)) {
            let before = meta.grad();
            // The leaf has one handle, `before` another one.
            let shared = before.as_ref().is_some_and(|grad| {
                let memory = grad.storage();
                memory.is_held_beside(&[memory]) || !memory.is_own()
            });
            leaves.push(TouchedLeaf { meta: meta.clone(), before, read, shared });
        }
    });
}

/// The leaves that one recording touches; a recording around it has a list of its own.
#[must_use = "the leaves of the outer recording come back when this ends"]
pub(crate) struct Scope {
    outer: Vec<TouchedLeaf>,
}

impl Scope {
    /// Begins a list of its own.
    pub(crate) fn begin() -> Scope {
        Scope { outer: LEAVES.take() }
    }

    /// Ends it, and gives the leaves that were touched. Nobody can see the gradients of those that are gone.
    pub(crate) fn end(self) -> Vec<TouchedLeaf> {
        let mut leaves = LEAVES.replace(self.outer);
        leaves.retain(|leaf| Arc::strong_count(&leaf.meta) > 1);
        leaves
    }
}
