//! What Python's garbage collector may see of the graph.
//!
//! Owns: the walk from a tensor or node object to the Python objects that the graph below owns for it.
//! Never counts, locks or drops while it walks. Invariant: only objects that this object alone keeps
//! alive are reported; reporting too few is safe, reporting a shared one is not.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};

use crate::bindings::node::PyNode;
use crate::bindings::tensor::PyTensor;
use crate::graph::Foreign;
use crate::tensor::Node;

/// How many rules with Python objects live; at zero no walk starts.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// A walk ends after this many nodes.
const LIMIT: usize = 1024;

/// Counts its owner as a rule that holds Python objects.
pub(crate) struct Counted(());

impl Counted {
    pub(crate) fn new() -> Counted {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Counted(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A node's `metadata`: the user's own dict, which may lead back to the node.
pub(crate) struct Notes {
    pub(crate) dict: Py<PyDict>,
    _counted: Counted,
}

impl Notes {
    pub(crate) fn new(dict: Py<PyDict>) -> Notes {
        Notes { dict, _counted: Counted::new() }
    }
}

/// What a walk finds.
enum Found<'a> {
    Rule(&'a dyn Foreign),
    Notes(&'a Node, Arc<dyn Any + Send + Sync>),
}

/// Calls `found` with every owner of Python objects that only `root`'s holder keeps alive.
///
/// `held` is how often the holder and this call count `root`.
fn walk<E>(
    root: &Node,
    held: u32,
    mut found: impl FnMut(Found<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if root.count() > held {
        return Ok(());
    }
    let mut stack = vec![root];
    let mut seen = 0;
    while let Some(node) = stack.pop() {
        seen += 1;
        if let Some(foreign) = node.rule().foreign() {
            found(Found::Rule(foreign))?;
        }
        if let Some(notes) = node.extras().and_then(|extras| extras.metadata()) {
            found(Found::Notes(node, notes))?;
        }
        if seen == LIMIT {
            break;
        }
        let edges = node.edges().iter().flatten().map(|edge| edge.node());
        stack.extend(edges.filter(|below| below.count() == 1));
    }
    Ok(())
}

fn report(found: Found<'_>, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    let foreign = match found {
        Found::Rule(foreign) => foreign,
        Found::Notes(_, notes) => {
            return notes.downcast_ref::<Notes>().map_or(Ok(()), |notes| visit.call(&notes.dict));
        }
    };
    let mut result = Ok(());
    foreign.visit(&mut |object: &dyn Any| {
        if result.is_ok()
            && let Some(object) = object.downcast_ref::<Py<PyAny>>()
        {
            result = visit.call(object);
        }
    });
    result
}

fn traverse(root: Option<Node>, held: u32, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
    match root {
        Some(root) => walk(&root, held, |found| report(found, &visit)),
        None => Ok(()),
    }
}

fn clear(root: Option<Node>, held: u32) {
    let Some(root) = root else { return };
    let _ = walk(&root, held, |found| -> Result<(), ()> {
        match found {
            Found::Rule(foreign) => foreign.clear(),
            Found::Notes(node, _) => node.extras_or_new().set_metadata(Arc::new(())),
        }
        Ok(())
    });
}

fn idle() -> bool {
    LIVE.load(Ordering::Relaxed) == 0
}

#[pymethods]
impl PyTensor {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if idle() { Ok(()) } else { traverse(self.tensor.grad_fn(), 2, visit) }
    }

    fn __clear__(&self) {
        if !idle() {
            clear(self.tensor.grad_fn(), 2);
        }
    }
}

#[pymethods]
impl PyNode {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if idle() { Ok(()) } else { traverse(Some(self.node.clone()), 2, visit) }
    }

    fn __clear__(&self) {
        if !idle() {
            clear(Some(self.node.clone()), 2);
        }
    }
}
