//! Many elements into fewer, along axes: sums, extremes, scans, norms, quantiles, orders.
//!
//! Owns: reductions, scans, sorts and statistics. Never lets the thread count decide an order of summation.
//! Invariant: a rule works on the keepdims form; dropping axes is a reshape.

pub mod logsumexp;
pub mod nan_reductions;
pub mod norms;
pub mod quantile;
pub(crate) mod quantile_method;
pub mod reductions;
pub mod scan;
pub mod scatter;
pub mod scatter_reduce;
mod segments;
pub mod softmax;
pub mod sort;
pub mod statistics;
pub mod unique;
