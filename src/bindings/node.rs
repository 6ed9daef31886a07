//! The class `Node`: one recorded operation as Python sees it.
//!
//! Owns: the counted handle on the node and the table by which a node finds its object again.
//! Never changes a graph. Invariant: while one object of a node lives, wrapping the node yields it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyWeakrefMethods, PyWeakrefReference};

use crate::bindings::collect::Notes;
use crate::bindings::hooks::{self, RemovableHandle};
use crate::graph::{Origin, Saved};
use crate::ops::function::Spec;
use crate::tensor::{Node, Tensor};

/// One recorded operation: where a gradient comes from and where it goes.
#[pyclass(name = "Node", module = "ferrograd", frozen, weakref)]
pub(crate) struct PyNode {
    pub(crate) node: Node,
    serial: u64,
    /// What is known of one output: its number, shape and dtype.
    output: OnceLock<(u32, Spec)>,
}

impl PyNode {
    /// Remembers that `tensor` is an output of this node.
    pub(crate) fn know(&self, tensor: &Tensor) {
        if let Some(edge) = tensor.producer_edge() {
            let _ = self.output.set((edge.output(), Spec::of(tensor)));
        }
    }

    /// Shape and dtype of output `index`, if an output of this node was seen.
    pub(crate) fn known(&self, index: u32) -> Option<&Spec> {
        self.output.get().filter(|(known, _)| *known == index).map(|(_, spec)| spec)
    }
}

type Objects = HashMap<usize, (u64, Py<PyWeakrefReference>)>;

static OBJECTS: Mutex<Option<Objects>> = Mutex::new(None);
static SERIAL: AtomicU64 = AtomicU64::new(0);

fn objects() -> MutexGuard<'static, Option<Objects>> {
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for PyNode {
    fn drop(&mut self) {
        let mut table = objects();
        let Some(objects) = table.as_mut() else {
            return;
        };
        let address = self.node.address();
        let gone = match objects.get(&address) {
            Some((serial, _)) if *serial == self.serial => objects.remove(&address),
            _ => None,
        };
        drop(table);
        drop(gone);
    }
}

/// The Python object of a node: the one it already has, or a new one.
pub(crate) fn wrap_node(py: Python<'_>, node: Node) -> PyResult<Bound<'_, PyNode>> {
    let address = node.address();
    let known = objects()
        .as_ref()
        .and_then(|objects| objects.get(&address))
        .map(|(_, weak)| weak.clone_ref(py));
    if let Some(object) = known.and_then(|weak| weak.bind(py).upgrade()) {
        return Ok(object.cast_into()?);
    }
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let object = Bound::new(py, PyNode { node, serial, output: OnceLock::new() })?;
    let weak = PyWeakrefReference::new(object.as_any())?.unbind();
    let before = objects().get_or_insert_default().insert(address, (serial, weak));
    drop(before);
    Ok(object)
}

/// The name of a node as users know it: `MultiplyBackward`, `AccumulateGrad`.
pub(crate) fn display_name(node: &Node) -> String {
    if node.flags().has(crate::graph::Flags::ACCUMULATOR) {
        return "AccumulateGrad".into();
    }
    let name = node.name();
    if name.ends_with("Backward") {
        return name.into_owned();
    }
    let words = name.split(['_', ' ', '.']).filter(|word| !word.is_empty());
    let camel: String = words
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_uppercase().chain(letters).collect::<String>()
            })
        })
        .collect();
    camel + "Backward"
}

/// The values a node saved, with names; the version check applies.
fn saved_values(node: &Node) -> crate::error::Result<Vec<(String, Tensor)>> {
    let parts = node.with_saved(|saved| {
        let part = |(i, saved): (usize, &Saved<Tensor>)| {
            let name = match saved {
                Saved::Input { input, .. } | Saved::Packed { origin: Origin::Input(input), .. } => {
                    format!("input{input}")
                }
                Saved::Output { index, .. }
                | Saved::Packed { origin: Origin::Output(index), .. } => format!("output{index}"),
                _ => format!("saved{i}"),
            };
            Some((name, saved.hold(node)?))
        };
        saved.iter().enumerate().filter_map(part).collect::<Vec<_>>()
    });
    let name = node.name();
    parts
        .ok_or_else(|| Box::new(crate::error::Error::GraphFreed { op: name.clone() }))?
        .into_iter()
        .map(|(key, held)| Ok((key, held.restore(&name)?)))
        .collect()
}

/// What PyTorch calls a saved value.
fn saved_alias(name: &str) -> Option<&str> {
    match name.strip_prefix("_saved_")? {
        "self" => Some("input0"),
        "other" => Some("input1"),
        "result" => Some("output0"),
        other => Some(other),
    }
}

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
        let extras = self.node.extras_or_new();
        if let Some(known) = extras.metadata()
            && let Some(notes) = known.downcast_ref::<Notes>()
        {
            return notes.dict.bind(py).clone();
        }
        let dict = PyDict::new(py);
        extras.set_metadata(Arc::new(Notes::new(dict.clone().unbind())));
        dict
    }

    /// The values kept for the derivative, by name.
    #[getter]
    fn saved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        for (name, tensor) in saved_values(&self.node)? {
            named.set_item(name, crate::bindings::tensor::wrap(py, tensor)?)?;
        }
        Ok(named)
    }

    /// The leaf behind an `AccumulateGrad`, while its object lives.
    #[getter]
    fn variable<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let rule = self.node.rule().as_any()?.downcast_ref::<crate::tensor::Accumulate>()?;
        let leaf = rule.leaf()?;
        crate::bindings::tensor::object_of(py, &leaf)
    }

    /// Calls `hook(grad_outputs)` before this node runs; a tuple it returns replaces the gradients of the outputs.
    fn register_prehook(&self, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        hooks::before(&self.node, hook)
    }

    /// Calls `hook(grad_inputs, grad_outputs)` after this node ran; a tuple it returns replaces the gradients of the
    /// inputs.
    fn register_hook(&self, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        hooks::after(&self.node, hook)
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

    /// `_saved_self`, `_saved_other`, `_saved_result`: PyTorch's names for values in `saved`.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if let Some(alias) = saved_alias(name) {
            let found = saved_values(&self.node)?.into_iter().find(|(known, _)| known == alias);
            if let Some((_, tensor)) = found {
                return crate::bindings::tensor::wrap(py, tensor);
            }
        }
        Err(PyAttributeError::new_err(format!("a Node has no attribute {name:?}")))
    }

    fn __repr__(&self) -> String {
        format!("<{}>", display_name(&self.node))
    }
}
