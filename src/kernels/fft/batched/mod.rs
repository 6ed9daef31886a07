//! Batched FFT: transforms as many lines at once as a vector has lanes.
//!
//! Invariant: a line has the same bits in any lane.

mod load_store;
mod passes;
mod simd;
mod transform;
mod transpose;

pub(super) use passes::Passes;
pub(super) use simd::ComplexPairs;
pub(super) use transform::{
    BatchedFft, BatchedPlan, Strip, lines_per_call, passes, prefers_batched, workspace_bytes,
    workspace_len,
};
