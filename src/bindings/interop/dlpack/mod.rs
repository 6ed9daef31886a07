//! DLPack: memory shared with other array libraries, in both directions.
//!
//! Owns: capsules in both directions, and their format. Never converts a dtype.
//! Invariant: what a capsule holds is taken over once and released once.

mod export;
mod format;
mod import;

pub(crate) use import::{from_dlpack, produces, shared};
