//! DLPack: zero-copy exchange with other array libraries.

mod export;
mod format;
mod import;

pub(crate) use import::{from_dlpack, import_shared, is_producer};
