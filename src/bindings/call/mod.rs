//! The path of a call from CPython to an operation: entry points, argument binding and conversion, fast paths,
//! interception.

pub(crate) mod bind;
pub(crate) mod callback;
pub(crate) mod convert;
pub(crate) mod default_dtype;
pub(crate) mod dispatch;
pub(crate) mod entry;
pub(crate) mod intercept;
pub(crate) mod lazy_methods;
pub(crate) mod node_attributes;
pub(crate) mod numpy_arguments;
pub(crate) mod observe;
pub(crate) mod python_host_call;
mod python_methods;
pub(crate) mod result_options;
pub(crate) mod sequence;
pub(crate) mod signature_text;
pub(crate) mod slice;
pub(crate) mod small_ops;
pub(crate) mod thread_state;
