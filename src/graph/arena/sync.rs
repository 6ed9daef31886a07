//! The atomics that the protocols beside this file use.
//!
//! Owns nothing. `tests/loom` includes the protocols' files with loom's atomics under this name, and so runs
//! the very code of the arena. Never add anything that loom does not have.
//! Invariant: what the protocols need of memory ordering comes from here alone.

pub(super) use crate::threads::alone;
pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
