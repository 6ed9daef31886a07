//! A node: one recorded operation with its rule, input edges and saved values.
//!
//! A node never owns a tensor's `.grad` or its own outputs.
//! Invariant: everything but the saved values, the stamp, the flags and the attachments is fixed at creation.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::arena::{Edge, SavedCell};
use super::attachments::Attachments;
use super::hook::HostObjects;
use super::rule::{Rule, RuleRef};
use super::saved::{Packed, Saved};
use super::saved_value_hooks::PackedValue;
use super::value::Value;

/// The input edges of a node: `None` where the operand needs no gradient.
pub type Edges<V> = SmallVec<[Option<Edge<V>>; 2]>;
/// The saved values of a node.
pub type SavedValues<V> = SmallVec<[Saved<V>; 2]>;

/// The bit position of the operation's number in the flags word.
const OPERATION_NUMBER_SHIFT: u32 = 16;

/// Properties of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u32);

impl Flags {
    /// No flags.
    pub const NONE: Flags = Flags(0);
    /// The node owns host objects: it must run on the caller's thread, attached to the host.
    pub const HOST_OBJECTS: Flags = Flags(1);
    /// The accumulator of a leaf: its rule commits the gradient.
    pub const ACCUMULATOR: Flags = Flags(2);
    /// The node carries tangents of forward mode.
    pub const DUAL: Flags = Flags(4);

    /// Whether all flags of `other` are set.
    #[inline]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One recorded operation. The fields that discovery reads come first: long graphs do not fit in cache.
#[repr(C)]
pub struct Node<V: Value> {
    seq: u64,
    stamp: AtomicU64,
    edges: Edges<V>,
    outputs: u32,
    flags: AtomicU32,
    cost: f32,
    attachments: OnceLock<Box<Attachments<V>>>,
    rule: RuleRef<V>,
    pub(super) saved: SavedCell<V>,
    call: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl<V: Value> Node<V> {
    /// A node that is completed by `contents` and `complete`.
    #[inline(always)]
    pub(super) fn new(rule: RuleRef<V>, outputs: u32, cost: f32) -> Node<V> {
        Node {
            seq: 0,
            stamp: AtomicU64::new(0),
            edges: Edges::new(),
            outputs,
            flags: AtomicU32::new(0),
            cost,
            attachments: OnceLock::new(),
            rule,
            saved: SavedCell::new(),
            call: OnceLock::new(),
        }
    }

    /// The rule, and the edges and saved values to be filled in; before the node is published.
    #[inline(always)]
    pub(super) fn contents(&mut self) -> (&RuleRef<V>, &mut Edges<V>, &mut SavedValues<V>) {
        (&self.rule, &mut self.edges, self.saved.values_mut())
    }

    /// Completes the node; before it is published.
    #[inline(always)]
    pub(super) fn complete(&mut self, seq: u64, flags: Flags) {
        self.seq = seq;
        self.flags = AtomicU32::new(flags.0);
        self.saved.complete();
    }

    /// The sequence number: greater than those of the inputs.
    #[inline]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The derivative rule.
    #[inline]
    pub fn rule(&self) -> &dyn Rule<V> {
        &*self.rule
    }

    /// The operation's name.
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Owned(self.rule.name().into_owned())
    }

    /// The operation's name, without an allocation for a static rule.
    pub(super) fn static_name(&self) -> Cow<'static, str> {
        match &self.rule {
            RuleRef::Static(rule) => rule.name(),
            RuleRef::Boxed(_) => self.name(),
        }
    }

    /// The edges to the inputs' nodes; `None` where no gradient is needed.
    #[inline]
    pub fn edges(&self) -> &[Option<Edge<V>>] {
        &self.edges
    }

    /// The number of outputs.
    #[inline]
    pub fn outputs(&self) -> u32 {
        self.outputs
    }

    /// The estimated nanoseconds of the backward.
    #[inline]
    pub fn cost(&self) -> f32 {
        self.cost
    }

    /// The flags.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(self.flags.load(Ordering::Relaxed) & ((1 << OPERATION_NUMBER_SHIFT) - 1))
    }

    /// Whether there is one output, and no flag and no attachment.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.outputs == 1 && self.flags() == Flags::NONE && self.attachments().is_none()
    }

    /// Sets flags, e.g. `HOST_OBJECTS` when a host's hook is attached.
    pub fn add_flags(&self, flags: Flags) {
        self.flags.fetch_or(flags.0, Ordering::Relaxed);
    }

    /// The host's number of the called operation; 0 if none was set.
    #[inline]
    pub fn operation_number(&self) -> u16 {
        (self.flags.load(Ordering::Relaxed) >> OPERATION_NUMBER_SHIFT) as u16
    }

    /// Sets that number; once, by the maker of the node, before it is published.
    #[inline]
    pub fn set_operation_number(&self, number: u16) {
        let flags = self.flags.load(Ordering::Relaxed);
        self.flags.store(flags | u32::from(number) << OPERATION_NUMBER_SHIFT, Ordering::Relaxed);
    }

    /// The host's record of the call that made this node.
    pub fn call(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.call.get().map(Box::as_ref)
    }

    /// Sets the host's record of the call; the first one stays.
    pub fn set_call(&self, call: Box<dyn Any + Send + Sync>) {
        let _ = self.call.set(call);
    }

    /// Calls `f` with the saved values (introspection); `None` if they were freed.
    pub fn with_saved<R>(&self, f: impl FnOnce(&[Saved<V>]) -> R) -> Option<R> {
        self.saved.enter(false).map(|saved| f(saved.values()))
    }

    /// Replaces saved value `i` by its packed form; false if it is packed already, freed, or in use.
    pub fn pack_saved(&self, i: usize, packed: Arc<dyn PackedValue<V>>) -> bool {
        let origin = self.with_saved(|saved| saved.get(i).and_then(Saved::origin)).flatten();
        let Some(origin) = origin else { return false };
        let has_host_objects = packed.host_objects().is_some();
        let replaced = self.saved.replace(i, Saved::Packed(Box::new(Packed { packed, origin })));
        if replaced.is_ok() && has_host_objects {
            self.add_flags(Flags::HOST_OBJECTS);
        }
        replaced.is_ok()
    }

    /// Visits the host objects of the packed saved values.
    pub fn saved_host_objects(&self, found: &mut dyn FnMut(&dyn HostObjects)) {
        self.with_saved(|saved| {
            for entry in saved {
                if let Saved::Packed(packed) = entry
                    && let Some(objects) = packed.packed.host_objects()
                {
                    found(objects);
                }
            }
        });
    }

    /// Frees the saved values; later passes through this node fail as after a backward.
    pub fn free_saved(&self) {
        drop(self.saved.enter(true));
    }

    /// The attachments, if any.
    #[inline]
    pub fn attachments(&self) -> Option<&Attachments<V>> {
        self.attachments.get().map(Box::as_ref)
    }

    /// The attachments, created on first use.
    pub fn attachments_or_new(&self) -> &Attachments<V> {
        self.attachments.get_or_init(Box::default)
    }

    /// Accumulator nodes only: whether the gradient is committed as soon as it is complete, because a hook waits for it.
    pub(super) fn commits_immediately(&self) -> bool {
        self.rule.commits_immediately()
            || self.attachments().is_some_and(Attachments::awaits_commit)
    }

    #[inline]
    pub(super) fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_stamp(&self, stamp: u64) {
        self.stamp.store(stamp, Ordering::Relaxed);
    }
}

impl<V: Value> fmt::Debug for Node<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({} #{})", self.name(), self.seq)
    }
}
