//! Introspection of nodes: attributes, custom-function context, output specs, calling a node's VJP, weak references.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::bindings::call::node_attributes::attributes;
use crate::bindings::call::sequence::all_of;
use crate::bindings::custom_op;
use crate::bindings::custom_op::context_of;
use crate::bindings::errors::{bad_type, bad_value, to_py_result};
use crate::bindings::interop::numpy;
use crate::bindings::object::node::{PyNode, wrap_node};
use crate::bindings::object::{PyTensor, wrap};
use crate::graph::{self, NodeId};
use crate::ops::autograd::graph_size;
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::{Accumulate, Edge, Node, Tensor};

impl PyNode {
    /// Shape and dtype of an output, if known.
    pub(crate) fn spec(&self, index: u32) -> Option<ShapeDType> {
        let rule = custom_op::output_specs(&self.node).and_then(|specs| specs.get(index as usize));
        if let Some(spec) = rule.or_else(|| self.seen_output(index)) {
            return Some(spec.clone());
        }
        let leaf = self.node.rule().as_any()?.downcast_ref::<Accumulate>()?;
        let (dims, dtype) = leaf.spec();
        Some(ShapeDType { dims: dims.into(), dtype })
    }
}

#[pymethods]
impl PyNode {
    /// The attributes of the call that made this node: the arguments that say how to compute, by name, and what a
    /// custom function's context holds as `attrs`; an empty dict where there are none, as of a node that an operation
    /// made on its way.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(attributes) = attributes(py, &self.node)? {
            return Ok(attributes.into_any());
        }
        let given = custom_op::attributes_of(py, &self.node)?;
        Ok(given.unwrap_or_else(|| PyDict::new(py).into_any()))
    }

    /// The context of a custom function's call; None for other operations.
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        context_of(py, &self.node)
    }

    /// The operation's name as the engine has it: `multiply`, `sum`, or a custom function's class.
    #[getter]
    fn op_name(&self) -> String {
        self.node.name().into_owned()
    }

    /// Shape and dtype of an output, where they are known: of a custom function, and of the output through which
    /// this node was reached by `grad_fn`; None otherwise.
    fn output_spec<'py>(
        &self,
        py: Python<'py>,
        index: u32,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some(spec) = self.spec(index) else {
            return Ok(None);
        };
        let dims = PyTuple::new(py, spec.dims.iter())?;
        Ok(Some((dims, numpy::descr(py, spec.dtype)).into_pyobject(py)?))
    }

    /// How many outputs the operation has.
    #[getter]
    fn output_count(&self) -> u32 {
        self.node.outputs()
    }

    /// For each output its `shape`, `dtype` and `device`, or None where they are not known: what the gradients that
    /// arrive here look like.
    #[getter]
    fn _input_metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let class = CLASS.import(py, "types", "SimpleNamespace")?;
        let one = |index| {
            let Some(spec) = self.spec(index) else { return Ok(py.None().into_bound(py)) };
            let known = PyDict::new(py);
            known.set_item("shape", PyTuple::new(py, spec.dims.iter())?)?;
            known.set_item("dtype", numpy::descr(py, spec.dtype))?;
            known.set_item("device", "cpu")?;
            class.call((), Some(&known))
        };
        PyTuple::new(py, (0..self.node.outputs()).map(one).collect::<PyResult<Vec<_>>>()?)
    }

    /// The derivative itself: takes the gradients of the outputs and gives those of the inputs, one alone or a tuple.
    /// It is recorded where recording is on. Errors: `ArgumentTypeError` for another number of gradients.
    #[pyo3(signature = (*gradients))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        gradients: Vec<Option<Bound<'py, PyTensor>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (want, got) = (self.node.outputs() as usize, gradients.len());
        if got != want {
            let what = format!("expected {want} arguments, got {got} instead");
            return Err(bad_type(&self.op_name(), what, "pass one gradient or None per output"));
        }
        let found = self.vjp(py, gradients, graph::recording())?;
        if found.len() == 1 { found.get_item(0) } else { Ok(found.into_any()) }
    }

    /// Runs the derivative of this operation once and changes nothing: takes one gradient or None per output,
    /// gives one gradient or None per input. With `create_graph` the result is recorded.
    #[pyo3(signature = (gradients, create_graph=false))]
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = all_of)] gradients: Vec<Option<Bound<'py, PyTensor>>>,
        create_graph: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let gradients = gradients.into_iter().map(|g| g.map(|g| g.get().tensor.clone())).collect();
        // A gradient of a wrong shape may only be noticed by a kernel, which panics.
        let run = AssertUnwindSafe(|| graph::vjp(&self.node, gradients, create_graph));
        let found = catch_unwind(run).unwrap_or_else(|_| Err(wrong_gradient_shape()));
        let _mode = graph::ModeGuard::grad(create_graph);
        let separate = |g: Option<Tensor>| g.map(|g| g.separate(create_graph)).transpose();
        let found: Vec<_> = to_py_result(
            found.and_then(|all| all.into_iter().map(separate).collect::<Result<_, _>>()),
        )?;
        let found: PyResult<Vec<_>> =
            found.into_iter().map(|g| g.map(|g| wrap(py, g)).transpose()).collect();
        PyTuple::new(py, found?)
    }
}

#[cold]
fn wrong_gradient_shape() -> Box<crate::error::Error> {
    Box::new(crate::error::Error::Shape {
        op: "vjp".into(),
        what: "a gradient does not fit the operation's output".into(),
        remedy: "give gradients of the outputs' shapes and dtypes",
    })
}

/// The tensor at output `index` of a node that has the values of `like`: a root from which backward can start.
#[pyfunction]
pub(crate) fn _output_of<'py>(
    node: &Bound<'py, PyNode>,
    index: u32,
    like: &Bound<'py, PyTensor>,
) -> PyResult<Bound<'py, PyAny>> {
    let node = &node.get().node;
    if index >= node.outputs() {
        let what = format!("output {index} of an operation with {} outputs", node.outputs());
        return Err(bad_value("backward", what, "name an existing output"));
    }
    wrap(like.py(), like.get().tensor.detach().attach(Edge::new(node.clone(), index)))
}

/// The nodes whose derivative is zero and through which every path to a leaf goes, the latest first; None where some
/// gradient may be another one.
#[pyfunction]
pub(crate) fn _vanishing<'py>(
    tensor: &Bound<'py, PyTensor>,
) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let found = graph_size::zero_gradient_nodes(&tensor.get().tensor);
    let wrapped = |nodes: Vec<Node>| {
        nodes.into_iter().map(|node| Ok(wrap_node(tensor.py(), node)?.into_any())).collect()
    };
    found.map(wrapped).transpose()
}

/// A node that is not kept alive.
#[pyclass(name = "_WeakNode", module = "ferrograd._core", frozen)]
pub(crate) struct WeakNode(NodeId<Tensor>);

#[pymethods]
impl WeakNode {
    /// The node that produced a tensor.
    #[new]
    fn new(tensor: &Bound<'_, PyTensor>) -> PyResult<WeakNode> {
        match tensor.get().tensor.grad_fn() {
            Some(node) => Ok(WeakNode(node.id())),
            None => {
                Err(bad_value("node", "no operation produced the tensor", "pass a recorded result"))
            }
        }
    }

    /// This node.
    #[staticmethod]
    fn of(node: &Bound<'_, PyNode>) -> WeakNode {
        WeakNode(node.get().node.id())
    }

    /// The node, or None when it is gone.
    fn __call__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyNode>>> {
        self.0.upgrade().map(|node| wrap_node(py, node)).transpose()
    }
}

/// The graph behind a tensor in numbers, as a dict; `shares` holds `(name, nodes, saved bytes)` by operation.
#[pyfunction]
pub(crate) fn _graph_facts<'py>(tensor: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyDict>> {
    let py = tensor.py();
    let found = graph_size::measure(&tensor.get().tensor);
    let facts = PyDict::new(py);
    facts.set_item("operations", found.operations)?;
    facts.set_item("leaves", found.leaves)?;
    facts.set_item("edges", found.edges)?;
    facts.set_item("depth", found.depth)?;
    facts.set_item("node_bytes", found.node_bytes)?;
    facts.set_item("saved_bytes", found.saved_bytes)?;
    let shares: Vec<_> =
        found.shares.into_iter().map(|s| (s.name, s.nodes, s.saved_bytes)).collect();
    facts.set_item("shares", shares)?;
    Ok(facts)
}
