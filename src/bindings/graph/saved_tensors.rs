//! The saved tensors of a node: by name, as PyTorch's `_saved_*` attributes, and as `SavedTensor` handles that take
//! hooks.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bindings::errors::{bad_value, to_python};
use crate::bindings::graph::saved_tensor_hooks::Hooks;
use crate::error::{Error, Result};
use crate::graph::{GRAD, Mode, ModeGuard, PACKING, Pack, Saved, SavedOrigin, TRACING};
use crate::tensor::{Node, Tensor};

/// The names and positions of the saved tensors of a node.
fn names(node: &Node) -> Result<Vec<(usize, String)>> {
    let name = |(i, saved): (usize, &Saved<Tensor>)| match saved.origin()? {
        SavedOrigin::Input(input) => Some((i, format!("input{input}"))),
        SavedOrigin::Output(index) => Some((i, format!("output{index}"))),
        SavedOrigin::Edge(_) => Some((i, format!("saved{i}"))),
    };
    let names = node.with_saved(|saved| saved.iter().enumerate().filter_map(name).collect());
    names.ok_or_else(|| Box::new(Error::GraphFreed { op: node.name() }))
}

/// Restores saved entry `i`, with the version check.
fn value(node: &Node, i: usize) -> Result<Option<Tensor>> {
    let held = node.with_saved(|saved| saved.get(i).and_then(|entry| entry.to_ref(node)));
    let held = held.ok_or_else(|| Box::new(Error::GraphFreed { op: node.name() }))?;
    held.map(|held| held.restore(&node.name())).transpose()
}

/// All saved tensors, with names.
pub(super) fn all(node: &Node) -> Result<Vec<(String, Tensor)>> {
    let named = |(i, name)| Ok(value(node, i)?.map(|value| (name, value)));
    names(node)?.into_iter().filter_map(|entry| named(entry).transpose()).collect()
}

/// The position for PyTorch's `name` after `_saved_` or `_raw_saved_`.
fn position(node: &Node, name: &str) -> Result<Option<usize>> {
    let name = match name {
        "self" => "input0",
        "other" => "input1",
        "result" => "output0",
        other => other,
    };
    Ok(names(node)?.into_iter().find(|(_, known)| known == name).map(|(i, _)| i))
}

/// The attribute `_saved_…` or `_raw_saved_…` of a node, if there is one.
pub(super) fn attribute<'py>(
    py: Python<'py>,
    node: &Node,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let handle = |index| Bound::new(py, SavedHandle { node: node.clone(), index });
    if name == "_raw_saved_tensors" {
        let handles: PyResult<Vec<_>> = names(node)?.iter().map(|(i, _)| handle(*i)).collect();
        return Ok(Some(PyTuple::new(py, handles?)?.into_any()));
    }
    if let Some(name) = name.strip_prefix("_raw_saved_") {
        let handle = position(node, name)?.map(handle).transpose()?;
        return Ok(handle.map(Bound::into_any));
    }
    let Some(name) = name.strip_prefix("_saved_") else { return Ok(None) };
    let Some(i) = position(node, name)? else { return Ok(None) };
    value(node, i)?.map(|value| crate::bindings::object::wrap(py, value)).transpose()
}

/// A tensor that a node saved, before it is unpacked.
#[pyclass(name = "SavedTensor", module = "ferrograd.autograd.graph", frozen)]
pub(crate) struct SavedHandle {
    node: Node,
    index: usize,
}

#[pymethods]
impl SavedHandle {
    /// Calls `pack_hook` with the tensor now and keeps what it returns in the tensor's place; `unpack_hook` makes a
    /// tensor of it when a backward needs one. Once for each saved tensor, and not where it was packed already.
    fn register_hooks(
        &self,
        pack_hook: &Bound<'_, PyAny>,
        unpack_hook: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let op = "register_hooks";
        let hooks = Hooks::new(op, pack_hook, unpack_hook)?;
        let packed_already = |entry: &Saved<Tensor>| matches!(entry, Saved::Packed(_));
        if self.node.with_saved(|saved| saved.get(self.index).is_some_and(packed_already))
            == Some(true)
        {
            let what = "the saved tensor has hooks already".to_owned();
            return Err(bad_value(op, what, "register one pair of hooks for each saved tensor"));
        }
        let packed = {
            let _off = ModeGuard::new(Mode::current().with(GRAD | PACKING | TRACING, false));
            let value = value(&self.node, self.index).map_err(to_python)?;
            let Some(value) = value else {
                let what = "no tensor was saved here".to_owned();
                return Err(bad_value(op, what, "register hooks for a saved tensor"));
            };
            hooks.pack(value.detach(), op).map_err(to_python)?
        };
        if self.node.pack_saved(self.index, packed) {
            return Ok(());
        }
        let what =
            "the saved tensor was freed, packed or is being used by another thread".to_owned();
        Err(bad_value(op, what, "register hooks before a backward"))
    }

    fn __repr__(&self) -> String {
        format!("<saved tensor {} of {:?}>", self.index, self.node.name())
    }
}
