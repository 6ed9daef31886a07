//! The history of memory that was changed in place while recording.
//!
//! Owns: the writes to a family (a tensor and its views), in order, each with the region it wrote and the edge of
//! what it wrote; and the edges that other handles get from them. Never computes a gradient: `ops` does.
//! Invariant: a handle's history is its own edge where nothing was written since, and the last write elsewhere.
//! The storage holds the history for handles of the family only, so a node that saved a value of it owns no history.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::array::Layout;
use crate::tensor::{Edge, Marks, Tensor, retain};

/// One recorded change.
#[derive(Clone)]
pub(crate) struct Write {
    /// The operation.
    pub(crate) op: &'static str,
    /// The elements it wrote.
    pub(crate) region: Layout,
    /// The history of what it wrote; `None` for constants.
    pub(crate) edge: Option<Edge>,
    /// The version after it.
    version: u32,
}

/// The recorded changes of one family.
#[derive(Default)]
pub(crate) struct History {
    writes: Mutex<Vec<Write>>,
    /// Whether a detached tensor of the family is a leaf that requires grad.
    leaf: AtomicBool,
    /// Whether a custom function's forward wrote something that varies with its input.
    cut: AtomicBool,
}

impl History {
    fn lock(&self) -> MutexGuard<'_, Vec<Write>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a write; one of the whole memory makes all before it unreachable.
    fn push(&self, write: Write, whole: bool) {
        let mut writes = self.lock();
        let gone = if whole { std::mem::take(&mut *writes) } else { Vec::new() };
        writes.push(write);
        drop(writes);
        drop(gone);
    }

    /// The writes after version `since` that may have changed elements of `layout`.
    fn since(&self, since: u32, layout: &Layout) -> Vec<Write> {
        let writes = self.lock();
        let new = writes.iter().filter(|write| write.version.wrapping_sub(since) as i32 > 0);
        new.filter(|write| meet(&write.region, layout)).cloned().collect()
    }
}

/// Whether the ranges of two layouts overlap.
fn meet(a: &Layout, b: &Layout) -> bool {
    match (a.extent(), b.extent()) {
        (Some((a, b)), Some((c, d))) => a <= d && c <= b,
        _ => false,
    }
}

/// Whether two layouts show the same elements in the same order.
pub(crate) fn same_elements(a: &Layout, b: &Layout) -> bool {
    a.offset() == b.offset() && a.dims() == b.dims() && a.strides() == b.strides()
}

impl Tensor {
    fn history(&self) -> Option<Arc<History>> {
        if self.storage().is_guest() {
            return self.meta()?.family();
        }
        self.storage().note()?.downcast().ok()
    }

    fn history_or_new(&self) -> Arc<History> {
        if self.storage().is_guest() {
            return self.ensure_meta().family_or_new();
        }
        let note = self.storage().note_or(|| Arc::new(History::default()));
        note.downcast().unwrap_or_default()
    }

    /// Makes `view`, of a detached tensor, one of its family.
    #[cold]
    pub(super) fn link(&self, view: &Tensor) {
        view.ensure_meta().set_family(self.ensure_meta().family_or_new());
    }

    /// Remembers that `op`, in version `version`, wrote values with this history to `region`.
    pub(crate) fn wrote(
        &self,
        op: &'static str,
        region: &Layout,
        edge: Option<Edge>,
        version: u32,
    ) {
        let bytes = region.numel() * self.dtype().size();
        let whole = region.is_injective() && bytes == self.storage().nbytes();
        let write = Write { op, region: region.clone(), edge, version };
        self.history_or_new().push(write, whole);
    }

    /// The edge of values that were there at version `since` with the edge `own`, after the writes since then.
    #[cold]
    pub(super) fn changed_edge(&self, own: Option<&Edge>, since: u32) -> Option<Edge> {
        let writes = self.history().map_or_else(Vec::new, |h| h.since(since, self.layout()));
        let Some(last) = writes.last() else {
            return own.cloned();
        };
        let version = last.version;
        let edge = match &last.edge {
            Some(edge) if same_elements(&last.region, self.layout()) => edge.clone(),
            _ => self.overwritten(own.cloned(), writes),
        };
        let meta = self.ensure_meta();
        meta.rebase(Some(edge.clone()), version);
        retain::follow(meta, Some(&edge));
        Some(edge)
    }

    /// Adds the nodes that the changes of this memory hold, if they go with this handle.
    #[cfg(feature = "python")]
    pub(super) fn written_nodes(&self, nodes: &mut Vec<crate::tensor::Node>) {
        let alone = match self.storage().is_guest() {
            true => {
                self.meta().is_some_and(|meta| Arc::strong_count(meta) == 1 && meta.is_family())
            }
            false => self.storage().is_sole_host(),
        };
        if !alone {
            return;
        }
        let Some(history) = self.history() else {
            return;
        };
        if let Ok(writes) = history.writes.try_lock() {
            let edges = writes.iter().filter_map(|write| write.edge.as_ref());
            nodes.extend(edges.map(|edge| edge.node().clone()));
        }
    }

    /// Whether this shows memory of a leaf that requires grad.
    pub(crate) fn shows_leaf(&self) -> bool {
        if !self.storage().is_guest() {
            return self.storage().is_marked();
        }
        self.history().is_some_and(|history| history.leaf.load(Ordering::Relaxed))
    }

    pub(super) fn mark_leaf(&self, on: bool) {
        if !self.storage().is_guest() {
            self.storage().mark(on);
        } else if self.marks().has(Marks::DETACHED) {
            self.history_or_new().leaf.store(on, Ordering::Relaxed);
        }
    }

    /// Remembers that a custom function's forward wrote something that varies with its input.
    pub(crate) fn wrote_cut(&self) {
        self.history_or_new().cut.store(true, Ordering::Relaxed);
    }

    #[cold]
    pub(super) fn history_is_cut(&self) -> bool {
        self.history().is_some_and(|history| history.cut.load(Ordering::Relaxed))
    }
}
