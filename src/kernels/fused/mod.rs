//! Fused element-wise loops: several loops over the same elements, run tile by tile so that intermediates stay in the cache.
//!
//! Programs build chains from their steps (`compile::passes`), backward from neighbouring nodes (`eager_chain`).

pub(crate) mod broadcast;
pub(crate) mod chain;
pub(crate) mod chain_op;
mod eager_chain;
mod scratch;

pub use chain::Chain;
pub(crate) use eager_chain::{Tile, Tiles};
