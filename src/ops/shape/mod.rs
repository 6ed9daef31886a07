//! Arrangement: views, joins, repetitions, diagonals, creation.
//!
//! Owns: what changes where elements stand, and tensors made from nothing. Never computes with elements.
//! Invariant: a view where the strides allow it, and its backward is the inverse arrangement.

pub mod create;
pub mod diagonal;
pub mod flip;
pub mod join;
pub mod meshgrid;
pub mod repeat;
pub mod reshape;
pub mod split;
pub mod view_as_real;
pub(crate) mod view_dtype;
