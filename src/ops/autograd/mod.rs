//! Derivatives asked for: backward, grad, Jacobians, checkpoints, and what a graph holds.
//!
//! Owns: the requests to the engine. Never contains the derivative of an operation.
//! Invariant: a request that fails leaves every leaf as it was.

pub mod backward;
pub mod checkpoint;
pub mod graph_size;
pub mod jacobian;
