//! `Meta`: state that few tensors have: gradient, leaf state, name, host object, rebased edge.
//!
//! One lock, and atomics for the flags of the hot path. Handles own it; the accumulator points to it weakly.
//! Invariant: no lock is held while values are dropped, except by one serial commit to a leaf.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::Result;
use crate::graph::Value;
#[cfg(feature = "python")]
use crate::tensor::Node;
use crate::tensor::grad_holders::Holders;
use crate::tensor::history::History;
use crate::tensor::retain_grad::Retention;
use crate::tensor::{Accumulate, Edge, Tensor};
use crate::threads::{Lock, LockGuard};

/// The weak reference by which a host language finds its object for a tensor.
pub type Identity = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
struct State {
    grad: Option<Tensor>,
    holders: Holders,
    /// How often the gradient was set or added to.
    changes: u64,
    name: Option<Arc<str>>,
    identity: Option<Identity>,
    /// The edge after in-place writes, and the version it belongs to.
    edge: Option<Edge>,
    version: u32,
    retention: Retention,
}

impl State {
    /// Whether another thread, or a view, may see a write to this gradient.
    fn is_read_elsewhere(&self, grad: &Tensor) -> bool {
        let memory = grad.storage();
        (self.holders.includes_other_threads() || memory.is_viewed())
            && !memory.is_unique_outside_traces()
    }
}

/// The state of a leaf, of a named tensor, or of one with a host object.
#[derive(Default)]
pub struct Meta {
    requires_grad: AtomicBool,
    rebased: AtomicBool,
    /// Whether a 0-d tensor that was made as a value has become memory.
    memory: AtomicBool,
    accumulator: OnceLock<Edge>,
    /// The history of a detached tensor and its views.
    history: OnceLock<Arc<History>>,
    state: Lock<State>,
}

impl Meta {
    fn lock(&self) -> LockGuard<'_, State> {
        self.state.lock()
    }

    /// Whether the leaf requires a gradient.
    #[inline]
    pub(crate) fn requires_grad(&self) -> bool {
        self.requires_grad.load(Ordering::Relaxed)
    }

    pub(crate) fn set_requires_grad(&self, on: bool) {
        self.requires_grad.store(on, Ordering::Relaxed);
    }

    pub(crate) fn is_memory(&self) -> bool {
        self.memory.load(Ordering::Relaxed)
    }

    pub(crate) fn set_memory(&self) {
        self.memory.store(true, Ordering::Relaxed);
    }

    /// Whether an in-place write moved the edge here.
    #[inline]
    pub(crate) fn is_rebased(&self) -> bool {
        self.rebased.load(Ordering::Acquire)
    }

    /// The edge to a leaf's accumulator, created on first use.
    #[inline]
    pub(crate) fn leaf_edge(self: &Arc<Self>, tensor: &Tensor) -> Option<Edge> {
        if !self.requires_grad.load(Ordering::Relaxed) {
            return None;
        }
        Some(self.accumulator.get_or_init(|| Accumulate::node_for(self, tensor)).clone())
    }

    /// The edge after in-place writes, and its version.
    pub(crate) fn rebased(&self) -> (Option<Edge>, u32) {
        let state = self.lock();
        (state.edge.clone(), state.version)
    }

    pub(crate) fn history(&self) -> Option<Arc<History>> {
        self.history.get().cloned()
    }

    /// Whether no other tensor shares the history.
    #[cfg(feature = "python")]
    pub(super) fn owns_history(&self) -> bool {
        self.history.get().is_some_and(|history| Arc::strong_count(history) == 1)
    }

    pub(crate) fn history_or_new(&self) -> Arc<History> {
        Arc::clone(self.history.get_or_init(Arc::default))
    }

    pub(crate) fn set_history(&self, history: Arc<History>) {
        let _ = self.history.set(history);
    }

    pub(crate) fn rebase(&self, edge: Option<Edge>, version: u32) {
        let _old = {
            let mut state = self.lock();
            state.version = version;
            std::mem::replace(&mut state.edge, edge)
        };
        self.rebased.store(true, Ordering::Release);
    }

    /// The gradient, for a caller that does not keep it.
    pub(crate) fn grad(&self) -> Option<Tensor> {
        let state = self.lock();
        let grad = state.grad.as_ref()?;
        grad.ensure_meta();
        Some(grad.clone())
    }

    /// The gradient for a user, who may keep it.
    pub(crate) fn grad_for_user(&self) -> Option<Tensor> {
        let mut state = self.lock();
        let grad = state.grad.as_ref()?;
        grad.ensure_meta();
        let grad = grad.clone();
        state.holders = state.holders.with_current_thread();
        Some(grad)
    }

    /// Replaces the gradient by a copy if another thread may be reading it: a program is about to add to it in place.
    ///
    /// # Errors
    /// `Memory` when the copy cannot be allocated.
    pub(crate) fn unshare_grad(&self) -> Result<()> {
        let mut state = self.lock();
        let copy = match &state.grad {
            Some(grad) if state.is_read_elsewhere(grad) => grad.duplicate()?,
            _ => return Ok(()),
        };
        state.changes += 1;
        state.holders = Holders::Nobody;
        let old = state.grad.replace(copy);
        drop(state);
        drop(old);
        Ok(())
    }

    /// Adds the nodes that this meta holds.
    #[cfg(feature = "python")]
    pub(super) fn owned_nodes(&self, nodes: &mut Vec<Node>) {
        nodes.extend(self.accumulator.get().map(|edge| edge.node().clone()));
        let Some(state) = self.state.try_lock() else {
            return;
        };
        nodes.extend(state.edge.as_ref().map(|edge| edge.node().clone()));
        if let Some(grad) = &state.grad {
            nodes.extend(grad.owned_nodes());
        }
    }

    /// Sets the gradient; the caller may keep a handle of it.
    pub(crate) fn set_grad(&self, grad: Option<Tensor>) {
        let _old = {
            let mut state = self.lock();
            state.changes += 1;
            state.holders = Holders::current_thread();
            std::mem::replace(&mut state.grad, grad)
        };
    }

    /// Restores an earlier gradient.
    pub(crate) fn restore_grad(&self, grad: Option<Tensor>) {
        let _old = {
            let mut state = self.lock();
            state.changes += 1;
            state.holders = state.holders.with_current_thread();
            std::mem::replace(&mut state.grad, grad)
        };
    }

    /// Adds a complete gradient. The lock is held while a kernel adds in place, but not while a sum is recorded (which may ask
    /// the host for the call site), nor while the old gradient is dropped.
    ///
    /// The stored gradient is updated in place, which keeps its identity, if it has no history and no other thread may be
    /// reading it; with `replace`, a new one is always made.
    pub(crate) fn accumulate(&self, grad: Tensor, replace: bool) -> Result<()> {
        loop {
            let mut state = self.lock();
            let Some(old) = &state.grad else {
                state.changes += 1;
                (state.grad, state.holders) = (Some(grad), Holders::Nobody);
                return Ok(());
            };
            let recorded = replace || old.requires_grad() || grad.requires_grad();
            let read_only = !recorded && old.is_read_only();
            let elsewhere = !recorded && !read_only && state.is_read_elsewhere(old);
            if !recorded && !read_only && !elsewhere {
                old.accumulate_in_place(&grad)?;
                state.changes += 1;
                return Ok(());
            }
            let (old, changes) = (old.clone(), state.changes);
            drop(state);
            let sum = Tensor::accumulate(if read_only { old.writable() } else { old }, &grad)?;
            if elsewhere {
                sum.set_cause(&grad.detach_reason);
            }
            let mut state = self.lock();
            if state.changes == changes {
                state.changes += 1;
                state.holders = Holders::Nobody;
                let before = state.grad.replace(sum);
                drop(state);
                drop(before);
                return Ok(());
            }
            // Another thread was faster: add to its gradient.
        }
    }

    /// Whether a non-leaf retains its gradient.
    pub fn retains_grad(&self) -> bool {
        !matches!(self.lock().retention, Retention::Off)
    }

    /// Sets how the gradient is retained; returns the previous state.
    pub(super) fn set_retained(&self, now: Retention) -> Retention {
        std::mem::replace(&mut self.lock().retention, now)
    }

    pub(crate) fn name(&self) -> Option<Arc<str>> {
        self.lock().name.clone()
    }

    pub(crate) fn set_name(&self, name: Option<&str>) {
        self.lock().name = name.map(Arc::from);
    }

    /// Calls `f` under the lock with the reference to the host's object, if there ever was one.
    pub fn with_identity<R>(&self, f: impl FnOnce(&Identity) -> Option<R>) -> Option<R> {
        self.lock().identity.as_ref().and_then(f)
    }

    /// Sets the reference to the host's object.
    pub fn set_identity(&self, identity: Identity) {
        let _old = self.lock().identity.replace(identity);
    }
}

#[cfg(feature = "python")]
impl Tensor {
    /// Whether dropping this handle drops nothing of the host: it has no meta, its memory is a bare block, and its node has
    /// other handles.
    #[inline(always)]
    pub(crate) fn is_bare(&self) -> bool {
        self.meta.get().is_none()
            && self.storage.is_bare_block()
            && self.edge.as_ref().is_none_or(|edge| edge.node().count() > 1)
    }
}
