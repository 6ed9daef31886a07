//! What a call of an operation passes through, from CPython to the registry.
//!
//! Owns: the door, the binding and conversion of arguments, the short ways of small calls. Never computes and never records.
//! Invariant: whatever a user calls, by whichever name, is one `Call`.

pub(crate) mod bind;
pub(crate) mod callback;
pub(crate) mod convert;
pub(crate) mod default_dtype;
pub(crate) mod dispatch;
pub(crate) mod entry;
pub(crate) mod host_call;
pub(crate) mod intercept;
pub(crate) mod lazy_methods;
pub(crate) mod numpy_arguments;
pub(crate) mod observe;
pub(crate) mod result_options;
pub(crate) mod sequence;
pub(crate) mod slice;
pub(crate) mod small_ops;
pub(crate) mod thread_state;

pub(crate) use lazy_methods::{attributes, make, signature_text};
