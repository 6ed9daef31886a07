//! The synchronisation primitives used by the protocols in this folder.
//!
//! `tests/loom` compiles the files of the protocols with loom's primitives instead of this file, so import only what loom
//! has, and import it from here only.

pub(super) use crate::threads::alone;
pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
