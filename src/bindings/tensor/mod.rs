//! Methods, attributes and operators of `Tensor` that are not in the operation registry.

mod attributes;
mod autograd;
mod construct;
mod conversion;
mod display;
mod indexing;
mod inplace;
mod like;
mod operators;
mod optimizer_update;
mod pickle;
mod protocols;
pub(crate) mod slots;

pub(crate) use construct::{
    adopt_array, asarray, from_numpy, full, get_default_dtype, leaf_of, set_default_dtype, tensor,
    value_tensor,
};
pub(crate) use indexing::TensorIterator;
pub(crate) use optimizer_update::_update;
pub(crate) use pickle::rebuild;
