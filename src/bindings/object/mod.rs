//! Python objects of tensors and nodes, and their identity: what every other room of the bindings stands on.
pub(crate) mod counted;
pub(crate) mod node;
pub(crate) mod recycle;
mod tensor;

pub(crate) use tensor::{
    PyTensor, item, leaf, object_of, read_only, remember, wrap, wrap_computed, wrap_of, wrap_part,
};
