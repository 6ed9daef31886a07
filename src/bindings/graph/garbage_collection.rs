//! `tp_traverse` and `tp_clear` of tensors, nodes and edges: reports the Python objects owned by the graph below to
//! Python's cyclic garbage collector.
//!
//! Invariant: only objects that this holder alone keeps alive are reported: reporting too few is safe, reporting a
//! shared one is not. No locks, counts or drops during a traversal.

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
use crate::bindings::object::python_rule_count::{PythonRuleCount, any_python_rules};
use crate::graph::{Flags, HostObjects};
use crate::tensor::Node;

/// Node limit of a traversal in a young collection: it must not cost more than the allocations since the last one. Full
/// collections, which are rare, have no limit.
const YOUNG_NODES: usize = 1024;

/// A node's `metadata`: the user's dict, which may refer back to the node.
pub(crate) struct Metadata {
    pub(crate) dict: Py<PyDict>,
    _count: PythonRuleCount,
}

impl Metadata {
    pub(crate) fn new(dict: Py<PyDict>) -> Metadata {
        Metadata { dict, _count: PythonRuleCount::new() }
    }
}

/// Whether the running collection is a full one.
static FULL: AtomicBool = AtomicBool::new(false);

/// A callback of `gc.callbacks`: called when a collection starts and ends.
#[pyfunction]
pub(crate) fn _collecting(phase: &str, info: &Bound<'_, PyDict>) -> PyResult<()> {
    let generation = info.get_item("generation")?;
    let full = generation.map(|g| g.extract::<u32>()).transpose()?.is_some_and(|g| g >= 2);
    FULL.store(full && phase == "start", Ordering::Relaxed);
    Ok(())
}

/// What a traversal finds.
enum PythonOwner<'a> {
    Owner(&'a dyn HostObjects),
    Metadata(&'a Node, Arc<dyn Any + Send + Sync>),
}

/// Traversal of the nodes that one holder alone keeps alive.
///
/// A node is visited when all its counts are accounted for: those of the holder and those of edges from visited nodes.
struct Traversal<'a, F> {
    found: F,
    counted: HashMap<usize, u32>,
    /// Owners shared by several nodes, and how often each was met.
    shared: HashMap<usize, usize>,
    ready: Vec<&'a Node>,
    budget: usize,
}

impl<'a, E, F: FnMut(PythonOwner<'_>) -> Result<(), E>> Traversal<'a, F> {
    /// Visits everything kept alive by the holder of `roots`; the holder has `counts` on each root.
    fn run(roots: &'a [Node], counts: u32, found: F) -> Result<(), E> {
        let budget = if FULL.load(Ordering::Relaxed) { usize::MAX } else { YOUNG_NODES };
        let (counted, shared) = (HashMap::new(), HashMap::new());
        let mut traversal = Traversal { found, counted, shared, ready: Vec::new(), budget };
        roots.iter().for_each(|root| traversal.reach(root, counts));
        while let Some(node) = traversal.ready.pop() {
            traversal.visit(node)?;
            if traversal.budget == 0 {
                break;
            }
            traversal.budget -= 1;
            node.edges().iter().flatten().for_each(|edge| traversal.reach(edge.node(), 1));
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
        if let Some(owner) = node.rule().host_objects() {
            (self.found)(PythonOwner::Owner(owner))?;
        }
        if !node.flags().has(Flags::HOST_OBJECTS) && node.attachments().is_none() {
            return Ok(());
        }
        let mut result = Ok(());
        let (found, shared) = (&mut self.found, &mut self.shared);
        let mut visit = |owner: &dyn HostObjects| {
            let all = owner.shared().is_none_or(|(id, count)| {
                let met = shared.entry(id).or_insert(0);
                *met += 1;
                *met == count
            });
            if all && result.is_ok() {
                result = found(PythonOwner::Owner(owner));
            }
        };
        node.saved_host_objects(&mut visit);
        if let Some(attachments) = node.attachments() {
            attachments.host_objects(&mut visit);
            result?;
            if let Some(metadata) = attachments.metadata() {
                return (self.found)(PythonOwner::Metadata(node, metadata));
            }
            return Ok(());
        }
        result
    }
}

fn report(found: PythonOwner<'_>, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    let owner = match found {
        PythonOwner::Owner(owner) => owner,
        PythonOwner::Metadata(_, metadata) => {
            return metadata
                .downcast_ref::<Metadata>()
                .map_or(Ok(()), |metadata| visit.call(&metadata.dict));
        }
    };
    let mut result = Ok(());
    owner.visit(&mut |object: &dyn Any| {
        if result.is_ok()
            && let Some(object) = object.downcast_ref::<Py<PyAny>>()
        {
            result = visit.call(object);
        }
    });
    result
}

fn traverse(roots: &[Node], counts: u32, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    Traversal::run(roots, counts, |found| report(found, visit))
}

fn clear(roots: &[Node], counts: u32) {
    let _ = Traversal::run(roots, counts, |found| -> Result<(), ()> {
        match found {
            PythonOwner::Owner(owner) => owner.clear(),
            PythonOwner::Metadata(node, _) => node.attachments_or_new().set_metadata(Arc::new(())),
        }
        Ok(())
    });
}

fn nothing_to_report() -> bool {
    !any_python_rules()
}

/// The counts per node in `own_roots`: the tensor's own and that of the clone in the list.
const COUNTS_PER_ROOT: u32 = 2;

#[pymethods]
impl PyTensor {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(base) = &self.base {
            visit.call(base)?;
        }
        if nothing_to_report() {
            return Ok(());
        }
        if let Some(node) = self.node.get() {
            visit.call(node.object())?;
        }
        traverse(&self.own_roots(), COUNTS_PER_ROOT, &visit)
    }

    fn __clear__(&self) {
        if !nothing_to_report() {
            clear(&self.own_roots(), COUNTS_PER_ROOT);
        }
    }
}

impl PyTensor {
    /// The nodes to traverse from this object: not the one whose Python object it refers to.
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
        if nothing_to_report() {
            Ok(())
        } else {
            traverse(slice::from_ref(&self.node), self.counts(), &visit)
        }
    }

    fn __clear__(&self) {
        if !nothing_to_report() {
            clear(slice::from_ref(&self.node), self.counts());
        }
    }
}

#[pymethods]
impl GradientEdge {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if nothing_to_report() {
            Ok(())
        } else {
            traverse(slice::from_ref(self.point.edge.node()), 1, &visit)
        }
    }

    fn __clear__(&self) {
        if !nothing_to_report() {
            clear(slice::from_ref(self.point.edge.node()), 1);
        }
    }
}
