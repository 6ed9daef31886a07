//! Derivatives of compiled functions: the forward and the backward program of a call are one autograd node.
//!
//! Invariant: gradients are bit for bit those of the eager function.

mod backward_node;
mod call_node;
mod differentiable_program;
mod higher_order;

pub(crate) use backward_node::{BackwardProgram, record_node};
pub(crate) use call_node::as_flat_tensor;
pub(crate) use differentiable_program::{BackwardBoundary, gradient_indices, traced_seeds};
pub use differentiable_program::{DifferentiableProgram, NotDifferentiable};
pub use higher_order::OriginalFunction;
pub(crate) use higher_order::{Closures, differentiate_call, saved_arguments};
