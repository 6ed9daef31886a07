//! Derivatives of compiled functions: the forward and the backward program of a call are one autograd node.
//!
//! Invariant: gradients are bit for bit those of the eager function.

mod backward_node;
mod call_node;
mod higher_order;
mod joint_trace;

pub(crate) use backward_node::{BackwardProgram, record_node};
pub(crate) use call_node::bytes;
pub use higher_order::Original;
pub(crate) use higher_order::{Closures, arguments, gradients};
pub(crate) use joint_trace::{Ends, cotangents, numbered};
pub use joint_trace::{JointReplay, NotJoint};
