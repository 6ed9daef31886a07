//! Arguments of transforms that have ended, while something still leads to them.
//!
//! Owns: their list, which is empty unless a function kept a tensor beyond its call. Never keeps one alive.
//! Invariant: no node is dropped while the list is locked; without entries a question costs one load.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::object::PyTensor;
use crate::bindings::object::node::{PyNode, wrap_node};
use crate::graph::{Flags, NodeId, frontier, latest, next_node, search};
use crate::tensor::{Edge, Tensor};
use crate::threads::Lock;

/// The accumulator of an argument, and the number of the first node after its transform.
type Ended = (NodeId<Tensor>, u64);

static ENDED: Lock<Vec<Ended>> = Lock::new(Vec::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// What a tensor that is an argument of a transform will be found by when it has ended.
pub(crate) fn argument(tensor: &Tensor) -> Option<NodeId<Tensor>> {
    let edge = tensor.grad_edge()?;
    edge.node().flags().has(Flags::ACCUMULATOR).then(|| edge.node().id())
}

/// Takes note of an argument of a transform that has ended and let its graph go.
pub(crate) fn end(argument: NodeId<Tensor>) {
    if !argument.is_live() {
        return;
    }
    let mut ended = ENDED.lock();
    if ended.len() == ended.capacity() {
        ended.retain(|(id, _)| id.is_live());
    }
    ended.push((argument, next_node()));
    COUNT.store(ended.len(), Ordering::Relaxed);
}

/// Those that something still leads to.
fn living() -> Vec<(Edge, u64)> {
    let entries = {
        let mut ended = ENDED.lock();
        ended.retain(|(id, _)| id.is_live());
        COUNT.store(ended.len(), Ordering::Relaxed);
        ended.clone()
    };
    let edge = |(id, since): Ended| Some((Edge::new(id.upgrade()?, 0), since));
    entries.into_iter().filter_map(edge).collect()
}

/// Whether one of `outputs` was computed from the argument of a transform that has ended.
pub(crate) fn leads_there(outputs: &[&Tensor]) -> bool {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let ends: Vec<Edge> = living().into_iter().map(|(edge, _)| edge).collect();
    let addresses: HashSet<usize> = ends.iter().map(|edge| edge.node().address()).collect();
    let roots: Vec<Edge> = outputs.iter().filter_map(|tensor| tensor.grad_edge()).collect();
    search(&roots, &ends, false, |node| addresses.contains(&node.address()))
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
    if !leads_there(&outputs) {
        return Ok(None);
    }
    let roots: Vec<Edge> = outputs.iter().filter_map(|tensor| tensor.grad_edge()).collect();
    for (leaf, since) in living() {
        let ends = std::slice::from_ref(&leaf);
        let leads = |edge: &Edge| {
            search(std::slice::from_ref(edge), ends, false, |node| node == leaf.node())
        };
        let Some(kept) = frontier(&roots, since).into_iter().find(leads) else { continue };
        let site = kept.node().extras().and_then(|extras| extras.call_site());
        let site = site.map(|site| latest(&site).trim().to_owned());
        let output = kept.output();
        let made = wrap_node(py, kept.node().clone())?;
        return Ok(Some((made, output, wrap_node(py, leaf.node().clone())?, site)));
    }
    Ok(None)
}
