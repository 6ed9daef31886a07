//! The Python object of a node. A table finds the existing object again, so that a node has at most one at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference};

use crate::bindings::object::{PyTensor, object_of};
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::{Accumulate, Node, Tensor};
use crate::threads::{Mutex, MutexGuard, assert_no_lock_held};

/// One recorded operation: where a gradient comes from and where it goes.
#[pyclass(name = "Node", module = "ferrograd", frozen, weakref, subclass)]
pub(crate) struct PyNode {
    pub(crate) node: Node,
    serial: u64,
    /// Number, shape and dtype of one output, if known.
    output: OnceLock<(u32, ShapeDType)>,
    /// How many tensor objects hold this object as well as a count on the node.
    owners: AtomicU32,
}

/// A tensor object's reference to the Python object of its node. Several tensor objects may count one node; the
/// collector must find the node's hooks through exactly one object, which all of them reach.
pub(crate) struct NodeObjectRef(Py<PyNode>);

impl NodeObjectRef {
    pub(crate) fn object(&self) -> &Py<PyNode> {
        &self.0
    }

    pub(crate) fn node(&self) -> &Node {
        &self.0.get().node
    }
}

impl Drop for NodeObjectRef {
    fn drop(&mut self) {
        self.0.get().owners.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Makes the object of a tensor refer to the object of its node.
pub(crate) fn link_node_object(tensor: &PyTensor, object: &Bound<'_, PyNode>) {
    let node = object.get();
    if tensor.node.get().is_none() && tensor.tensor.counts_once(&node.node) {
        node.owners.fetch_add(1, Ordering::AcqRel);
        // If another thread was first, the value is dropped, which restores the count.
        let _ = tensor.node.set(NodeObjectRef(object.clone().unbind()));
    }
}

impl PyNode {
    /// The counts on the node held by this object and by tensor objects that refer to it.
    pub(crate) fn counts(&self) -> u32 {
        let owners = self.owners.load(Ordering::Acquire);
        let leaf = self.node.rule().as_any().and_then(|rule| rule.downcast_ref::<Accumulate>());
        match leaf.and_then(Accumulate::leaf) {
            // The leaf's `Meta` counts the node, and another handle of the leaf may share that `Meta`.
            Some(meta) if Arc::strong_count(&meta) > 2 => 1,
            _ => 1 + owners,
        }
    }

    /// Stores the shape and dtype of `tensor`, an output of this node.
    pub(crate) fn remember_output(&self, tensor: &Tensor) {
        if let Some(edge) = tensor.producer_edge() {
            let _ = self.output.set((edge.output(), ShapeDType::of(tensor)));
        }
    }

    /// Shape and dtype of output `index`, if that output was seen.
    pub(crate) fn seen_output(&self, index: u32) -> Option<&ShapeDType> {
        self.output.get().filter(|(seen, _)| *seen == index).map(|(_, spec)| spec)
    }
}

type Objects = HashMap<usize, (u64, Py<PyWeakrefReference>)>;

static OBJECTS: Mutex<Option<Objects>> = Mutex::new(None);
static SERIAL: AtomicU64 = AtomicU64::new(0);

fn objects() -> MutexGuard<'static, Option<Objects>> {
    OBJECTS.lock()
}

impl Drop for PyNode {
    fn drop(&mut self) {
        assert_no_lock_held();
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

/// The Python object of a node: the existing one, or a new one.
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
    let object = Bound::new(
        py,
        PyNode { node, serial, output: OnceLock::new(), owners: AtomicU32::new(0) },
    )?;
    let class = class_of(py, &display_name(&object.get().node))?;
    object.setattr(pyo3::intern!(py, "__class__"), class)?;
    let weak = PyWeakrefReference::new(object.as_any())?.unbind();
    let before = objects().get_or_insert_default().insert(address, (serial, weak));
    drop(before);
    if let Some(leaf) = leaf_object(py, &object.get().node) {
        link_node_object(leaf.get(), &object);
    }
    Ok(object)
}

/// The Python object of the leaf of an accumulator node.
pub(crate) fn leaf_object<'py>(py: Python<'py>, node: &Node) -> Option<Bound<'py, PyTensor>> {
    let leaf = node.rule().as_any()?.downcast_ref::<Accumulate>()?.leaf()?;
    object_of(py, &leaf)?.cast_into().ok()
}

/// The name that users see: `MultiplyBackward`, `AccumulateGrad`.
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

/// The Python class of an operation's nodes: `MultiplyBackward`, a subclass of `Node`.
fn class_of<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    static CLASSES: Mutex<Option<HashMap<String, Py<PyType>>>> = Mutex::new(None);
    let known = CLASSES.lock().get_or_insert_default().get(name).map(|class| class.clone_ref(py));
    if let Some(class) = known {
        return Ok(class.into_bound(py));
    }
    let body = PyDict::new(py);
    body.set_item("__slots__", PyTuple::empty(py))?;
    body.set_item("__module__", "ferrograd.autograd.graph")?;
    let bases = PyTuple::new(py, [py.get_type::<PyNode>()])?;
    let class = py.get_type::<PyType>().call1((name, bases, body))?.cast_into::<PyType>()?;
    // Another thread may have been first; use the class in the table.
    let mut classes = CLASSES.lock();
    let entry = classes.get_or_insert_default().entry(name.to_owned());
    let known = entry.or_insert_with(|| class.clone().unbind()).clone_ref(py);
    drop(classes);
    Ok(known.into_bound(py))
}
