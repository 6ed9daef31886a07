//! What Python's garbage collector may see of the graph.
//!
//! Owns: the walk from a tensor or node object to the Python objects that the graph below owns for it.
//! Never counts, locks or drops while it walks. Invariant: only objects that this object alone keeps
//! alive are reported; reporting too few is safe, reporting a shared one is not.

use std::any::Any;
use std::collections::HashMap;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};

use crate::bindings::graph::edge::GradientEdge;
use crate::bindings::object::PyTensor;
use crate::bindings::object::node::PyNode;
use crate::bindings::object::python_rule_count::{Counted, any};
use crate::graph::{Flags, Foreign};
use crate::tensor::Node;

/// A walk of a young collection ends after this many nodes: it must not cost more than what was allocated since the
/// last one. A full collection, which is rare, looks at all of them.
const YOUNG: usize = 1024;

/// A node's `metadata`: the user's own dict, which may lead back to the node.
pub(crate) struct Metadata {
    pub(crate) dict: Py<PyDict>,
    _counted: Counted,
}

impl Metadata {
    pub(crate) fn new(dict: Py<PyDict>) -> Metadata {
        Metadata { dict, _counted: Counted::new() }
    }
}

/// Whether the collection that is running looks at everything.
static FULL: AtomicBool = AtomicBool::new(false);

/// Told by Python when a collection starts and ends.
#[pyfunction]
pub(crate) fn _collecting(phase: &str, info: &Bound<'_, PyDict>) -> PyResult<()> {
    let generation = info.get_item("generation")?;
    let full = generation.map(|g| g.extract::<u32>()).transpose()?.is_some_and(|g| g >= 2);
    FULL.store(full && phase == "start", Ordering::Relaxed);
    Ok(())
}

/// What a walk finds.
enum Reached<'a> {
    Owner(&'a dyn Foreign),
    Metadata(&'a Node, Arc<dyn Any + Send + Sync>),
}

/// A walk over the nodes that one holder alone keeps alive.
///
/// A node is reached when all its counts are accounted for: those of the holder, the walk's own, and those of nodes
/// that were reached before.
struct Walk<'a, F> {
    found: F,
    counted: HashMap<usize, u32>,
    /// Owners that several nodes share, and how many of them were met.
    shared: HashMap<usize, usize>,
    ready: Vec<&'a Node>,
    left: usize,
}

impl<'a, E, F: FnMut(Reached<'_>) -> Result<(), E>> Walk<'a, F> {
    /// Visits everything that is kept by the holder of `roots`, each of which stands for `counts` of the node.
    fn run(roots: &'a [Node], counts: u32, found: F) -> Result<(), E> {
        let left = if FULL.load(Ordering::Relaxed) { usize::MAX } else { YOUNG };
        let (counted, shared) = (HashMap::new(), HashMap::new());
        let mut walk = Walk { found, counted, shared, ready: Vec::new(), left };
        roots.iter().for_each(|root| walk.reach(root, counts));
        while let Some(node) = walk.ready.pop() {
            walk.visit(node)?;
            if walk.left == 0 {
                break;
            }
            walk.left -= 1;
            node.edges().iter().flatten().for_each(|edge| walk.reach(edge.node(), 1));
        }
        Ok(())
    }

    #[inline]
    fn reach(&mut self, node: &'a Node, counts: u32) {
        let all = node.count();
        if all > counts {
            let known = self.counted.entry(node.address()).or_insert(0);
            *known += counts;
            if *known != all {
                return;
            }
        }
        self.ready.push(node);
    }

    fn visit(&mut self, node: &'a Node) -> Result<(), E> {
        if let Some(foreign) = node.rule().foreign() {
            (self.found)(Reached::Owner(foreign))?;
        }
        if !node.flags().has(Flags::FOREIGN) && node.attachments().is_none() {
            return Ok(());
        }
        let mut result = Ok(());
        let (found, shared) = (&mut self.found, &mut self.shared);
        let mut owner = |foreign: &dyn Foreign| {
            let all = foreign.shared().is_none_or(|(id, count)| {
                let met = shared.entry(id).or_insert(0);
                *met += 1;
                *met == count
            });
            if all && result.is_ok() {
                result = found(Reached::Owner(foreign));
            }
        };
        node.foreign_saved(&mut owner);
        if let Some(attachments) = node.attachments() {
            attachments.foreign(&mut owner);
            result?;
            if let Some(metadata) = attachments.metadata() {
                return (self.found)(Reached::Metadata(node, metadata));
            }
            return Ok(());
        }
        result
    }
}

fn report(found: Reached<'_>, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    let foreign = match found {
        Reached::Owner(foreign) => foreign,
        Reached::Metadata(_, metadata) => {
            return metadata
                .downcast_ref::<Metadata>()
                .map_or(Ok(()), |metadata| visit.call(&metadata.dict));
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

fn traverse(roots: &[Node], counts: u32, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    Walk::run(roots, counts, |found| report(found, visit))
}

fn clear(roots: &[Node], counts: u32) {
    let _ = Walk::run(roots, counts, |found| -> Result<(), ()> {
        match found {
            Reached::Owner(foreign) => foreign.clear(),
            Reached::Metadata(node, _) => node.attachments_or_new().set_metadata(Arc::new(())),
        }
        Ok(())
    });
}

fn idle() -> bool {
    !any()
}

/// The nodes that a tensor object holds: clones, so that each stands for two counts.
const CLONES: u32 = 2;

#[pymethods]
impl PyTensor {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(base) = &self.base {
            visit.call(base)?;
        }
        if idle() {
            return Ok(());
        }
        if let Some(node) = self.node.get() {
            visit.call(node.object())?;
        }
        traverse(&self.own_roots(), CLONES, &visit)
    }

    fn __clear__(&self) {
        if !idle() {
            clear(&self.own_roots(), CLONES);
        }
    }
}

impl PyTensor {
    /// The nodes that are found through this object: not the one whose own object it holds.
    fn own_roots(&self) -> Vec<Node> {
        let mut roots = self.tensor.owned_nodes();
        if let Some(node) = self.node.get() {
            roots.retain(|root| root != node.node());
        }
        roots
    }
}

#[pymethods]
impl PyNode {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if idle() { Ok(()) } else { traverse(slice::from_ref(&self.node), self.counts(), &visit) }
    }

    fn __clear__(&self) {
        if !idle() {
            clear(slice::from_ref(&self.node), self.counts());
        }
    }
}

#[pymethods]
impl GradientEdge {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if idle() { Ok(()) } else { traverse(slice::from_ref(self.point.edge.node()), 1, &visit) }
    }

    fn __clear__(&self) {
        if !idle() {
            clear(slice::from_ref(self.point.edge.node()), 1);
        }
    }
}
