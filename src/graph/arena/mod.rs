//! The counted arena: where nodes live, and the handles that keep them alive.
//!
//! Owns the slots (never-moving pages in shards owned by threads), their counts and generations, and the cell of a
//! node's saved values. It never runs a rule, and holds no lock while it drops a node's contents.
//! Invariant: a slot with a count of zero is reached by no handle; its generation changes before it is used again.
//! This folder holds all `unsafe` code of the graph; the argument for its soundness is in `../README.md`.

mod handle;
mod local;
mod saved_cell;
mod shard;
mod slot;

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

pub(super) use handle::NodeBorrow;
pub use handle::{Edge, NodeId, NodeRef};
pub(super) use local::{last_seq, next_seq, set_last_seq};
pub(super) use saved_cell::SavedCell;

use super::node::Node;
use super::value::Value;
use shard::Shard;
use slot::Slot;

/// All nodes of one value type. Lives in a `static`; pages are kept for reuse.
pub struct Arena<V: Value> {
    shards: AtomicPtr<Shard>,
    stamping: AtomicBool,
    task: AtomicU64,
    values: PhantomData<fn() -> V>,
}

impl<V: Value> Arena<V> {
    /// An empty arena.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Arena<V> {
        Arena {
            shards: AtomicPtr::new(std::ptr::null_mut()),
            stamping: AtomicBool::new(false),
            task: AtomicU64::new(0),
            values: PhantomData,
        }
    }

    /// How many nodes are alive; exact while no other thread records or drops.
    pub fn live_nodes(&self) -> usize {
        let mut live = 0usize;
        for shard in shard::list(&self.shards) {
            live = live.wrapping_add(shard.live());
        }
        live
    }

    /// How many slots the arena has ever carved out of its pages.
    pub fn capacity(&self) -> usize {
        shard::list(&self.shards).map(Shard::carved).sum()
    }

    /// Places a node; the returned handle is its first count.
    #[inline]
    pub(super) fn insert(&'static self, node: Node<V>) -> NodeRef<V> {
        let slot = local::with_shard(&self.shards, Slot::<V>::KIND, |shard| {
            // SAFETY: `with_shard` lends a shard of this arena's kind that the current thread owns.
            unsafe { shard.pop() }
        });
        // SAFETY: `pop` returned a vacant slot of this arena's kind that nobody else can reach.
        unsafe { Slot::occupy(slot.cast::<Slot<V>>(), node) }
    }

    /// The right to write stamps into nodes, held by one pass at a time; `None`: use a map instead.
    pub(super) fn stamps(&self) -> Option<Stamps<'_>> {
        self.stamping
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        let task = self.task.load(Ordering::Relaxed) + 1;
        if task >= 1 << (64 - Stamps::INDEX_BITS) {
            // The task numbers are used up: the right is never granted again.
            return None;
        }
        self.task.store(task, Ordering::Relaxed);
        Some(Stamps {
            right: &self.stamping,
            task,
        })
    }
}

/// A task's exclusive right to stamp nodes with dense indices.
pub(super) struct Stamps<'a> {
    right: &'a AtomicBool,
    task: u64,
}

impl Stamps<'_> {
    const INDEX_BITS: u32 = 28;
    /// How many nodes one task can stamp.
    pub(super) const MAX: usize = 1 << Self::INDEX_BITS;

    /// The stamp of index `index`.
    #[inline]
    pub(super) fn stamp(&self, index: u32) -> u64 {
        self.task << Self::INDEX_BITS | u64::from(index)
    }

    /// The index in `stamp`, if this task wrote it.
    #[inline]
    pub(super) fn index(&self, stamp: u64) -> Option<u32> {
        (stamp >> Self::INDEX_BITS == self.task).then_some((stamp & (Self::MAX as u64 - 1)) as u32)
    }
}

impl Drop for Stamps<'_> {
    fn drop(&mut self) {
        self.right.store(false, Ordering::Release);
    }
}
