//! The order of elements along one axis.
mod key;
mod lines;
mod search;
mod signs;

pub use key::{Key, sorted};
pub use lines::{arg_order, arg_ranks, sort};
pub use search::{among, insertion_points};
pub use signs::signs;
