//! A backward pass as Python starts it, and the modes of a thread.
pub(crate) mod arguments;
pub(crate) mod backward;
pub(crate) mod bound;
pub(crate) mod control;
pub(crate) mod host;
pub(crate) mod joint;
pub(crate) mod modes;
pub(crate) mod replay;
pub(crate) mod replayed;
pub(crate) mod search;
pub(crate) mod short;
pub(crate) mod usage;
mod watched;
