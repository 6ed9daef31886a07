//! Derivatives asked for: backward, grad, Jacobians, checkpoints, and what a graph holds.
//!
//! Owns: the requests to the engine. Never contains the derivative of an operation.
//! Invariant: a request that fails leaves every leaf as it was.

pub mod backward;
pub mod bound;
pub mod checkpoint;
pub mod control;
pub mod host;
pub mod inspect;
pub mod jacobian;
pub mod joint;
mod leaves;
pub mod replay;
mod touched;
