//! Reductions over any set of axes: sum, prod, max, min, any, all, count, argmax, argmin, and pairwise
//! distances.
//!
//! Invariant: the order in which elements are merged depends on dims, strides and dtype only.

mod arg;
mod complex;
mod contiguous;
mod float_extremes;
mod fold;
mod inner;
mod launch_reduce;
mod loop_table;
mod outer;
mod pairwise_distances;
mod pairwise_distances_backward;
mod reductions;
mod scaled_sum_of_squares;
mod transposed_rows;

pub use arg::arg_reduce;
pub use contiguous::{RowReduction, WHOLE_LEAF, WholeReduction, row_reduction, whole_reduction};
pub(super) use fold::{Fold, LEAF_ELEMENTS, PairwiseTree, fold_rows};
pub use launch_reduce::{Reduction, reduce};
pub use pairwise_distances::{squared_distances, squared_distances_within};
pub use pairwise_distances_backward::{projected_differences, weighted_differences};
pub(super) use reductions::{Max, Sum};
pub use scaled_sum_of_squares::{AccurateRange, all_within, scaled_sum_of_squares};
