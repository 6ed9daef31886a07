//! Side effects of a traced function on gradients: the leaves whose `.grad` it reads or sets.
//!
//! Invariant: a leaf is listed once, with its gradient from before the function touched it.

use std::cell::RefCell;
use std::sync::Arc;

use crate::array::observer;
use crate::tensor::{Meta, Tensor};

/// A leaf whose gradient a traced function read or set.
pub(crate) struct TouchedLeaf {
    pub(crate) meta: Arc<Meta>,
    /// The gradient before.
    pub(crate) before: Option<Tensor>,
    /// Whether the function may depend on it.
    pub(crate) read: bool,
    /// Whether the gradient's memory had other handles, or was adopted.
    pub(crate) shared: bool,
}

thread_local! {
    static LEAVES: RefCell<Vec<TouchedLeaf>> = const { RefCell::new(Vec::new()) };
}

/// Notes that the gradient of a leaf is about to be read or replaced.
#[inline]
pub(crate) fn note_grad_access(meta: &Arc<Meta>, read: bool) {
    if observer::is_active() {
        note_slow(meta, read);
    }
}

#[cold]
fn note_slow(meta: &Arc<Meta>, read: bool) {
    LEAVES.with_borrow_mut(|leaves| {
        if !leaves.iter().any(|leaf| Arc::ptr_eq(&leaf.meta, meta)) {
            let before = meta.grad();
            // The leaf has one handle, and `before` another one.
            let shared = before.as_ref().is_some_and(|grad| {
                let memory = grad.storage();
                memory.has_other_handles(&[memory]) || !memory.owns_memory()
            });
            leaves.push(TouchedLeaf { meta: meta.clone(), before, read, shared });
        }
    });
}

/// The leaves touched during one trace; an enclosing trace has a list of its own.
#[must_use = "the leaves of the outer recording come back when this ends"]
pub(crate) struct EffectScope {
    outer: Vec<TouchedLeaf>,
}

impl EffectScope {
    /// Begins a list.
    pub(crate) fn begin() -> EffectScope {
        EffectScope { outer: LEAVES.take() }
    }

    /// Ends the list and returns the touched leaves, except those that no longer exist.
    pub(crate) fn end(self) -> Vec<TouchedLeaf> {
        let mut leaves = LEAVES.replace(self.outer);
        leaves.retain(|leaf| Arc::strong_count(&leaf.meta) > 1);
        leaves
    }
}
