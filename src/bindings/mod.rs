//! The Python extension module `ferrograd._core`: classes, functions, errors; the whole GIL policy.
mod call;
mod errors;
mod exchange;
mod function;
mod graph;
mod module;
mod object;
mod package;
mod pass;
mod tensor;
