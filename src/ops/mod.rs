//! What a user can call: validate, compute, record; each derivative beside its forward.
//!
//! Owns: every operation and its rule, the registry the faces are generated from, `impl Value for Tensor`.
//! Never sees a host language or the engine's tables.
//! Invariant: an operation enters the graph through `graph::record` and nowhere else.

#[macro_use]
pub mod formula;
#[macro_use]
pub mod family;

pub mod activation;
pub mod along;
pub mod arguments;
pub mod arith;
pub mod assign;
pub mod autograd;
pub mod bitwise;
pub mod blend;
pub mod cast;
mod chain_rule;
pub mod checkpoint;
pub mod choice;
pub mod closeness;
pub mod compare;
mod contract;
pub mod create;
pub mod declare;
pub mod diagonal;
pub mod distinct;
pub mod einsum;
mod einsum_text;
pub mod elementwise;
pub mod extremes;
mod fiber;
pub mod flip;
pub mod function;
pub mod functor;
pub mod gelu;
pub mod grid;
pub mod index;
pub mod inplace;
pub mod inspect;
pub(crate) mod integer;
pub mod jacobian;
pub mod join;
#[cfg(feature = "linalg")]
pub mod linalg;
pub mod logsumexp;
pub mod math;
pub mod matmul;
pub mod nan;
pub mod nn;
pub mod nonzero;
pub mod norms;
pub mod numerical;
mod operators;
pub mod order;
pub mod orders;
mod overwritten;
pub mod pad;
mod pad_modes;
mod places;
pub mod powers;
pub mod products;
pub mod quantile;
mod quantile_method;
pub mod reduce;
mod registry;
pub mod repeat;
pub mod rounding;
pub mod scan;
pub mod select;
pub mod shape;
pub mod softmax;
pub mod split;
pub mod statistics;
mod structured;
mod subscript;
pub mod sym;
mod value;
mod view;
pub mod window;

pub use registry::{in_place_alias, in_place_name, registry};
