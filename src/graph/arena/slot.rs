//! One slot: a header that every list and handle understands, and the place of a node.
//!
//! Owns the contents' life from `occupy` to `vacate`. It never frees memory: a vacant slot is reused or retired.
//! Invariant: the node is initialised exactly while the count is above zero or `vacate` runs.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::generation::Word;
use super::handle::NodeRef;
use super::shard::Shard;
use super::sync::AtomicPtr;
use super::thread_state;
use crate::graph::node::Node;
use crate::graph::value::Value;

/// The last generation: a slot that reaches it is retired.
pub(super) const LAST_GENERATION: u32 = u32::MAX;

/// The part of a slot that does not depend on the value type.
#[repr(C)]
pub(super) struct Header {
    /// Generation and count.
    pub(super) word: Word,
    /// The next slot of the list this one is on: free, remote or dead.
    pub(super) next: AtomicPtr<Header>,
    /// The shard that carved the slot.
    pub(super) shard: &'static Shard,
}

/// What a shard must know about its slots' type.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) layout: Layout,
    /// Drops the contents and makes the slot vacant.
    pub(super) vacate: unsafe fn(NonNull<Header>),
}

/// A header and the place of a node; the header comes first so that pointers to it are pointers to the slot. A slot shares
/// no line of the cache with another.
#[repr(C, align(64))]
pub(super) struct Slot<V: Value> {
    pub(super) header: Header,
    node: UnsafeCell<MaybeUninit<Node<V>>>,
}

impl<V: Value> Slot<V> {
    pub(super) const KIND: &'static Kind =
        &Kind { layout: Layout::new::<Slot<V>>(), vacate: Slot::<V>::vacate };

    /// Makes a node where it stays, and makes it visible with a count of one when `fill` has succeeded; else the slot is
    /// vacant again. What was just written and is moved costs more than a small operation's bookkeeping.
    ///
    /// # Safety
    /// `slot` is vacant, of this type, and reached by nobody else.
    #[inline(always)]
    pub(super) unsafe fn occupy<E>(
        slot: NonNull<Slot<V>>,
        node: impl FnOnce() -> Node<V>,
        fill: impl FnOnce(&mut Node<V>) -> Result<(), E>,
    ) -> Result<NodeRef<V>, E> {
        // SAFETY: the caller has the vacant slot to itself; the count is still zero, so no key can be upgraded
        // before the release store below publishes the node.
        unsafe {
            let node = (*(*slot.as_ptr()).node.get()).write(node());
            let unfinished = Unfinished { slot };
            fill(node)?;
            std::mem::forget(unfinished);
            (*slot.as_ptr()).header.word.publish();
            Ok(NodeRef::from_counted(slot))
        }
    }

    /// The node.
    ///
    /// # Safety
    /// The slot stays occupied (somebody counts it) during `'a`.
    #[inline]
    pub(super) unsafe fn node<'a>(slot: NonNull<Slot<V>>) -> &'a Node<V> {
        // SAFETY: occupied slots hold an initialised node, and only shared references to it are ever made.
        unsafe { (*(*slot.as_ptr()).node.get()).assume_init_ref() }
    }

    /// Drops the contents, changes the generation and puts the slot on a free list.
    ///
    /// # Safety
    /// `header` begins a slot of this type whose count has just reached zero; called once per occupation.
    unsafe fn vacate(header: NonNull<Header>) {
        let slot = header.cast::<Slot<V>>();
        let release = Release { header };
        // SAFETY: a count of zero means that no handle is left and none can be made, so this is the only access.
        // The slot is on no free list yet: code that runs in the drop and records gets another slot.
        unsafe { (*(*slot.as_ptr()).node.get()).assume_init_drop() };
        drop(release);
    }
}

/// Has memory brought into the cache that is about to be read.
#[inline(always)]
pub(super) fn fetch(address: usize, bytes: usize) {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (address, bytes);
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::without_provenance(address.wrapping_add(line));
        // SAFETY: a hint, which reads nothing and faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
}

/// The same for what comes four steps after `now`, if steps are as long as the one from `before`.
#[inline(always)]
pub(super) fn fetch_beyond(before: usize, now: usize, bytes: usize) {
    fetch(now.wrapping_add(now.wrapping_sub(before).wrapping_mul(4)), bytes);
}

/// Vacates the slot of a node that was refused, or whose making panicked.
struct Unfinished<V: Value> {
    slot: NonNull<Slot<V>>,
}

impl<V: Value> Drop for Unfinished<V> {
    fn drop(&mut self) {
        // SAFETY: the slot holds a node of this type that nobody else has seen.
        unsafe { Slot::<V>::vacate(self.slot.cast()) };
    }
}

/// Gives the slot back, also when dropping its contents panicked.
struct Release {
    header: NonNull<Header>,
}

impl Drop for Release {
    fn drop(&mut self) {
        // SAFETY: pages are never freed, so the header is valid.
        let header = unsafe { self.header.as_ref() };
        let next = header.word.retire();
        thread_state::give_back(self.header, next == LAST_GENERATION);
    }
}
