//! The Python extension module `ferrograd._core`: classes, functions, errors; the whole GIL policy.
mod autograd;
mod collect;
mod config;
mod convert;
mod dispatch;
mod errors;
mod ffi;
mod function;
mod functor;
mod host;
mod introspect;
mod module;
mod node;
mod numpy;
mod scope;
mod tensor;
