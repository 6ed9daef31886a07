//! The arena itself: its shards, its count of live nodes, and the right to stamp nodes.
//!
//! Owns the list of shards and the numbers of the tasks that stamped. It never touches a slot's contents but to place
//! a new node.
//! Invariant: at most one task holds the right to stamp, and no task number is used twice.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use super::handle::NodeRef;
use super::shard::{self, Shard};
use super::slot::Slot;
use super::thread_state;
use crate::graph::node::Node;
use crate::graph::value::Value;

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

    /// Makes a node in its place, and fills it; the returned handle is its first count. Nothing is left of a node that
    /// `fill` refuses.
    #[inline(always)]
    pub(in crate::graph) fn insert<E>(
        &'static self,
        node: impl FnOnce() -> Node<V>,
        fill: impl FnOnce(&mut Node<V>) -> Result<(), E>,
    ) -> Result<NodeRef<V>, E> {
        let slot = thread_state::with_shard(&self.shards, Slot::<V>::KIND, |shard| {
            // SAFETY: `with_shard` lends a shard of this arena's kind that the current thread owns.
            unsafe { shard.pop() }
        });
        // SAFETY: `pop` returned a vacant slot of this arena's kind that nobody else can reach.
        unsafe { Slot::occupy(slot.cast::<Slot<V>>(), node, fill) }
    }

    /// The right to write stamps into nodes, held by one pass at a time; `None`: use a map instead.
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

/// A task's exclusive right to stamp nodes with dense indices.
pub(in crate::graph) struct Stamps<'a> {
    right: &'a AtomicBool,
    task: u64,
}

impl Stamps<'_> {
    const INDEX_BITS: u32 = 28;
    /// How many nodes one task can stamp.
    pub(in crate::graph) const MAX: usize = 1 << Self::INDEX_BITS;

    /// The stamp of index `index`.
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
