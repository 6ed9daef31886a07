//! `GradientEdge`: an edge of the graph, usable in place of its tensor, without keeping the tensor's values alive.

use pyo3::prelude::*;

use crate::bindings::errors::bad_value;
use crate::bindings::graph::hooks::edge_of;
use crate::bindings::object::PyTensor;
use crate::bindings::object::node::{PyNode, wrap_node};
use crate::ops::autograd::backward::Endpoint;
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::Edge;

/// The place of a tensor in the graph: usable instead of the tensor as output or input of `autograd.grad` and as root
/// of `autograd.backward`.
#[pyclass(name = "GradientEdge", module = "ferrograd.autograd.graph", frozen)]
pub(crate) struct GradientEdge {
    pub(crate) point: Endpoint,
}

#[pymethods]
impl GradientEdge {
    /// Output `output_nr` of `node`, whose shape must be known: of a leaf, or of a tensor that was asked for its
    /// `grad_fn`.
    #[new]
    #[pyo3(signature = (node, output_nr=0, ownership_token=None))]
    fn new(
        node: &Bound<'_, PyNode>,
        output_nr: u32,
        ownership_token: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<GradientEdge> {
        // PyTorch's edges need an owner of the graph below; these own it themselves.
        let _ = ownership_token;
        let node = node.get();
        let Some(spec) = node.spec(output_nr) else {
            let what = format!("the shape of output {output_nr} of the node is not known");
            return Err(bad_value("GradientEdge", what, "use get_gradient_edge(tensor)"));
        };
        Ok(GradientEdge { point: Endpoint { edge: Edge::new(node.node.clone(), output_nr), spec } })
    }

    /// The node that produced the tensor, or the leaf's `AccumulateGrad`.
    #[getter]
    fn node<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyNode>> {
        wrap_node(py, self.point.edge.node().clone())
    }

    /// Which output of the node.
    #[getter]
    fn output_nr(&self) -> u32 {
        self.point.edge.output()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<GradientEdge>().is_ok_and(|other| other.get().point.edge == self.point.edge)
    }

    fn __hash__(&self) -> usize {
        self.point.edge.node().address() ^ self.point.edge.output() as usize
    }

    fn __repr__(&self) -> String {
        let name = crate::bindings::object::node::display_name(self.point.edge.node());
        format!("GradientEdge(node=<{name}>, output_nr={})", self.point.edge.output())
    }
}

/// The place of `tensor` in the graph; it may be dropped then.
#[pyfunction]
pub(crate) fn get_gradient_edge(tensor: &Bound<'_, PyTensor>) -> PyResult<GradientEdge> {
    let tensor = &tensor.get().tensor;
    let edge = edge_of("get_gradient_edge", tensor)?;
    Ok(GradientEdge { point: Endpoint { edge, spec: ShapeDType::of(tensor) } })
}
