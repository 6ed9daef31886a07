//! The arena: its shards, the count of live nodes, and the right to stamp nodes.
//!
//! Invariant: at most one task holds the right to stamp, and task numbers are never reused.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use super::handle::NodeRef;
use super::shard::{self, Shard};
use super::slot::Slot;
use super::thread_state;
use crate::graph::node::Node;
use crate::graph::value::Value;

/// All nodes of one value type; a `static`. Pages are kept for reuse.
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

    /// The number of live nodes; exact while no other thread records or drops nodes.
    pub fn live_nodes(&self) -> usize {
        let mut live = 0usize;
        for shard in shard::iter(&self.shards) {
            live = live.wrapping_add(shard.live());
        }
        live
    }

    /// The number of slots ever allocated.
    pub fn capacity(&self) -> usize {
        shard::iter(&self.shards).map(Shard::carved).sum()
    }

    /// Constructs a node in place; the returned handle is its first count. If `fill` fails, the slot is vacant again.
    #[inline(always)]
    pub(in crate::graph) fn insert<E>(
        &'static self,
        node: impl FnOnce() -> Node<V>,
        fill: impl FnOnce(&mut Node<V>) -> Result<(), E>,
    ) -> Result<NodeRef<V>, E> {
        let slot = thread_state::with_shard(&self.shards, Slot::<V>::TYPE, |shard| {
            // SAFETY: `with_shard` passes a shard with this type of slots that the current thread owns.
            unsafe { shard.pop() }
        });
        // SAFETY: `pop` returned a vacant slot of this type that no other code reaches.
        unsafe { Slot::occupy(slot.cast::<Slot<V>>(), node, fill) }
    }

    /// The exclusive right to write stamps into nodes; `None` if another pass has it (use a map then).
    pub(in crate::graph) fn stamps(&self) -> Option<Stamps<'_>> {
        self.stamping.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let task = self.task.load(Ordering::Relaxed) + 1;
        if task >= 1 << (64 - Stamps::INDEX_BITS) {
            // The task numbers are used up: the right is never granted again.
            return None;
        }
        self.task.store(task, Ordering::Relaxed);
        Some(Stamps { right: &self.stamping, task })
    }
}

/// The exclusive right to stamp nodes with dense indices.
pub(in crate::graph) struct Stamps<'a> {
    right: &'a AtomicBool,
    task: u64,
}

impl Stamps<'_> {
    const INDEX_BITS: u32 = 28;
    /// The most nodes that one task can stamp.
    pub(in crate::graph) const MAX: usize = 1 << Self::INDEX_BITS;

    /// The stamp of an index.
    #[inline]
    pub(in crate::graph) fn stamp(&self, index: u32) -> u64 {
        self.task << Self::INDEX_BITS | u64::from(index)
    }

    /// The index in `stamp`, if this task wrote it.
    #[inline]
    pub(in crate::graph) fn index(&self, stamp: u64) -> Option<u32> {
        (stamp >> Self::INDEX_BITS == self.task).then_some((stamp & (Self::MAX as u64 - 1)) as u32)
    }
}

impl Drop for Stamps<'_> {
    fn drop(&mut self) {
        self.right.store(false, Ordering::Release);
    }
}
