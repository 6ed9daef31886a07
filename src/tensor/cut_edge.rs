//! Where the history of a custom function's intermediate results would be, while its backward is recorded.
//!
//! Owns: the edge, of this thread, that operations on cut tensors record; it leads to a refusal.
//! Never set outside such a backward: there a cut tensor is a constant.
//! Invariant: the edge before is restored however the body ends.

use std::cell::RefCell;

use crate::tensor::Edge;

thread_local! {
    static EDGE: RefCell<Option<Edge>> = const { RefCell::new(None) };
}

struct Restore(Option<Edge>);

impl Drop for Restore {
    fn drop(&mut self) {
        let _ended = EDGE.replace(self.0.take());
    }
}

/// Runs a recorded backward; what it computes from cut tensors gets `edge`.
pub(crate) fn with_cut_edge<R>(edge: Edge, body: impl FnOnce() -> R) -> R {
    let _restore = Restore(EDGE.replace(Some(edge)));
    body()
}

/// The edge that a cut tensor has here.
#[cold]
pub(super) fn cut_edge() -> Option<Edge> {
    EDGE.with_borrow(Option::clone)
}
