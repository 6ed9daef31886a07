//! The ways in which a program writes an operation of its own: a class, an instance, two functions.
//!
//! Owns: what Python sees of each. Never calls a forward or a backward itself: that is `call` and `rule`.
//! Invariant: every face ends in the same call and the same kind of node.

pub(super) mod custom_function;
pub(super) mod function;
pub(super) mod functor_run;
