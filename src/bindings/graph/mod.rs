//! The autograd graph as Python sees it: nodes, edges, hooks, saved tensors, call sites, garbage collection.
//!
//! Invariant: Python functions are called with no lock held.

pub(crate) mod call_site;
pub(crate) mod edge;
pub(crate) mod garbage_collection;
pub(crate) mod hooks;
pub(crate) mod introspect;
pub(crate) mod multi_grad_hook;
pub(crate) mod node_methods;
pub(crate) mod saved_tensor_hooks;
pub(crate) mod saved_tensors;
