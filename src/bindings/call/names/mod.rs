//! What operations and their arguments are called: names, texts, and the call that a node remembers.
pub(crate) mod attributes;
pub(crate) mod late;
mod list;
pub(crate) mod show;

pub(crate) use list::{Source, function, functions, methods, namespaces};
