//! DLPack: memory shared with other array libraries, in both directions.
mod export;
mod format;
mod import;

pub(crate) use import::{from_dlpack, produces, shared};
