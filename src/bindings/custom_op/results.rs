//! What the caller of a custom function receives: the outputs of forward, each as what it is to the node.
//!
//! Owns: the kinds of outputs and their objects. Never decides which kind an output is: the call does.
//! Invariant: one object that forward returned twice is one object for the caller, but in document 000's form.

use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::bindings::custom_op::class_info::Form;
use crate::bindings::custom_op::outputs::as_tensor;
use crate::bindings::custom_op::pytree::Tree;
use crate::bindings::object::{PyTensor, wrap};
use crate::ops::custom_op::output;
use crate::tensor::{Edge, Node, Region, Write};

/// What becomes of an output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputKind {
    /// A fresh tensor under the node's edge.
    Differentiable,
    /// An argument changed in place: the same object, moved to the node.
    Dirty,
    /// An argument, or a tensor with a history of its own: a fresh tensor outside the graph.
    Alias,
    /// The object that forward returned.
    Constant,
}

/// The structure that forward returned around new leaves.
pub(super) fn build<'py>(
    py: Python<'py>,
    tree: &Tree,
    returned: &Bound<'py, PyAny>,
    leaf: &mut dyn FnMut(usize) -> PyResult<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Tree::Tensor(k) = tree {
        return Ok(leaf(*k as usize)?.into_bound(py));
    }
    // One tensor where a sequence is expected: document 000 allows forward to return it bare.
    let template = as_tensor(returned).is_none().then_some(returned);
    Ok(tree.build(py, template, &mut |k| leaf(k as usize))?.into_bound(py))
}

/// What the caller has been given so far.
#[derive(Default)]
pub(super) struct OutputObjects(SmallVec<[Py<PyAny>; 2]>);

impl OutputObjects {
    /// Output `k`: one object that forward returned twice is one object for the caller, too, but in document 000's
    /// form.
    pub(super) fn once<'py>(
        &mut self,
        returned: &[Bound<'py, PyAny>],
        k: usize,
        strict: bool,
        make: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (y, py) = (&returned[k], returned[k].py());
        let repeated = || returned[..k].iter().position(|before| before.is(y));
        let before = if strict || k == 0 { None } else { repeated() };
        let object = match before.and_then(|first| self.0.get(first)) {
            Some(object) => object.clone_ref(py),
            None => make()?.unbind(),
        };
        if returned.len() > 1 {
            self.0.push(object.clone_ref(py));
        }
        Ok(object)
    }
}

/// Output `k` as the caller receives it.
pub(super) fn attach<'py>(
    node: &Node,
    form: &Form,
    y: &Bound<'py, PyAny>,
    k: usize,
    kind: OutputKind,
    inputs: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let Some(tensor) = as_tensor(y) else {
        return Ok(y.clone());
    };
    match kind {
        OutputKind::Differentiable => {
            wrap(y.py(), output(node, tensor, k, inputs.iter().filter_map(as_tensor)))
        }
        OutputKind::Alias => wrap(y.py(), tensor.detached()),
        OutputKind::Constant => Ok(y.clone()),
        OutputKind::Dirty => {
            let edge = Edge::new(node.clone(), k as u32);
            tensor.note_write(Write {
                op: form.lasting(),
                region: Region::of(tensor),
                edge: Some(edge),
                own_node: true,
                version: tensor.version(),
            });
            if let Ok(y) = y.cast::<PyTensor>() {
                y.get().written();
            }
            Ok(y.clone())
        }
    }
}
