//! Fused element-wise loops: several loops over the same elements, run tile by tile so that intermediates
//! stay in the cache.
//!
//! Compiled programs build chains in `compile::passes`; eager backward fuses adjacent nodes with
//! `eager_chain`.

pub(crate) mod broadcast;
pub(crate) mod chain;
pub(crate) mod chain_op;
mod eager_chain;

pub use chain::Chain;
pub(crate) use eager_chain::{EagerChain, FusedOperand};
