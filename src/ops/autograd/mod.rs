//! Requests to the engine: `backward`, `grad`, `jvp`, Jacobians, checkpoints, and the size of a graph.
//!
//! Invariant: a request that fails leaves every leaf unchanged.

pub mod backward;
pub mod checkpoint;
pub mod forward_mode;
pub mod graph_size;
pub mod jacobian;
