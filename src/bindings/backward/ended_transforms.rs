//! Leaves that stood for arguments of transforms (`grad`, `jvp`, ...) that have ended. A tensor that leaked out of such
//! a transform still leads to them, which is an error when it is differentiated again.
//!
//! Invariant: no node is dropped while the table is locked; while the table is empty, a query costs one atomic load.

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

/// The accumulator nodes of arguments, earliest first, and for each the sequence number of the first node after its
/// transform. Dead entries are removed from the front, and everywhere when there are too many.
#[derive(Default)]
struct EndedArguments {
    order: VecDeque<NodeId<Tensor>>,
    ended_at: HashMap<NodeId<Tensor>, u64>,
    prune_at: usize,
}

impl EndedArguments {
    fn add(&mut self, argument: NodeId<Tensor>) {
        if self.order.len() >= self.prune_at {
            self.order.retain(NodeId::is_live);
            self.ended_at.retain(|id, _| id.is_live());
            self.prune_at = 2 * self.order.len() + 64;
        }
        self.order.push_back(argument);
        self.ended_at.insert(argument, next_node_seq());
        COUNT.store(self.order.len(), Ordering::Relaxed);
    }

    /// The earliest entry whose node is still alive.
    fn earliest(&mut self) -> Option<Node> {
        while let Some(argument) = self.order.front() {
            if let Some(node) = argument.upgrade() {
                return Some(node);
            }
            self.ended_at.remove(argument);
            self.order.pop_front();
        }
        None
    }
}

static ENDED_ARGUMENTS: LazyLock<Lock<EndedArguments>> = LazyLock::new(Lock::default);
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The node id of a transform's argument, which identifies it after the transform has ended.
pub(crate) fn argument(tensor: &Tensor) -> Option<NodeId<Tensor>> {
    let edge = tensor.grad_edge()?;
    edge.node().flags().has(Flags::ACCUMULATOR).then(|| edge.node().id())
}

/// Records an argument of a transform that has ended.
pub(crate) fn end(argument: NodeId<Tensor>) {
    if argument.is_live() {
        ENDED_ARGUMENTS.lock().add(argument);
    }
}

/// The edges that the gradients of tensors flow to.
fn edges(tensors: &[&Tensor]) -> Vec<Edge> {
    tensors.iter().filter_map(|tensor| tensor.grad_edge()).collect()
}

/// The argument of an ended transform that the roots depend on, and the sequence number of the first node after that
/// transform.
fn reached(roots: &[Edge]) -> Option<(Edge, u64)> {
    let earliest = {
        let mut ended = ENDED_ARGUMENTS.lock();
        let earliest = ended.earliest();
        COUNT.store(ended.order.len(), Ordering::Relaxed);
        Edge::new(earliest?, 0)
    };
    let mut found = None;
    search(roots, std::slice::from_ref(&earliest), false, |node| {
        if node.flags().has(Flags::ACCUMULATOR)
            && let Some(ended_at) = ENDED_ARGUMENTS.lock().ended_at.get(&node.id())
        {
            found = Some((Edge::new(node.clone(), 0), *ended_at));
        }
        found.is_some()
    });
    found
}

/// Whether one of `outputs` depends on the argument of an ended transform.
pub(crate) fn depends_on_ended(outputs: &[&Tensor]) -> bool {
    COUNT.load(Ordering::Relaxed) != 0 && reached(&edges(outputs)).is_some()
}

/// Marks these arguments of a transform as ended and empties the list.
#[pyfunction]
pub(crate) fn _end_transform(arguments: &Bound<'_, PyList>) -> PyResult<()> {
    let tensor = |ob: Bound<'_, PyAny>| argument(&ob.cast::<PyTensor>().ok()?.get().tensor);
    let known: Vec<_> = arguments.iter().filter_map(tensor).collect();
    arguments.del_slice(0, arguments.len())?;
    known.into_iter().for_each(end);
    Ok(())
}

/// A leaked tensor: the node that made it and its output index, the argument it depends on, and the source line that
/// made it.
type LeakedTensor<'py> = (Bound<'py, PyNode>, u32, Bound<'py, PyNode>, Option<String>);

/// The tensor of an ended transform that one of `outputs` depends on, or None.
#[pyfunction]
pub(crate) fn _of_ended_transform<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
) -> PyResult<Option<LeakedTensor<'py>>> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return Ok(None);
    }
    let objects: Vec<Bound<'py, PyAny>> = outputs.extract()?;
    let outputs: Vec<&Tensor> =
        objects.iter().filter_map(|ob| Some(&ob.cast::<PyTensor>().ok()?.get().tensor)).collect();
    let roots = edges(&outputs);
    let Some((leaf, ended_at)) = reached(&roots) else {
        return Ok(None);
    };
    let ends = std::slice::from_ref(&leaf);
    let leads =
        |edge: &Edge| search(std::slice::from_ref(edge), ends, false, |node| node == leaf.node());
    let Some(leaked) = frontier(&roots, ended_at).into_iter().find(leads) else {
        return Ok(None);
    };
    let site = leaked.node().attachments().and_then(|attachments| attachments.call_site());
    let site = site.map(|site| innermost_line(&site).trim().to_owned());
    let (made, argument) =
        (wrap_node(py, leaked.node().clone())?, wrap_node(py, leaf.node().clone())?);
    Ok(Some((made, leaked.output(), argument, site)))
}
