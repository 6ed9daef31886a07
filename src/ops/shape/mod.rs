//! Arrangement: views, joins, repetitions, diagonals, creation.
//!
//! Owns: what changes where elements stand, and tensors made from nothing. Never computes with elements.
//! Invariant: a view where the strides allow it, and its backward is the inverse arrangement.

pub mod create;
pub mod diagonal;
pub mod flip;
pub mod grid;
pub mod join;
pub mod pairs;
pub(crate) mod reinterpret;
pub mod repeat;
pub mod reshape;
pub mod split;
