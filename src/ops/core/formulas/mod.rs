//! Operations declared by a formula for one element.
//!
//! Invariant: a formula has two interpretations, numeric (a loop) and symbolic (recorded tensor operations), which agree.

pub(crate) mod chain_rule;
pub mod elementwise;
#[cfg(feature = "python")]
pub(crate) mod small;
#[macro_use]
pub mod formula;
pub(crate) mod fused_backward;
mod mixed_dtypes;
pub mod symbolic;
mod tangent;
