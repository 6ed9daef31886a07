//! The Python extension module `ferrograd._core`: classes, functions, errors and the GIL policy.
//! The GIL is released only in `call/intercept.rs` (around large kernels) and while files are written.

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
mod pytree;
mod tensor;
