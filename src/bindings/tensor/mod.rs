//! The class `Tensor`: the struct, its identity, and its methods by topic.
//!
//! Owns: the methods, attributes and protocols that are no operations of the registry. Never computes: `ops` does.
//! Invariant: what a method makes of a call goes through the door.

mod arithmetic;
mod attributes;
mod autograd;
mod construct;
mod conversion;
mod display;
mod indexing;
mod inplace;
mod like;
mod optimizer_update;
mod pickle;
mod protocols;
pub(crate) mod slots;

pub(crate) use construct::{
    asarray, from_numpy, full, get_default_dtype, leaf_of, set_default_dtype, taken, tensor,
    value_of,
};
pub(crate) use indexing::TensorIterator;
pub(crate) use optimizer_update::_update;
pub(crate) use pickle::rebuild;
