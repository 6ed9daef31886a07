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
pub mod arguments;
pub mod arith;
pub mod autograd;
pub mod cast;
mod chain_rule;
pub mod compare;
mod contract;
pub mod create;
pub mod declare;
pub mod elementwise;
pub mod function;
pub mod functor;
pub mod gelu;
pub mod index;
pub mod inplace;
pub(crate) mod integer;
pub mod join;
pub mod math;
pub mod matmul;
mod operators;
pub mod reduce;
mod registry;
pub mod select;
pub mod shape;
pub mod softmax;
mod structured;
pub mod sym;
mod value;
mod view;

pub use registry::registry;
