//! The outputs of forward: finding the tensors in what it returned, and the objects that the caller receives.
//! An array counts as an output tensor; a Python number passes through.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::convert::tensor_of;
use crate::bindings::custom_op::class_info::ClassInfo;
use crate::bindings::custom_op::tensor_slots::{Slot, SlotTree, find_slots, list_of, rebuild};
use crate::bindings::errors::{bad_type, to_python, type_name};
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, wrap};
use crate::error::Error;
use crate::ops::custom_op::output;
use crate::tensor::{Edge, Node, Region, Tensor, Write};

/// The tensor inside an object, if it is one.
#[inline]
pub(super) fn as_tensor<'a>(ob: &'a Bound<'_, PyAny>) -> Option<&'a Tensor> {
    match ob.cast_exact::<PyTensor>() {
        Ok(ob) => Some(&ob.get().tensor),
        Err(_) => ob.cast::<PyTensor>().ok().map(|ob| &ob.get().tensor),
    }
}

/// Whether an object is an ndarray or a NumPy scalar.
pub(super) fn is_numpy(ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(numpy::is_array(ob) || numpy::is_scalar(ob)?)
}

/// The output tensors of one forward.
pub(super) struct Outputs<'py> {
    pub(super) tensors: SmallVec<[Bound<'py, PyAny>; 2]>,
    pub(super) tree: SlotTree,
}

impl<'py> Outputs<'py> {
    /// Finds the tensors in the return value of forward.
    #[inline]
    pub(super) fn find(op: &str, returned: &Bound<'py, PyAny>) -> PyResult<Outputs<'py>> {
        let mut tensors = SmallVec::new();
        if returned.is_exact_instance_of::<PyTensor>() {
            tensors.push(returned.clone());
            return Ok(Outputs { tensors, tree: SlotTree::Leaf(Slot::Tensor(0)) });
        }
        let to_tensor = |ob: &Bound<'py, PyAny>| -> PyResult<Option<Bound<'py, PyAny>>> {
            Ok(match as_tensor(ob) {
                Some(_) => Some(ob.clone()),
                None if is_numpy(ob)? => Some(wrap(ob.py(), tensor_of(op, "an output", ob)?)?),
                None => None,
            })
        };
        let mut tree = find_slots(op, returned, &mut |ob| {
            let tensor = to_tensor(ob).transpose()?;
            Some(tensor.map(|tensor| {
                tensors.push(tensor);
                tensors.len() as u32 - 1
            }))
        })?;
        // A node keeps the tree, and must not keep its outputs.
        tree.remove_items(returned.py())?;
        Ok(Outputs { tensors, tree })
    }

    /// The outputs of a `CustomFunction`: a sequence of tensors, or one tensor.
    pub(super) fn find_strict(op: &str, returned: &Bound<'py, PyAny>) -> PyResult<Outputs<'py>> {
        if returned.is_none() {
            return Err(contract_error(format!(
                "Forward pass returned null: the forward of {op} returned None; return a sequence of tensors"
            )));
        }
        if as_tensor(returned).is_some() || is_numpy(returned)? {
            let list = PyList::new(returned.py(), [returned])?;
            return Outputs::find_strict(op, list.as_any());
        }
        if !returned.is_instance_of::<PyList>() && !returned.is_instance_of::<PyTuple>() {
            let what = format!("forward returned a {}", type_name(returned));
            return Err(bad_type(op, what, "return a list or tuple of tensors"));
        }
        let mut tensors = SmallVec::new();
        for (i, ob) in returned.try_iter()?.enumerate() {
            let ob = ob?;
            if ob.is_none() {
                return Err(contract_error(format!(
                    "Forward pass returned null: output {i} of {op} is None; return tensors only"
                )));
            }
            tensors.push(match as_tensor(&ob) {
                Some(_) => ob,
                None => wrap(ob.py(), tensor_of(op, "an output", &ob)?)?,
            });
        }
        let tree = list_of(tensors.len());
        Ok(Outputs { tensors, tree })
    }

    #[inline]
    pub(super) fn tensor(&self, k: usize) -> PyResult<&Tensor> {
        as_tensor(&self.tensors[k]).ok_or_else(|| contract_error("an output is no tensor".into()))
    }

    /// The index of the output object `ob`.
    pub(super) fn position(&self, ob: &Py<PyAny>) -> Option<usize> {
        self.tensors.iter().position(|y| y.is(ob))
    }
}

#[cold]
pub(super) fn contract_error(what: String) -> PyErr {
    to_python(Box::new(Error::Contract { what }))
}

/// What the caller receives for an output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputKind {
    /// A new tensor with the node's edge.
    Differentiable,
    /// An argument changed in place: the same object, rebased to the node.
    Dirty,
    /// An argument, or a tensor with a history of its own: a detached tensor.
    Alias,
    /// The object that forward returned.
    Constant,
}

/// Rebuilds the structure that forward returned with new leaves.
pub(super) fn rebuild_outputs<'py>(
    py: Python<'py>,
    tree: &SlotTree,
    returned: &Bound<'py, PyAny>,
    leaf: &mut dyn FnMut(usize) -> PyResult<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    // A single tensor or array where a sequence is expected, which `CustomFunction` allows.
    let is_single = as_tensor(returned).is_some() || is_numpy(returned)?;
    let template = (!is_single).then_some(returned);
    rebuild(py, tree, template, &mut |k| Ok(leaf(k as usize)?.into_bound(py)))
}

/// The output objects created so far.
#[derive(Default)]
pub(super) struct OutputObjects(SmallVec<[Py<PyAny>; 2]>);

impl OutputObjects {
    /// Output `k`: an object that forward returned twice is also one object for the caller, except for
    /// `CustomFunction`.
    pub(super) fn get_or_make<'py>(
        &mut self,
        returned: &[Bound<'py, PyAny>],
        k: usize,
        custom_function_rules: bool,
        make: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (y, py) = (&returned[k], returned[k].py());
        let earlier = || returned[..k].iter().position(|before| before.is(y));
        let before = if custom_function_rules || k == 0 { None } else { earlier() };
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

/// Creates the object of output `k`.
pub(super) fn output_object<'py>(
    node: &Node,
    info: &ClassInfo,
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
                op: info.static_name(),
                region: Region::of(tensor),
                edge: Some(edge),
                own_node: true,
                version: tensor.version(),
            });
            if let Ok(y) = y.cast::<PyTensor>() {
                y.get().note_write();
            }
            Ok(y.clone())
        }
    }
}
