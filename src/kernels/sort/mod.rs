//! The order of elements along one axis.
//!
//! Owns: sorting, selection and search. Never orders across lines. Invariant: a NaN is above everything.

mod along_axis;
#[cfg(target_arch = "x86_64")]
mod ints_as_floats;
mod mixed_sign_compare;
mod runs;
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

pub use along_axis::{arg_order, arg_ranks, sort};
pub use mixed_sign_compare::signs;
pub use runs::firsts;
pub use search_sorted::{among, insertion_points};
pub use total_order::{Key, sorted};
