//! Sorting, selection, search and unique elements along one axis.
//!
//! Invariant: NaN is greater than every number.

mod along_axis;
#[cfg(target_arch = "x86_64")]
mod ints_as_floats;
mod mixed_sign_compare;
mod search_sorted;
#[cfg(target_arch = "x86_64")]
mod sort_avx512;
#[cfg(target_arch = "x86_64")]
mod sort_floats;
mod sort_line;
#[cfg(target_arch = "x86_64")]
mod sorting_network;
mod top_k;
mod total_order;
mod unique;

pub use along_axis::{arg_order, arg_ranks, sort};
pub use mixed_sign_compare::compare_mixed_signs;
pub use search_sorted::{isin, search_sorted};
pub use total_order::{TotalOrder, argsort_by};
pub use unique::unique_sorted;
