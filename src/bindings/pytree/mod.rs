//! Pytrees: nested containers, taken apart into leaves and put together again.

mod container;
pub(crate) mod static_value;
mod structure;
pub(crate) mod tree_object;

pub(crate) use container::Container;
pub(crate) use structure::{Node, Structure};
pub(crate) use tree_object::PyTree;
