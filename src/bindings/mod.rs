//! The Python extension module `ferrograd._core`: classes, functions, errors; the whole GIL policy.
//!
//! Owns: what Python sees of the crate. Never computes: that is `ops`.
//! Invariant: the GIL is released at the door and in the writing of files, and nowhere else.

mod attach;
mod backward;
mod call;
mod compile;
mod custom_op;
mod errors;
mod graph;
mod interop;
mod module;
mod object;
mod package;
mod tensor;
