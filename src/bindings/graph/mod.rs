//! The graph as Python sees it: nodes, edges, hooks, saved values, where an operation was called.
//!
//! Owns: what Python may ask of the graph and hang on it. Never changes a graph by looking at it.
//! Invariant: Python functions are called with no lock held.

pub(crate) mod collect;
pub(crate) mod edge;
pub(crate) mod group;
pub(crate) mod hooks;
pub(crate) mod introspect;
pub(crate) mod node;
pub(crate) mod packing;
pub(crate) mod saved;
pub(crate) mod site;
