//! The Python objects of tensors and nodes, and their identity: wrapping a node, or a tensor with autograd state,
//! returns its existing object.

pub(crate) mod free_list;
pub(crate) mod nn_module_slots;
pub(crate) mod node;
pub(crate) mod python_rule_count;
mod tensor;

pub(crate) use tensor::{
    PyTensor, item_to_python, new_leaf, object_of, set_identity, wrap, wrap_computed,
    wrap_computed_view, wrap_read_only, wrap_result_of,
};
