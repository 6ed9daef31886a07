//! The order of elements along one axis.
mod key;
mod lines;

pub use key::Key;
pub use lines::{arg_order, arg_ranks, sort};
