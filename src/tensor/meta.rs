//! What only some tensors have: gradient, leaf state, name, host identity, rebased history.
//!
//! Owns: that state, behind one lock; the flags the hot path asks for are atomics beside it.
//! Never held by a node or a saved value: handles own it, the accumulator points back weakly.
//! Invariant: no lock is held while values are dropped, except one serial commit to a leaf.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::Result;
use crate::graph::Value;
#[cfg(feature = "python")]
use crate::tensor::Node;
use crate::tensor::history::History;
use crate::tensor::retain_grad::Retention;
use crate::tensor::shared_grads::Holders;
use crate::tensor::{Accumulate, Edge, Tensor};
use crate::threads::{Guard, Lock};

/// The weak reference by which a host language finds its own object for a tensor again.
pub type Identity = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
struct State {
    grad: Option<Tensor>,
    holders: Holders,
    /// How often the gradient was set or added to.
    changes: u64,
    name: Option<Arc<str>>,
    identity: Option<Identity>,
    /// The history after an in-place change, and the version it is the history of.
    edge: Option<Edge>,
    version: u32,
    retention: Retention,
}

impl State {
    /// Whether a write to this gradient might be seen by another thread, or under a view, while it is made.
    fn is_read_elsewhere(&self, grad: &Tensor) -> bool {
        let memory = grad.storage();
        (self.holders.is_abroad() || memory.is_viewed()) && !memory.is_alone()
    }
}

/// The state of a leaf, of a named tensor, or of one with a host identity.
#[derive(Default)]
pub struct Meta {
    requires_grad: AtomicBool,
    rebased: AtomicBool,
    /// Whether a tensor without axes is memory, although it was made as a value.
    memory: AtomicBool,
    accumulator: OnceLock<Edge>,
    /// The changes of a detached tensor and its views.
    history: OnceLock<Arc<History>>,
    state: Lock<State>,
}

impl Meta {
    fn lock(&self) -> Guard<'_, State> {
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

    /// Whether an in-place change moved the history here.
    #[inline]
    pub(crate) fn is_rebased(&self) -> bool {
        self.rebased.load(Ordering::Acquire)
    }

    /// The edge to a leaf's accumulator, made when it is first asked for.
    #[inline]
    pub(crate) fn leaf_edge(self: &Arc<Self>, tensor: &Tensor) -> Option<Edge> {
        if !self.requires_grad.load(Ordering::Relaxed) {
            return None;
        }
        Some(self.accumulator.get_or_init(|| Accumulate::node_for(self, tensor)).clone())
    }

    /// The history after the changes up to a version, and that version.
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

    /// The gradient, for those who do not keep it.
    pub(crate) fn grad(&self) -> Option<Tensor> {
        let state = self.lock();
        let grad = state.grad.as_ref()?;
        grad.ensure_meta();
        Some(grad.clone())
    }

    /// The gradient for a user, who may keep it.
    pub(crate) fn lend_grad(&self) -> Option<Tensor> {
        let mut state = self.lock();
        let grad = state.grad.as_ref()?;
        grad.ensure_meta();
        let grad = grad.clone();
        state.holders = state.holders.also_here();
        Some(grad)
    }

    /// Makes a copy the gradient where another thread may be reading it: a program is about to add to it in place.
    ///
    /// # Errors
    /// `Memory` when there is none for a copy.
    pub(crate) fn own_grad(&self) -> Result<()> {
        let mut state = self.lock();
        let copy = match &state.grad {
            Some(grad) if state.is_read_elsewhere(grad) => grad.duplicate()?,
            _ => return Ok(()),
        };
        state.changes += 1;
        state.holders = Holders::Not;
        let old = state.grad.replace(copy);
        drop(state);
        drop(old);
        Ok(())
    }

    /// Adds the nodes that this state holds.
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

    /// Replaces the gradient by one that whoever sets it may keep.
    pub(crate) fn set_grad(&self, grad: Option<Tensor>) {
        let _old = {
            let mut state = self.lock();
            state.changes += 1;
            state.holders = Holders::here();
            std::mem::replace(&mut state.grad, grad)
        };
    }

    /// Puts the gradient back that was there.
    pub(crate) fn restore_grad(&self, grad: Option<Tensor>) {
        let _old = {
            let mut state = self.lock();
            state.changes += 1;
            state.holders = state.holders.also_here();
            std::mem::replace(&mut state.grad, grad)
        };
    }

    /// Adds a finished gradient; the lock is held while a kernel adds in place, but not while a sum is recorded, which may
    /// ask the host for the call site, and not while the gradient before is dropped.
    ///
    /// Without history the stored gradient is changed in place, so that its identity survives, unless another thread may
    /// be reading it; `replace` makes a new one, whatever its history.
    pub(crate) fn accumulate(&self, grad: Tensor, replace: bool) -> Result<()> {
        loop {
            let mut state = self.lock();
            let Some(old) = &state.grad else {
                state.changes += 1;
                (state.grad, state.holders) = (Some(grad), Holders::Not);
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
                sum.set_cause(&grad.cut_cause);
            }
            let mut state = self.lock();
            if state.changes == changes {
                state.changes += 1;
                state.holders = Holders::Not;
                let before = state.grad.replace(sum);
                drop(state);
                drop(before);
                return Ok(());
            }
            // Another thread was faster: its gradient is part of the sum.
        }
    }

    /// Whether a tensor that is no leaf keeps its gradient.
    pub fn retains_grad(&self) -> bool {
        !matches!(self.lock().retention, Retention::Off)
    }

    /// Notes how the gradient is retained from now on; returns how it was.
    pub(super) fn set_retained(&self, now: Retention) -> Retention {
        std::mem::replace(&mut self.lock().retention, now)
    }

    pub(crate) fn name(&self) -> Option<Arc<str>> {
        self.lock().name.clone()
    }

    pub(crate) fn set_name(&self, name: Option<&str>) {
        self.lock().name = name.map(Arc::from);
    }

    /// What a function makes of the reference to the host's object for this tensor, if there ever was one. It runs under the lock.
    pub fn with_identity<R>(&self, f: impl FnOnce(&Identity) -> Option<R>) -> Option<R> {
        self.lock().identity.as_ref().and_then(f)
    }

    /// Remembers the host's object.
    pub fn set_identity(&self, identity: Identity) {
        let _old = self.lock().identity.replace(identity);
    }
}

#[cfg(feature = "python")]
impl Tensor {
    /// Whether to drop this handle drops nothing of the host: it has no state, its memory is a block of ours without a
    /// history, and others count the node that made it.
    #[inline(always)]
    pub(crate) fn is_bare(&self) -> bool {
        self.meta.get().is_none()
            && self.storage.is_bare_block()
            && self.edge.as_ref().is_none_or(|edge| edge.node().count() > 1)
    }
}
