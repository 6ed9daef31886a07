//! Layout operations and creation: reshapes, joins, splits, repetitions, diagonals.
//!
//! Invariant: a view where the strides allow it; its backward is the inverse operation.

pub mod broadcast_arrays;
pub mod create;
pub mod diagonal;
pub mod flip;
pub mod join;
pub mod repeat;
pub mod reshape;
pub mod split;
pub mod view_dtype;
