//! Attachments that few nodes have: hooks, retained gradients, metadata, a call site, tangents.
//!
//! Entries are removed by key. Invariant: no hook, hook or metadata is called or dropped while the lock is held.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::arena::NodeId;
use super::hook::{Hook, HostObjects, NodeHook, RetainGradHook};
use super::value::Value;
use crate::threads::{Lock, LockGuard};

/// Entries with their keys, in the order of registration.
type Keyed<T> = Vec<(u64, T)>;

/// The attachments of one node.
pub struct Attachments<V: Value> {
    lists: Lock<Lists<V>>,
    next_key: AtomicU64,
    nan: AtomicBool,
    duals: OnceLock<Box<[NodeId<V>]>>,
}

struct Lists<V: Value> {
    outputs: Keyed<(u32, Arc<dyn Hook<V>>)>,
    retain_grad_hooks: Keyed<(u32, Arc<dyn RetainGradHook<V>>)>,
    pre_hooks: Keyed<Arc<dyn NodeHook<V>>>,
    commit_hooks: Keyed<Arc<dyn NodeHook<V>>>,
    post_hooks: Keyed<Arc<dyn NodeHook<V>>>,
    metadata: Option<Arc<dyn Any + Send + Sync>>,
    call_site: Option<Arc<str>>,
}

impl<V: Value> Default for Attachments<V> {
    fn default() -> Attachments<V> {
        let lists = Lists {
            outputs: Vec::new(),
            retain_grad_hooks: Vec::new(),
            pre_hooks: Vec::new(),
            commit_hooks: Vec::new(),
            post_hooks: Vec::new(),
            metadata: None,
            call_site: None,
        };
        Attachments {
            lists: Lock::new(lists),
            next_key: AtomicU64::new(1),
            nan: AtomicBool::new(false),
            duals: OnceLock::new(),
        }
    }
}

fn values<T: Clone>(list: &Keyed<T>) -> Vec<T> {
    list.iter().map(|(_, entry)| entry.clone()).collect()
}

fn take<T>(list: &mut Keyed<T>, key: u64) -> Option<(u64, T)> {
    list.iter().position(|(known, _)| *known == key).map(|i| list.remove(i))
}

impl<V: Value> Attachments<V> {
    fn lists(&self) -> LockGuard<'_, Lists<V>> {
        self.lists.lock()
    }

    fn add<T>(&self, entry: T, list: fn(&mut Lists<V>) -> &mut Keyed<T>) -> u64 {
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        list(&mut self.lists()).push((key, entry));
        key
    }

    /// Adds a hook on the gradient of one output; returns its key.
    pub fn add_output_hook(&self, output: u32, hook: Arc<dyn Hook<V>>) -> u64 {
        self.add((output, hook), |lists| &mut lists.outputs)
    }

    /// Adds a hook that stores one output's gradient after the pass; returns its key.
    pub fn add_retain_grad_hook(&self, output: u32, hook: Arc<dyn RetainGradHook<V>>) -> u64 {
        self.add((output, hook), |lists| &mut lists.retain_grad_hooks)
    }

    /// Adds a hook that runs before the rule; returns its key.
    pub fn add_pre_hook(&self, hook: Arc<dyn NodeHook<V>>) -> u64 {
        self.add(hook, |lists| &mut lists.pre_hooks)
    }

    /// Adds a hook that runs after the rule (at a leaf: after the commit); returns its key.
    pub fn add_post_hook(&self, hook: Arc<dyn NodeHook<V>>) -> u64 {
        self.add(hook, |lists| &mut lists.post_hooks)
    }

    /// Accumulator nodes only: adds a hook that runs as soon as the gradient is committed, before the post-hooks; its result
    /// is ignored. Returns its key.
    pub fn add_commit_hook(&self, hook: Arc<dyn NodeHook<V>>) -> u64 {
        self.add(hook, |lists| &mut lists.commit_hooks)
    }

    /// Removes the entry with this key; it is dropped without the lock.
    pub fn remove(&self, key: u64) {
        let mut lists = self.lists();
        let gone = (
            take(&mut lists.outputs, key),
            take(&mut lists.retain_grad_hooks, key),
            take(&mut lists.pre_hooks, key),
            take(&mut lists.commit_hooks, key),
            take(&mut lists.post_hooks, key),
        );
        drop(lists);
        drop(gone);
    }

    /// The hooks on outputs, in the order of registration.
    pub fn output_hooks(&self) -> Vec<(u32, Arc<dyn Hook<V>>)> {
        values(&self.lists().outputs)
    }

    /// The retain_grad_hooks of retained gradients.
    pub fn retain_grad_hooks(&self) -> Vec<(u32, Arc<dyn RetainGradHook<V>>)> {
        values(&self.lists().retain_grad_hooks)
    }

    /// The hooks that run before the rule.
    pub fn pre_hooks(&self) -> Vec<Arc<dyn NodeHook<V>>> {
        values(&self.lists().pre_hooks)
    }

    /// The hooks that run when a leaf's gradient is committed.
    pub fn commit_hooks(&self) -> Vec<Arc<dyn NodeHook<V>>> {
        values(&self.lists().commit_hooks)
    }

    /// The hooks that run after the rule.
    pub fn post_hooks(&self) -> Vec<Arc<dyn NodeHook<V>>> {
        values(&self.lists().post_hooks)
    }

    /// Whether hooks see or change gradients at this node.
    pub fn has_hooks(&self) -> bool {
        let lists = self.lists();
        !(lists.outputs.is_empty() && lists.pre_hooks.is_empty() && lists.post_hooks.is_empty())
    }

    /// Whether hooks wait for the commit of a leaf's gradient.
    pub(super) fn awaits_commit(&self) -> bool {
        let lists = self.lists();
        !lists.commit_hooks.is_empty() || !lists.post_hooks.is_empty()
    }

    /// Visits the host objects of the hooks; none if another thread holds the lock.
    pub fn host_objects(&self, found: &mut dyn FnMut(&dyn HostObjects)) {
        let Some(lists) = self.lists.try_lock() else {
            return;
        };
        let outputs = values(&lists.outputs);
        let mut nodes = values(&lists.pre_hooks);
        nodes.extend(values(&lists.commit_hooks));
        nodes.extend(values(&lists.post_hooks));
        drop(lists);
        outputs.iter().filter_map(|(_, hook)| hook.host_objects()).for_each(&mut *found);
        nodes.iter().filter_map(|hook| hook.host_objects()).for_each(found);
    }

    /// The user's metadata.
    pub fn metadata(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.lists().metadata.clone()
    }

    /// Sets the user's metadata.
    pub fn set_metadata(&self, metadata: Arc<dyn Any + Send + Sync>) {
        let before = self.lists().metadata.replace(metadata);
        drop(before);
    }

    /// Whether the operation's result had NaN when it was recorded (anomaly mode).
    pub fn holds_nan(&self) -> bool {
        self.nan.load(Ordering::Relaxed)
    }

    /// Notes that the operation's result has NaN.
    pub fn mark_nan(&self) {
        self.nan.store(true, Ordering::Relaxed);
    }

    /// The nodes with the tangents of this node's outputs, of outer levels first; each holds those before it and this node.
    pub(super) fn duals(&self) -> &[NodeId<V>] {
        self.duals.get().map_or(&[], |duals| duals)
    }

    /// Sets the nodes with the tangents of the outputs; once.
    pub(super) fn set_duals(&self, duals: Box<[NodeId<V>]>) {
        let _ = self.duals.set(duals);
    }

    /// The call stack of the operation, one line per call, if a mode asked for it.
    pub fn call_site(&self) -> Option<Arc<str>> {
        self.lists().call_site.clone()
    }

    /// Sets the call stack.
    pub fn set_call_site(&self, site: Arc<str>) {
        let before = self.lists().call_site.replace(site);
        drop(before);
    }
}
