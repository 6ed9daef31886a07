//! The graph as Python sees it: nodes, edges, hooks, saved values, where an operation was called.
pub(crate) mod collect;
pub(crate) mod edge;
pub(crate) mod group;
pub(crate) mod hooks;
pub(crate) mod introspect;
pub(crate) mod node;
pub(crate) mod packing;
pub(crate) mod saved;
pub(crate) mod site;
