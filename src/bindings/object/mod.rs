//! Python objects of tensors and nodes, and their identity: what every other room of the bindings stands on.
//!
//! Owns: the objects and the ways from a handle to its object. Never computes and never walks a graph.
//! Invariant: while the object of a node, or of a tensor with state, lives, wrapping the same yields it.

pub(crate) mod free_list;
pub(crate) mod module_slots;
pub(crate) mod node;
pub(crate) mod python_rule_count;
mod tensor;

pub(crate) use tensor::{
    PyTensor, item, leaf, object_of, read_only, remember, wrap, wrap_computed, wrap_of, wrap_part,
};
