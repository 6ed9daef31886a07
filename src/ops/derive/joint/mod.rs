//! Replay of functions whose results have a history: one node, whose forward pass and backward pass are programs.
//!
//! Owns: the recording of both passes, the node and its rule. Never decides when a function is recorded.
//! Invariant: a call is one node, whose gradients have the bits of the recorded function.

mod again;
mod node;
mod record;
mod rule;

pub use again::Original;
pub(crate) use again::{Closures, arguments, gradients};
pub(crate) use node::bytes;
pub(crate) use record::{Ends, cotangents, numbered};
pub use record::{JointReplay, NotJoint};
pub(crate) use rule::{BackwardProgram, record_node};
