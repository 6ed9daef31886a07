//! The order of elements along one axis.
//!
//! Owns: sorting, selection and search. Never orders across lines. Invariant: a NaN is above everything.

mod few;
mod key;
mod lines;
mod search;
mod signs;
mod sorting;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub use key::{Key, sorted};
pub use lines::{arg_order, arg_ranks, sort};
pub use search::{among, insertion_points};
pub use signs::signs;
