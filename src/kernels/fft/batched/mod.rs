//! Batched FFT: transforms as many lines at once as a vector has lanes.
//!
//! Invariant: a line has the same bits in any lane.

mod load_store;
mod passes;
mod transform;
mod transpose;

pub(super) use load_store::Strip;
pub(super) use transform::{
    BatchedPlan, lanes, lines_per_call, passes, prefers_batched, transform_strip, workspace_bytes,
    workspace_len,
};
