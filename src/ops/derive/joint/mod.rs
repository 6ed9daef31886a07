//! Replay of functions whose results have a history: one node, whose forward pass and backward pass are programs.
mod node;
mod record;

pub use node::Original;
pub use record::{JointReplay, NotJoint};
