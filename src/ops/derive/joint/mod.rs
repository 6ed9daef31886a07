//! Replay of functions whose results have a history: one node, whose forward pass and backward pass are programs.
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
