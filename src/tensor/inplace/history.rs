//! The history of memory that was written in place while recording.
//!
//! For a base tensor and its views: the edge of the base, the recorded writes since (each with its region and the edge of the
//! written values), and the tensors that retain gradients.
//! Invariant: after a recorded write, every tensor that shows the memory gets a new edge. The base's is one node for all
//! writes since it was last asked for; a view's is a node that reads the base's. So a hook, a retained gradient or a target
//! on the base means the value after the write, whichever handle wrote.
//! Only full handles of the storage reach the history, so a node that saved a value of it does not own the history.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use crate::array::Layout;
use crate::graph::{Flags, GRAD, Mode, TRANSFORM};
use crate::tensor::{Edge, Meta, Region, Tensor, TensorFlags, retain_grad};
use crate::threads::{Lock, LockGuard};

/// A recorded in-place write.
#[derive(Clone)]
pub(crate) struct Write {
    /// The name of the operation.
    pub(crate) op: &'static str,
    /// The written elements.
    pub(crate) region: Region,
    /// The edge of the written values; `None` for constants.
    pub(crate) edge: Option<Edge>,
    /// Whether the edge's node was made for this write only, and belongs to no other tensor.
    pub(crate) own_node: bool,
    /// The version after it.
    pub(crate) version: u32,
}

/// The tensor of which the others are views.
struct Base {
    region: Region,
    /// Its edge before the pending writes.
    edge: Option<Edge>,
    /// Whether it was detached since: its views keep the edge, later writes do not see it.
    detached: bool,
}

/// A tensor of the family that retains its gradient.
struct Retained {
    meta: Weak<Meta>,
    base: bool,
}

#[derive(Default)]
struct State {
    base: Option<Base>,
    /// The writes since the base got its edge; all writes while there is no base.
    writes: Arc<Vec<Write>>,
    /// The version of the last recorded write.
    last: Option<u32>,
    retained: Vec<Retained>,
}

/// The recorded writes of one family: a base and its views.
#[derive(Default)]
pub(crate) struct History {
    state: Lock<State>,
    /// Whether a detached tensor of the family is a leaf that requires grad.
    leaf: AtomicBool,
    /// Whether a custom function's forward wrote cut values.
    cut: AtomicBool,
}

/// Whether version `a` is later than `b`.
fn newer(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

impl State {
    /// The writes later than version `since`.
    fn writes_since(&self, since: u32) -> Arc<Vec<Write>> {
        if self.writes.iter().all(|write| newer(write.version, since)) {
            return Arc::clone(&self.writes);
        }
        Arc::new(self.writes.iter().filter(|write| newer(write.version, since)).cloned().collect())
    }

    /// Makes `base` the base of the family, if there is none. Not possible if its elements overlap: a position would have
    /// several gradients.
    fn set_base(&mut self, base: &Tensor, edge: Option<Edge>, since: u32) {
        if self.base.is_none() && base.layout().is_injective() {
            self.writes = self.writes_since(since);
            self.base = Some(Base { region: Region::of(base), edge, detached: false });
        }
    }
}

impl History {
    fn lock(&self) -> LockGuard<'_, State> {
        self.state.lock()
    }

    /// Whether a recorded write is later than version `since`.
    fn is_newer_than(&self, since: u32) -> bool {
        self.lock().last.is_some_and(|last| newer(last, since))
    }

    /// Adds a write; a write of the whole memory drops all earlier ones.
    fn push(&self, write: Write, whole: bool) {
        let mut state = self.lock();
        state.last = Some(write.version);
        let gone = if whole { Some(std::mem::take(&mut state.writes)) } else { None };
        // Shared only with a thread that is making a node of the writes at this moment.
        Arc::make_mut(&mut state.writes).push(write);
        drop(state);
        drop(gone);
    }

    /// The edge of the last write to exactly these elements, if it is among the latest writes and no tensor of the family
    /// retains its gradient: then reading them needs no node for the whole memory.
    fn edge_of_last_write(&self, region: &Region) -> Option<Option<Edge>> {
        let state = self.lock();
        if !state.retained.is_empty() {
            return None;
        }
        for write in state.writes.iter().rev().take(MAX_SEARCHED_WRITES) {
            if write.region.same_as(region) {
                // An element of a leaf is not the leaf.
                let leaf = |edge: &Edge| edge.node().flags().has(Flags::ACCUMULATOR);
                return (!write.edge.as_ref().is_some_and(leaf)).then(|| write.edge.clone());
            }
            if !write.region.is_disjoint(region) {
                return None;
            }
        }
        None
    }

    /// The edge of elements of a view that reads the base directly, if no tensor of the family retains its gradient. Through the
    /// view, the gradient would be padded with zeros for each read between two writes.
    fn edge_bypassing_view(&self, view: &Tensor) -> Option<Edge> {
        self.rebase();
        let state = self.lock();
        let base = state.base.as_ref().filter(|base| !base.detached)?;
        let (edge, region) = (base.edge.clone()?, base.region.clone());
        let observed = !state.retained.is_empty() || !state.writes.is_empty();
        drop(state);
        (!observed).then(|| view.as_strided_edge(&region, edge))
    }

    /// Gives the base the edge of its values after all writes. No lock is held while the node is made: in anomaly mode that
    /// asks the host for the call site.
    fn rebase(&self) {
        loop {
            let state = self.lock();
            let Some(base) = state.base.as_ref().filter(|_| !state.writes.is_empty()) else {
                return;
            };
            let own = if base.detached { None } else { base.edge.clone() };
            let (own_region, writes) = (base.region.clone(), Arc::clone(&state.writes));
            drop(state);
            let edge = match writes.last() {
                Some(Write { own_node: true, edge: Some(edge), region, .. })
                    if region.same_as(&own_region) =>
                {
                    edge.clone()
                }
                _ => Tensor::copy_slices(&own_region, own, &writes),
            };
            let mut state = self.lock();
            if !Arc::ptr_eq(&writes, &state.writes) {
                continue;
            }
            let done = std::mem::take(&mut state.writes);
            let before = state.base.as_mut().map(|base| {
                base.detached = false;
                base.edge.replace(edge.clone())
            });
            let retained: Vec<_> =
                state.retained.iter().filter(|one| one.base).map(|one| one.meta.clone()).collect();
            drop(state);
            drop((done, before, writes));
            for meta in retained.iter().filter_map(Weak::upgrade) {
                retain_grad::move_hook(&meta, Some(&edge));
            }
        }
    }

    /// The current edge of `tensor`, whose edge was `own` at version `since`; `None` if no later write was recorded.
    fn edge_of(&self, tensor: &Tensor, own: Option<&Edge>, since: u32) -> Option<CurrentEdge> {
        let mut state = self.lock();
        let version = state.last.filter(|last| newer(*last, since))?;
        if !tensor.is_view() {
            state.set_base(tensor, own.cloned(), since);
        }
        if state.base.is_none() {
            let writes = state.writes_since(since);
            drop(state);
            let edge = Tensor::copy_slices(&Region::of(tensor), own.cloned(), &writes);
            return Some(CurrentEdge { edge, version, of_base: false });
        }
        if !state.writes.is_empty() {
            drop(state);
            self.rebase();
            state = self.lock();
        }
        let base = state.base.as_ref()?;
        let edge = base.edge.clone()?;
        if !tensor.is_view() && base.region.is_of_tensor(tensor) {
            return Some(CurrentEdge { edge, version, of_base: true });
        }
        let region = base.region.clone();
        drop(state);
        Some(CurrentEdge { edge: tensor.as_strided_edge(&region, edge), version, of_base: false })
    }
}

/// The edge of a tensor after in-place writes.
struct CurrentEdge {
    edge: Edge,
    /// The version that it belongs to.
    version: u32,
    /// Whether it is the edge of the base, which the history keeps itself.
    of_base: bool,
}

/// How many of the latest writes are searched for the one that wrote what is read.
const MAX_SEARCHED_WRITES: usize = 4;

impl Tensor {
    /// Whether the memory was written since this handle was made.
    #[inline(always)]
    pub(crate) fn was_written(&self) -> bool {
        self.version != self.storage().version()
    }

    /// The edge of the elements `elements` of this tensor's memory, if it is that of the last write to them, or if this is a view.
    /// In transforms only, where gradients of the memory itself cannot be observed: the edge bypasses them.
    #[cold]
    pub(crate) fn edge_of_last_write(&self, elements: &Layout) -> Option<Option<Edge>> {
        if !Mode::current().has(GRAD | TRANSFORM) {
            return None;
        }
        let region = Region { layout: elements.clone(), dtype: self.dtype() };
        let history = self.history()?;
        history.edge_of_last_write(&region).or_else(|| {
            let view = self.is_view().then(|| self.with_layout(elements.clone()))?;
            history.edge_bypassing_view(&view).map(Some)
        })
    }

    fn history(&self) -> Option<Arc<History>> {
        if self.storage().is_data_handle() {
            return self.meta()?.history();
        }
        self.storage().attachment()?.downcast().ok()
    }

    pub(in crate::tensor) fn history_or_new(&self) -> Arc<History> {
        if self.storage().is_data_handle() {
            return self.ensure_meta().history_or_new();
        }
        let attachment = self.storage().attachment_or(|| Arc::new(History::default()));
        attachment.downcast().unwrap_or_default()
    }

    /// Adds `view`, a view of a detached tensor, to its family.
    #[cold]
    pub(in crate::tensor) fn join_history(&self, view: &Tensor) {
        view.ensure_meta().set_history(self.ensure_meta().history_or_new());
    }

    /// Notes a recorded write to elements of this tensor, at the current version.
    pub(crate) fn note_write(&self, write: Write) {
        let whole = write.region.is_whole(self.storage().nbytes());
        let history = self.history_or_new();
        if !self.is_view() {
            let (own, since) = self.own_edge();
            history.lock().set_base(self, own, since);
        }
        history.push(write, whole);
        let retained: Vec<_> =
            history.lock().retained.iter().filter_map(|one| one.meta.upgrade()).collect();
        retained.iter().for_each(retain_grad::remove_hook);
    }

    /// Called after a write through this view: `base` is its base, or another view of it.
    #[cfg(feature = "python")]
    pub(crate) fn set_base_of_view(&self, base: &Tensor) {
        if !base.is_view()
            && let Some(history) = self.history()
        {
            let (own, since) = base.own_edge();
            history.lock().set_base(base, own, since);
        }
    }

    /// Whether a recorded write to the memory is later than version `since`.
    #[inline]
    pub(in crate::tensor) fn written_since(&self, since: u32) -> bool {
        since != self.storage().version()
            && self.history().is_some_and(|history| history.is_newer_than(since))
    }

    /// The edge of the current values: `own` at version `since`, after the writes since then.
    #[cold]
    pub(in crate::tensor) fn changed_edge(&self, own: Option<&Edge>, since: u32) -> Option<Edge> {
        let found = self.history().and_then(|history| history.edge_of(self, own, since));
        let Some(CurrentEdge { edge, version, of_base }) = found else {
            return own.cloned();
        };
        if !of_base {
            let meta = self.ensure_meta();
            meta.rebase(Some(edge.clone()), version);
            retain_grad::move_hook(meta, Some(&edge));
        }
        Some(edge)
    }

    /// Notes that `meta` retains the gradient of this tensor, so that its hook follows the writes.
    pub(in crate::tensor) fn note_retention(&self, meta: &Arc<Meta>) {
        let history = self.history_or_new();
        let mut state = history.lock();
        state.retained.retain(|one| one.meta.strong_count() > 0);
        state.retained.push(Retained { meta: Arc::downgrade(meta), base: !self.is_view() });
    }

    /// Detaches the base: later writes do not lead to its earlier values.
    #[cfg(feature = "python")]
    pub(in crate::tensor) fn forget_history(&self) {
        let Some(history) = self.history() else {
            return;
        };
        history.rebase();
        if let Some(base) = &mut history.lock().base {
            base.detached = true;
        }
    }

    /// Adds the nodes that the history holds, if the history is dropped with this handle.
    #[cfg(feature = "python")]
    pub(in crate::tensor) fn written_nodes(&self, nodes: &mut Vec<crate::tensor::Node>) {
        let alone = if self.storage().is_data_handle() {
            self.meta().is_some_and(|meta| Arc::strong_count(meta) == 1 && meta.owns_history())
        } else {
            self.storage().is_only_full_handle()
        };
        if !alone {
            return;
        }
        let Some(history) = self.history() else {
            return;
        };
        if let Some(state) = history.state.try_lock() {
            let base = state.base.iter().filter_map(|base| base.edge.as_ref());
            let writes = state.writes.iter().filter_map(|write| write.edge.as_ref());
            nodes.extend(base.chain(writes).map(|edge| edge.node().clone()));
        }
    }

    /// Whether this shows memory of a leaf that requires grad.
    pub(crate) fn shows_requiring_leaf(&self) -> bool {
        if !self.storage().is_data_handle() {
            return self.storage().user_bit();
        }
        self.history().is_some_and(|history| history.leaf.load(Ordering::Relaxed))
    }

    pub(in crate::tensor) fn mark_leaf(&self, on: bool) {
        if !self.storage().is_data_handle() {
            self.storage().set_user_bit(on);
        } else if self.flags().has(TensorFlags::DETACHED) {
            self.history_or_new().leaf.store(on, Ordering::Relaxed);
        }
    }

    /// Notes that a custom function's forward wrote cut values.
    pub(crate) fn note_cut_write(&self) {
        self.history_or_new().cut.store(true, Ordering::Relaxed);
    }

    #[cold]
    pub(in crate::tensor) fn history_is_cut(&self) -> bool {
        self.history().is_some_and(|history| history.cut.load(Ordering::Relaxed))
    }
}
