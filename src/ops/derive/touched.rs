//! Gradients of leaves that a recorded function read or set.
//!
//! Owns: what counts as made by the function, and the refusal of those of its arguments. Never sets a gradient: a replay
//! does. Invariant: a refusal leaves the gradients that were there.

use std::sync::Arc;

use super::replay::give_back;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::effects::TouchedLeaf;

/// Whether a leaf has a gradient that the function made, in memory of its own.
pub(super) fn is_made(leaf: &TouchedLeaf, grad: &Option<Tensor>) -> bool {
    let same =
        |grad: &Tensor| leaf.before.as_ref().is_some_and(|b| b.storage().same(grad.storage()));
    grad.as_ref().is_some_and(|grad| !same(grad))
}

/// Arguments are copies: what happens to a gradient of one does not reach the caller's tensor.
pub(super) fn refuse_own_gradients(touched: &[TouchedLeaf], copies: &[Tensor]) -> Result<()> {
    let is_own = |leaf: &TouchedLeaf| {
        copies.iter().any(|x| x.meta().is_some_and(|meta| Arc::ptr_eq(meta, &leaf.meta)))
    };
    if !touched.iter().any(is_own) {
        return Ok(());
    }
    give_back(touched);
    Err(uses_gradient_of_argument())
}

#[cold]
fn uses_gradient_of_argument() -> Box<Error> {
    Box::new(Error::Captured {
        op: "compile".into(),
        what: "the function reads or sets the gradient of an argument, of which it gets a copy"
            .into(),
        remedy: "close over that tensor, or compute the gradient with fg.autograd.grad",
    })
}
