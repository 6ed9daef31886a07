//! What operations and their arguments are called: names, texts, and the call that a node remembers.
//!
//! Owns: the lists of names, the attributes of nodes, and signatures as text. Never calls an operation.
//! Invariant: what is shown of a call converts back to its arguments.

pub(crate) mod attributes;
pub(crate) mod make;
mod name_list;
pub(crate) mod signature_text;

pub(crate) use name_list::{Source, function, functions, methods, namespaces};
