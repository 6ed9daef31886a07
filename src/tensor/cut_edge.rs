//! The edge of cut tensors while a custom function's backward is recorded.
//!
//! Operations on cut tensors (intermediate results of the unrecorded forward) record this thread-local edge, whose node
//! refuses a second derivative. Outside such a backward, a cut tensor is a constant.

use std::cell::RefCell;

use crate::tensor::Edge;

thread_local! {
    static EDGE: RefCell<Option<Edge>> = const { RefCell::new(None) };
}

struct RestoreEdge(Option<Edge>);

impl Drop for RestoreEdge {
    fn drop(&mut self) {
        let _ended = EDGE.replace(self.0.take());
    }
}

/// Runs a recorded backward, in which cut tensors have `edge`.
pub(crate) fn with_cut_edge<R>(edge: Edge, body: impl FnOnce() -> R) -> R {
    let _restore = RestoreEdge(EDGE.replace(Some(edge)));
    body()
}

/// The current edge of cut tensors.
#[cold]
pub(super) fn cut_edge() -> Option<Edge> {
    EDGE.with_borrow(Option::clone)
}
