//! The methods of the class `Node`.

use std::sync::Arc;

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::bindings::custom_op::context_of;
use crate::bindings::graph::garbage_collection::Metadata;
use crate::bindings::graph::hooks::{self, RemovableHandle};
use crate::bindings::graph::saved_tensors;
use crate::bindings::object::node::{PyNode, display_name, leaf_object, wrap_node};
use crate::bindings::object::{PyTensor, wrap};

#[pymethods]
impl PyNode {
    /// The name of the operation's derivative, such as `MultiplyBackward`.
    fn name(&self) -> String {
        display_name(&self.node)
    }

    /// Where the gradients of the inputs go: `(node, output index)` each, `(None, 0)` where none is needed.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parts: PyResult<Vec<_>> = self
            .node
            .edges()
            .iter()
            .map(|edge| match edge {
                Some(edge) => {
                    (Some(wrap_node(py, edge.node().clone())?), edge.output()).into_pyobject(py)
                }
                None => (None::<Bound<'py, PyNode>>, 0).into_pyobject(py),
            })
            .collect();
        PyTuple::new(py, parts?)
    }

    /// A dict for the user's own notes on this node; it lives as long as the node.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        let attachments = self.node.attachments_or_new();
        if let Some(known) = attachments.metadata()
            && let Some(notes) = known.downcast_ref::<Metadata>()
        {
            return notes.dict.bind(py).clone();
        }
        let dict = PyDict::new(py);
        attachments.set_metadata(Arc::new(Metadata::new(dict.clone().unbind())));
        dict
    }

    /// The values kept for the derivative, by name.
    #[getter]
    fn saved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        for (name, tensor) in saved_tensors::all(&self.node)? {
            named.set_item(name, wrap(py, tensor)?)?;
        }
        Ok(named)
    }

    /// The leaf behind an `AccumulateGrad`, while its object lives.
    #[getter]
    fn variable<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyTensor>> {
        leaf_object(py, &self.node)
    }

    /// Calls `hook(grad_outputs)` before this node runs; a tuple it returns replaces the gradients of the outputs.
    fn register_prehook(&self, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        hooks::add_prehook(&self.node, hook)
    }

    /// Calls `hook(grad_inputs, grad_outputs)` after this node ran; a tuple it returns replaces the gradients of the
    /// inputs.
    fn register_hook(&self, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        hooks::add_hook(&self.node, hook)
    }

    /// A number that grows with every operation: backward runs nodes in descending order.
    fn _sequence_nr(&self) -> u64 {
        self.node.seq()
    }

    /// Always True: a node exists only where a gradient is needed.
    #[getter]
    fn requires_grad(&self) -> bool {
        true
    }

    /// `_saved_self`, `_saved_other`, `_saved_result`: PyTorch's names for values in `saved`; `_raw_saved_self` and so on
    /// are handles that take hooks. The node of a custom function has what its context has.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if let Some(found) = saved_tensors::attribute(py, &self.node, name)? {
            return Ok(found);
        }
        if !name.starts_with("__")
            && let Some(context) = context_of(py, &self.node)
            && let Some(found) = context.getattr_opt(name)?
        {
            return Ok(found);
        }
        Err(PyAttributeError::new_err(format!("a Node has no attribute {name:?}")))
    }

    fn __repr__(&self) -> String {
        format!("<{}>", display_name(&self.node))
    }
}
