//! Node handles: the counted `NodeRef` and `Edge`, the uncounted `NodeId`, and the engine's `NodeBorrow`.
//!
//! The counting protocol is in `generation.rs`.
//! Invariant: code that reaches a node through `Deref` holds a count, or borrows from an owner of one.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use super::generation::GenerationCount;
use super::slot::{self, Slot};
use super::thread_state;
use crate::graph::node::Node;
use crate::graph::value::Value;

/// A counted handle of a node.
pub struct NodeRef<V: Value> {
    slot: NonNull<Slot<V>>,
}

// SAFETY: a handle gives shared access to a `Node<V>` (which is `Sync`) and may drop it on any thread (`Send`); the
// count is atomic.
unsafe impl<V: Value> Send for NodeRef<V> where Node<V>: Send + Sync {}
// SAFETY: as above.
unsafe impl<V: Value> Sync for NodeRef<V> where Node<V>: Send + Sync {}

#[inline]
fn word<V: Value>(slot: &NonNull<Slot<V>>) -> &GenerationCount {
    // SAFETY: pages are never freed, and the header is reached by shared references only.
    unsafe { &(*slot.as_ptr()).header.word }
}

impl<V: Value> NodeRef<V> {
    /// # Safety
    /// The caller passes on one count of an occupied slot.
    #[inline]
    pub(super) unsafe fn from_counted(slot: NonNull<Slot<V>>) -> NodeRef<V> {
        NodeRef { slot }
    }

    /// The uncounted key of the node.
    #[inline]
    pub fn id(&self) -> NodeId<V> {
        NodeId { slot: self.slot, generation: word(&self.slot).generation() }
    }

    /// The number of handles and edges to the node.
    pub fn count(&self) -> u32 {
        word(&self.slot).count()
    }

    /// An address that identifies the node as long as it lives.
    #[inline]
    pub fn address(&self) -> usize {
        self.slot.as_ptr() as usize
    }

    #[inline]
    pub(in crate::graph) fn borrow(&self) -> NodeBorrow<'_, V> {
        NodeBorrow { slot: self.slot, owner: PhantomData }
    }
}

impl<V: Value> Deref for NodeRef<V> {
    type Target = Node<V>;

    #[inline]
    fn deref(&self) -> &Node<V> {
        // SAFETY: the handle holds a count.
        unsafe { Slot::node(self.slot) }
    }
}

impl<V: Value> Clone for NodeRef<V> {
    #[inline]
    fn clone(&self) -> NodeRef<V> {
        word(&self.slot).increment();
        NodeRef { slot: self.slot }
    }
}

impl<V: Value> Drop for NodeRef<V> {
    #[inline]
    fn drop(&mut self) {
        if word(&self.slot).decrement() {
            thread_state::vacate_all(self.slot.cast());
        }
    }
}

impl<V: Value> PartialEq for NodeRef<V> {
    #[inline]
    fn eq(&self, other: &NodeRef<V>) -> bool {
        self.slot == other.slot
    }
}

impl<V: Value> Eq for NodeRef<V> {}

impl<V: Value> fmt::Debug for NodeRef<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// An uncounted key of a node: it may outlive the node, and then upgrades to `None`.
pub struct NodeId<V: Value> {
    slot: NonNull<Slot<V>>,
    generation: u32,
}

// SAFETY: a key gives access only through `upgrade`, which counts atomically.
unsafe impl<V: Value> Send for NodeId<V> where NodeRef<V>: Send {}
// SAFETY: as above.
unsafe impl<V: Value> Sync for NodeId<V> where NodeRef<V>: Sync {}

impl<V: Value> NodeId<V> {
    /// A counted handle, if the node still lives.
    pub fn upgrade(&self) -> Option<NodeRef<V>> {
        word(&self.slot).upgrade(self.generation).then(|| NodeRef { slot: self.slot })
    }

    /// The address of the node as long as it lives.
    pub(in crate::graph) fn address(&self) -> usize {
        self.slot.as_ptr() as usize
    }

    /// Whether the node still lives (at this moment).
    pub fn is_live(&self) -> bool {
        word(&self.slot).is_live(self.generation)
    }
}

impl<V: Value> Clone for NodeId<V> {
    fn clone(&self) -> NodeId<V> {
        *self
    }
}

impl<V: Value> Copy for NodeId<V> {}

impl<V: Value> PartialEq for NodeId<V> {
    fn eq(&self, other: &NodeId<V>) -> bool {
        self.slot == other.slot && self.generation == other.generation
    }
}

impl<V: Value> Eq for NodeId<V> {}

impl<V: Value> std::hash::Hash for NodeId<V> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.slot.as_ptr() as usize, self.generation).hash(state);
    }
}

impl<V: Value> fmt::Debug for NodeId<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({:#x}.{})", self.slot.as_ptr() as usize, self.generation)
    }
}

/// A counted node and one of its outputs: where the gradient of a value goes.
pub struct Edge<V: Value> {
    node: NodeRef<V>,
    output: u32,
}

impl<V: Value> Edge<V> {
    /// The edge to output `output` of `node`.
    #[inline]
    pub fn new(node: NodeRef<V>, output: u32) -> Edge<V> {
        Edge { node, output }
    }

    /// The node that produced the value, or the accumulator of a leaf.
    #[inline]
    pub fn node(&self) -> &NodeRef<V> {
        &self.node
    }

    /// The output's index.
    #[inline]
    pub fn output(&self) -> u32 {
        self.output
    }
}

impl<V: Value> Clone for Edge<V> {
    #[inline]
    fn clone(&self) -> Edge<V> {
        Edge { node: self.node.clone(), output: self.output }
    }
}

impl<V: Value> PartialEq for Edge<V> {
    fn eq(&self, other: &Edge<V>) -> bool {
        self.node == other.node && self.output == other.output
    }
}

impl<V: Value> Eq for Edge<V> {}

impl<V: Value> fmt::Debug for Edge<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Edge({:?}.{})", self.node, self.output)
    }
}

/// A handle borrowed from an owner of a count: `Copy`, counts nothing.
pub(in crate::graph) struct NodeBorrow<'g, V: Value> {
    slot: NonNull<Slot<V>>,
    owner: PhantomData<&'g NodeRef<V>>,
}

// SAFETY: behaves as `&'g NodeRef<V>`.
unsafe impl<V: Value> Send for NodeBorrow<'_, V> where NodeRef<V>: Sync {}
// SAFETY: behaves as `&'g NodeRef<V>`.
unsafe impl<V: Value> Sync for NodeBorrow<'_, V> where NodeRef<V>: Sync {}

impl<'g, V: Value> NodeBorrow<'g, V> {
    /// The node, for as long as the owner lives.
    #[inline]
    pub(in crate::graph) fn get(self) -> &'g Node<V> {
        // SAFETY: the owner holds a count during `'g`.
        unsafe { Slot::node(self.slot) }
    }

    /// A counted handle.
    #[inline]
    pub(in crate::graph) fn to_ref(self) -> NodeRef<V> {
        word(&self.slot).increment();
        NodeRef { slot: self.slot }
    }

    /// An address that identifies the node.
    #[inline]
    pub(in crate::graph) fn address(self) -> usize {
        self.slot.as_ptr() as usize
    }

    /// Prefetches the node.
    #[inline(always)]
    pub(in crate::graph) fn prefetch(self) {
        slot::prefetch(self.address(), size_of::<Slot<V>>());
    }

    /// Prefetches the node some steps ahead, assuming the stride from `before` to this node: in a long chain, the address of
    /// the next node is known only when this one has been read, which is too late.
    #[inline(always)]
    pub(in crate::graph) fn prefetch_ahead(self, before: NodeBorrow<'_, V>) {
        slot::prefetch_ahead(before.address(), self.address(), size_of::<Slot<V>>());
    }
}

impl<V: Value> Clone for NodeBorrow<'_, V> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Value> Copy for NodeBorrow<'_, V> {}

impl<V: Value> Deref for NodeBorrow<'_, V> {
    type Target = Node<V>;

    #[inline]
    fn deref(&self) -> &Node<V> {
        self.get()
    }
}
