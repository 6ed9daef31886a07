//! A slot: a header and the storage of one node, from `occupy` to `vacate`.
//!
//! Memory is never freed: a vacant slot is reused or retired.
//! Invariant: the node is initialised exactly while the count is above zero or `vacate` runs.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::generation::GenerationCount;
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
    pub(super) word: GenerationCount,
    /// The next slot of the list that this one is on: free, remote or dead.
    pub(super) next: AtomicPtr<Header>,
    /// The shard that the slot belongs to.
    pub(super) shard: &'static Shard,
}

/// The layout and the drop function of a slot type.
#[derive(Clone, Copy)]
pub(super) struct SlotType {
    pub(super) layout: Layout,
    /// Drops the contents and vacates the slot.
    pub(super) vacate: unsafe fn(NonNull<Header>),
}

/// A header and the storage of a node. The header comes first, so that a pointer to it is a pointer to the slot. Slots share
/// no cache lines.
#[repr(C, align(64))]
pub(super) struct Slot<V: Value> {
    pub(super) header: Header,
    node: UnsafeCell<MaybeUninit<Node<V>>>,
}

impl<V: Value> Slot<V> {
    pub(super) const TYPE: &'static SlotType =
        &SlotType { layout: Layout::new::<Slot<V>>(), vacate: Slot::<V>::vacate };

    /// Constructs a node in place and, if `fill` succeeds, publishes it with a count of one; else vacates the slot. Moving
    /// the node after its construction would cost more than the bookkeeping of a small operation.
    ///
    /// # Safety
    /// `slot` is vacant, of this type, and not reached by other code.
    #[inline(always)]
    pub(super) unsafe fn occupy<E>(
        slot: NonNull<Slot<V>>,
        node: impl FnOnce() -> Node<V>,
        fill: impl FnOnce(&mut Node<V>) -> Result<(), E>,
    ) -> Result<NodeRef<V>, E> {
        // SAFETY: the caller has exclusive access; the count is still zero, so no key can be upgraded before the release
        // store below publishes the node.
        unsafe {
            let node = (*(*slot.as_ptr()).node.get()).write(node());
            let guard = UnfinishedGuard { slot };
            fill(node)?;
            std::mem::forget(guard);
            (*slot.as_ptr()).header.word.publish();
            Ok(NodeRef::from_counted(slot))
        }
    }

    /// The node.
    ///
    /// # Safety
    /// The slot stays occupied (a count is held) during `'a`.
    #[inline]
    pub(super) unsafe fn node<'a>(slot: NonNull<Slot<V>>) -> &'a Node<V> {
        // SAFETY: occupied slots hold an initialised node, and only shared references to it are ever made.
        unsafe { (*(*slot.as_ptr()).node.get()).assume_init_ref() }
    }

    /// Drops the contents, advances the generation and puts the slot on a free list.
    ///
    /// # Safety
    /// `header` belongs to a slot of this type whose count has just reached zero; called once per occupation.
    unsafe fn vacate(header: NonNull<Header>) {
        let slot = header.cast::<Slot<V>>();
        let release = ReleaseGuard { header };
        // SAFETY: with a count of zero no handle is left and none can be made, so this is the only access. The slot is on no
        // free list yet: a destructor that records a node gets another slot.
        unsafe { (*(*slot.as_ptr()).node.get()).assume_init_drop() };
        drop(release);
    }
}

/// Prefetches memory that is about to be read.
#[inline(always)]
pub(super) fn prefetch(address: usize, bytes: usize) {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (address, bytes);
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::without_provenance(address.wrapping_add(line));
        // SAFETY: a prefetch reads nothing and faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
}

/// Prefetches what comes four steps after `now`, with the stride from `before` to `now`.
#[inline(always)]
pub(super) fn prefetch_ahead(before: usize, now: usize, bytes: usize) {
    prefetch(now.wrapping_add(now.wrapping_sub(before).wrapping_mul(4)), bytes);
}

/// Vacates the slot if `fill` fails or panics.
struct UnfinishedGuard<V: Value> {
    slot: NonNull<Slot<V>>,
}

impl<V: Value> Drop for UnfinishedGuard<V> {
    fn drop(&mut self) {
        // SAFETY: the slot holds a node of this type that was not published.
        unsafe { Slot::<V>::vacate(self.slot.cast()) };
    }
}

/// Returns the slot to its shard, also if dropping the contents panics.
struct ReleaseGuard {
    header: NonNull<Header>,
}

impl Drop for ReleaseGuard {
    fn drop(&mut self) {
        // SAFETY: pages are never freed, so the header is valid.
        let header = unsafe { self.header.as_ref() };
        let next = header.word.advance();
        thread_state::return_slot(self.header, next == LAST_GENERATION);
    }
}
