//! The order of elements along one axis.
//!
//! Owns: sorting, selection and search. Never orders across lines. Invariant: a NaN is above everything.

mod few;
#[cfg(target_arch = "x86_64")]
mod floats;
mod key;
mod lines;
#[cfg(target_arch = "x86_64")]
mod network;
mod runs;
mod search;
mod signs;
mod sorting;
#[cfg(target_arch = "x86_64")]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod wholes;

pub use key::{Key, sorted};
pub use lines::{arg_order, arg_ranks, sort};
pub use runs::firsts;
pub use search::{among, insertion_points};
pub use signs::signs;
