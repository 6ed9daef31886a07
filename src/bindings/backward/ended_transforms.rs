//! Arguments of transforms that have ended, while something still leads to them.
//!
//! Owns: their list, which is empty unless a function kept a tensor beyond its call. Never keeps one alive.
//! Invariant: no node is dropped while the list is locked; without entries a question costs one load.

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::object::PyTensor;
use crate::bindings::object::node::{PyNode, wrap_node};
use crate::graph::{Flags, NodeId, frontier, innermost_line, next_node_seq, search};
use crate::tensor::{Edge, Node, Tensor};
use crate::threads::Lock;

/// The accumulators of arguments, the earliest first, each with the number of the first node after its transform. Those
/// of which nothing is left go from the front, and from everywhere when there are too many.
#[derive(Default)]
struct Ended {
    order: VecDeque<NodeId<Tensor>>,
    since: HashMap<NodeId<Tensor>, u64>,
    most: usize,
}

impl Ended {
    fn add(&mut self, argument: NodeId<Tensor>) {
        if self.order.len() >= self.most {
            self.order.retain(NodeId::is_live);
            self.since.retain(|id, _| id.is_live());
            self.most = 2 * self.order.len() + 64;
        }
        self.order.push_back(argument);
        self.since.insert(argument, next_node_seq());
        COUNT.store(self.order.len(), Ordering::Relaxed);
    }

    /// The earliest one that something still leads to.
    fn earliest(&mut self) -> Option<Node> {
        while let Some(argument) = self.order.front() {
            if let Some(node) = argument.upgrade() {
                return Some(node);
            }
            self.since.remove(argument);
            self.order.pop_front();
        }
        None
    }
}

static ENDED: LazyLock<Lock<Ended>> = LazyLock::new(Lock::default);
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// What a tensor that is an argument of a transform will be found by when it has ended.
pub(crate) fn argument(tensor: &Tensor) -> Option<NodeId<Tensor>> {
    let edge = tensor.grad_edge()?;
    edge.node().flags().has(Flags::ACCUMULATOR).then(|| edge.node().id())
}

/// Takes note of an argument of a transform that has ended and let its graph go.
pub(crate) fn end(argument: NodeId<Tensor>) {
    if argument.is_live() {
        ENDED.lock().add(argument);
    }
}

/// Where the gradients of tensors go.
fn edges(tensors: &[&Tensor]) -> Vec<Edge> {
    tensors.iter().filter_map(|tensor| tensor.grad_edge()).collect()
}

/// The argument of an ended transform that these lead to, and the number of the first node after that.
fn reached(roots: &[Edge]) -> Option<(Edge, u64)> {
    let earliest = {
        let mut ended = ENDED.lock();
        let earliest = ended.earliest();
        COUNT.store(ended.order.len(), Ordering::Relaxed);
        Edge::new(earliest?, 0)
    };
    let mut found = None;
    search(roots, std::slice::from_ref(&earliest), false, |node| {
        if node.flags().has(Flags::ACCUMULATOR)
            && let Some(since) = ENDED.lock().since.get(&node.id())
        {
            found = Some((Edge::new(node.clone(), 0), *since));
        }
        found.is_some()
    });
    found
}

/// Whether one of `outputs` was computed from the argument of a transform that has ended.
pub(crate) fn leads_there(outputs: &[&Tensor]) -> bool {
    COUNT.load(Ordering::Relaxed) != 0 && reached(&edges(outputs)).is_some()
}

/// Notes that the transform of these arguments has ended, and empties the list of them.
#[pyfunction]
pub(crate) fn _end_transform(arguments: &Bound<'_, PyList>) -> PyResult<()> {
    let tensor = |ob: Bound<'_, PyAny>| argument(&ob.cast::<PyTensor>().ok()?.get().tensor);
    let known: Vec<_> = arguments.iter().filter_map(tensor).collect();
    arguments.del_slice(0, arguments.len())?;
    known.into_iter().for_each(end);
    Ok(())
}

/// A tensor of an ended transform: the node that made it and which of its outputs it is, the argument that it was
/// computed from, and the line that made it.
type Kept<'py> = (Bound<'py, PyNode>, u32, Bound<'py, PyNode>, Option<String>);

/// The tensor of an ended transform that one of `outputs` was computed from, None where there is none.
#[pyfunction]
pub(crate) fn _of_ended_transform<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
) -> PyResult<Option<Kept<'py>>> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return Ok(None);
    }
    let objects: Vec<Bound<'py, PyAny>> = outputs.extract()?;
    let outputs: Vec<&Tensor> =
        objects.iter().filter_map(|ob| Some(&ob.cast::<PyTensor>().ok()?.get().tensor)).collect();
    let roots = edges(&outputs);
    let Some((leaf, since)) = reached(&roots) else {
        return Ok(None);
    };
    let ends = std::slice::from_ref(&leaf);
    let leads =
        |edge: &Edge| search(std::slice::from_ref(edge), ends, false, |node| node == leaf.node());
    let Some(kept) = frontier(&roots, since).into_iter().find(leads) else {
        return Ok(None);
    };
    let site = kept.node().attachments().and_then(|attachments| attachments.call_site());
    let site = site.map(|site| innermost_line(&site).trim().to_owned());
    let (made, argument) =
        (wrap_node(py, kept.node().clone())?, wrap_node(py, leaf.node().clone())?);
    Ok(Some((made, kept.output(), argument, site)))
}
