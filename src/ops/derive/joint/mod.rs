//! Replay of functions whose results have a history: one node, whose forward pass and backward pass are programs.
mod again;
mod node;
mod record;

pub use again::Original;
pub(crate) use again::{Closures, computed};
pub(crate) use node::bytes;
pub(crate) use record::{Ends, cotangent, numbered};
pub use record::{JointReplay, NotJoint};
