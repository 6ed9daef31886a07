//! A node: one recorded operation.
//!
//! Owns its rule, its counted input edges and its saved values; it never owns a tensor's `.grad` or its own outputs.
//! Invariant: everything but the saved state, the stamp, the flags and the extras is fixed at creation.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use smallvec::SmallVec;

use super::arena::{Edge, SavedCell};
use super::hook::{Hook, NodeHook, Sink};
use super::rule::{Rule, RuleRef};
use super::saved::Saved;
use super::value::Value;

/// The inputs of a node: `None` where the operand needs no gradient.
pub type Edges<V> = SmallVec<[Option<Edge<V>>; 2]>;
/// What a node keeps for its derivative.
pub type SavedValues<V> = SmallVec<[Saved<V>; 2]>;

/// Properties of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u32);

impl Flags {
    /// Nothing special.
    pub const NONE: Flags = Flags(0);
    /// Holds host-language objects: must run on the caller's thread, attached to the host.
    pub const FOREIGN: Flags = Flags(1);
    /// Ends at a leaf: its rule commits instead of giving.
    pub const ACCUMULATOR: Flags = Flags(2);

    /// Whether all of `other` is set.
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

/// One recorded operation.
pub struct Node<V: Value> {
    seq: u64,
    stamp: AtomicU64,
    rule: RuleRef<V>,
    edges: Edges<V>,
    outputs: u32,
    flags: AtomicU32,
    cost: f32,
    total: f32,
    extras: OnceLock<Box<Extras<V>>>,
    pub(super) saved: SavedCell<V>,
}

impl<V: Value> Node<V> {
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        seq: u64,
        rule: RuleRef<V>,
        edges: Edges<V>,
        saved: SavedValues<V>,
        outputs: u32,
        cost: f32,
        total: f32,
        flags: Flags,
    ) -> Node<V> {
        Node {
            seq,
            stamp: AtomicU64::new(0),
            rule,
            edges,
            outputs,
            flags: AtomicU32::new(flags.0),
            cost,
            total,
            extras: OnceLock::new(),
            saved: SavedCell::new(saved),
        }
    }

    /// Creation order: greater than every input's.
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
        self.rule.name()
    }

    /// Where the gradients of the inputs go; `None` where none is needed.
    #[inline]
    pub fn edges(&self) -> &[Option<Edge<V>>] {
        &self.edges
    }

    /// How many outputs the operation has.
    #[inline]
    pub fn outputs(&self) -> u32 {
        self.outputs
    }

    /// The estimated nanoseconds of this node's backward.
    #[inline]
    pub fn cost(&self) -> f32 {
        self.cost
    }

    /// The estimated nanoseconds of the backward of everything below (shared parts count repeatedly).
    #[inline]
    pub fn total_cost(&self) -> f32 {
        self.total
    }

    /// The node's properties.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(self.flags.load(Ordering::Relaxed))
    }

    /// Adds properties, e.g. `FOREIGN` when a host's hook is attached.
    pub fn add_flags(&self, flags: Flags) {
        self.flags.fetch_or(flags.0, Ordering::Relaxed);
    }

    /// Looks at the saved values (introspection); `None` when they were freed.
    pub fn with_saved<R>(&self, f: impl FnOnce(&[Saved<V>]) -> R) -> Option<R> {
        self.saved.enter(false).map(|saved| f(saved.values()))
    }

    /// Drops the saved values; later passes through this node fail as after a backward.
    pub fn free_saved(&self) {
        drop(self.saved.enter(true));
    }

    /// The rare attachments, if any.
    #[inline]
    pub fn extras(&self) -> Option<&Extras<V>> {
        self.extras.get().map(Box::as_ref)
    }

    /// The rare attachments, made on first use.
    pub fn extras_or_new(&self) -> &Extras<V> {
        self.extras.get_or_init(Box::default)
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

/// What only some nodes have.
pub struct Extras<V: Value> {
    lists: Mutex<Lists<V>>,
    next_key: AtomicU64,
}

struct Lists<V> {
    outputs: Vec<(u64, u32, Arc<dyn Hook<V>>)>,
    sinks: Vec<(u64, u32, Arc<dyn Sink<V>>)>,
    before: Vec<(u64, Arc<dyn NodeHook<V>>)>,
    after: Vec<(u64, Arc<dyn NodeHook<V>>)>,
    metadata: Option<Arc<dyn Any + Send + Sync>>,
    call_site: Option<Arc<str>>,
}

impl<V: Value> Default for Extras<V> {
    fn default() -> Extras<V> {
        let lists = Lists {
            outputs: Vec::new(),
            sinks: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            metadata: None,
            call_site: None,
        };
        Extras { lists: Mutex::new(lists), next_key: AtomicU64::new(1) }
    }
}

impl<V: Value> Extras<V> {
    fn lists(&self) -> MutexGuard<'_, Lists<V>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self) -> u64 {
        self.next_key.fetch_add(1, Ordering::Relaxed)
    }

    /// Attaches a hook to the gradient of one output; returns the key for `remove`.
    pub fn on_output(&self, output: u32, hook: Arc<dyn Hook<V>>) -> u64 {
        let key = self.key();
        self.lists().outputs.push((key, output, hook));
        key
    }

    /// Attaches a sink that stores one output's gradient after the pass.
    pub fn retain(&self, output: u32, sink: Arc<dyn Sink<V>>) -> u64 {
        let key = self.key();
        self.lists().sinks.push((key, output, sink));
        key
    }

    /// Attaches a hook that runs before the rule.
    pub fn before(&self, hook: Arc<dyn NodeHook<V>>) -> u64 {
        let key = self.key();
        self.lists().before.push((key, hook));
        key
    }

    /// Attaches a hook that runs after the rule.
    pub fn after(&self, hook: Arc<dyn NodeHook<V>>) -> u64 {
        let key = self.key();
        self.lists().after.push((key, hook));
        key
    }

    /// Detaches what `key` names; the hook is dropped with no lock held.
    pub fn remove(&self, key: u64) {
        let mut lists = self.lists();
        let gone = (
            lists.outputs.iter().position(|h| h.0 == key).map(|i| lists.outputs.remove(i)),
            lists.sinks.iter().position(|h| h.0 == key).map(|i| lists.sinks.remove(i)),
            lists.before.iter().position(|h| h.0 == key).map(|i| lists.before.remove(i)),
            lists.after.iter().position(|h| h.0 == key).map(|i| lists.after.remove(i)),
        );
        drop(lists);
        drop(gone);
    }

    /// The hooks on outputs, in the order of registration.
    pub fn output_hooks(&self) -> Vec<(u32, Arc<dyn Hook<V>>)> {
        self.lists().outputs.iter().map(|(_, k, h)| (*k, Arc::clone(h))).collect()
    }

    /// The sinks of retained gradients.
    pub fn sinks(&self) -> Vec<(u32, Arc<dyn Sink<V>>)> {
        self.lists().sinks.iter().map(|(_, k, s)| (*k, Arc::clone(s))).collect()
    }

    /// The hooks that run before the rule.
    pub fn before_hooks(&self) -> Vec<Arc<dyn NodeHook<V>>> {
        self.lists().before.iter().map(|(_, h)| Arc::clone(h)).collect()
    }

    /// The hooks that run after the rule.
    pub fn after_hooks(&self) -> Vec<Arc<dyn NodeHook<V>>> {
        self.lists().after.iter().map(|(_, h)| Arc::clone(h)).collect()
    }

    /// The user's object attached to the node.
    pub fn metadata(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.lists().metadata.clone()
    }

    /// Attaches an object to the node.
    pub fn set_metadata(&self, metadata: Arc<dyn Any + Send + Sync>) {
        let before = self.lists().metadata.replace(metadata);
        drop(before);
    }

    /// Where the operation was called (anomaly mode).
    pub fn call_site(&self) -> Option<Arc<str>> {
        self.lists().call_site.clone()
    }

    /// Remembers where the operation was called.
    pub fn set_call_site(&self, site: Arc<str>) {
        let before = self.lists().call_site.replace(site);
        drop(before);
    }
}
