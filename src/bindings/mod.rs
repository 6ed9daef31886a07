//! The Python extension module `ferrograd._core`: classes, functions, errors and the GIL policy.
//! The GIL is released only in `call/intercept.rs` (around large kernels, backward passes and runs of programs) and in
//! `interop/safetensors.rs`, while a header is parsed and while a file is written.

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
mod runtime;
mod tensor;
