//! Dependency queries: whether results depend on given tensors, and whether their backward may run Python code.

use pyo3::prelude::*;

use crate::bindings::custom_op::is_custom;
use crate::bindings::object::PyTensor;
use crate::graph::{Attachments, Flags, search};
use crate::tensor::{Edge, Node, Tensor};

/// The edges that the gradients of tensors flow to; tensors that need none are skipped.
fn edges(tensors: &[&Tensor]) -> Vec<Edge> {
    tensors.iter().filter_map(|tensor| tensor.grad_edge()).collect()
}

fn tensors<'a>(objects: &'a [Bound<'_, PyAny>]) -> Vec<&'a Tensor> {
    let tensor = |ob: &'a Bound<'_, PyAny>| Some(&ob.cast::<PyTensor>().ok()?.get().tensor);
    objects.iter().filter_map(tensor).collect()
}

/// Whether one of `outputs` depends on a leaf other than `own`.
pub(crate) fn depends_on_others(outputs: &[&Tensor], own: &[&Tensor]) -> bool {
    let own = edges(own);
    let mine = |node: &Node| own.iter().any(|edge| edge.node() == node);
    let other = |node: &Node| node.flags().has(Flags::ACCUMULATOR) && !mine(node);
    search(&edges(outputs), &own, true, other)
}

/// Whether a tensor among `outputs` depends on a leaf other than `own`.
#[pyfunction]
pub(crate) fn _depends_on_others(
    outputs: Vec<Bound<'_, PyAny>>,
    own: Vec<Bound<'_, PyAny>>,
) -> bool {
    depends_on_others(&tensors(&outputs), &tensors(&own))
}

/// Whether a backward from `outputs` to `inputs` may run a custom function's backward.
#[pyfunction]
pub(crate) fn _runs_python(outputs: Vec<Bound<'_, PyAny>>, inputs: Vec<Bound<'_, PyAny>>) -> bool {
    search(&edges(&tensors(&outputs)), &edges(&tensors(&inputs)), false, is_custom)
}

/// Whether a backward from `outputs` to `inputs` may run a hook, or a custom function's backward.
#[pyfunction]
pub(crate) fn _calls_back(outputs: Vec<Bound<'_, PyAny>>, inputs: Vec<Bound<'_, PyAny>>) -> bool {
    let calls =
        |node: &Node| is_custom(node) || node.attachments().is_some_and(Attachments::has_hooks);
    search(&edges(&tensors(&outputs)), &edges(&tensors(&inputs)), false, calls)
}

/// Whether `output` depends on `input`.
#[pyfunction]
pub(crate) fn _depends_on(output: &Bound<'_, PyTensor>, input: &Bound<'_, PyTensor>) -> bool {
    let Some(input) = input.get().tensor.grad_edge() else { return false };
    let there = |node: &Node| node == input.node();
    search(&edges(&[&output.get().tensor]), std::slice::from_ref(&input), false, there)
}
