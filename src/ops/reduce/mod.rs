//! Reductions along axes: sums, extremes, scans, norms, quantiles, sorting, statistics.
//!
//! Invariant: a rule works with kept axes (`keepdims`); dropping them is a reshape.

pub mod logsumexp;
pub mod nan_reductions;
pub mod norms;
pub mod quantile;
pub(crate) mod quantile_method;
pub mod reductions;
pub mod scan;
pub mod scatter_reduce;
mod segments;
pub mod softmax;
pub mod sort;
pub mod statistics;
pub mod unique;
