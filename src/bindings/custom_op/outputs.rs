//! What forward returned: which parts are tensors.
//!
//! Owns: the tensor objects in order of appearance, arrays already turned into tensors, and the tree around them.
//! Never records. Invariant: an array counts as an output tensor; a Python number passes through.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::convert::tensor_of;
use crate::bindings::custom_op::pytree::{Kind, Search, Tree};
use crate::bindings::errors::{bad_type, to_python, type_name};
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, wrap};
use crate::error::Error;
use crate::tensor::Tensor;

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

/// The tensors of one forward.
pub(super) struct Outputs<'py> {
    pub(super) tensors: SmallVec<[Bound<'py, PyAny>; 2]>,
    pub(super) tree: Tree,
}

impl<'py> Outputs<'py> {
    /// Finds the tensors in what `forward` returned.
    #[inline]
    pub(super) fn find(op: &str, returned: &Bound<'py, PyAny>) -> PyResult<Outputs<'py>> {
        let mut tensors = SmallVec::new();
        if returned.is_exact_instance_of::<PyTensor>() {
            tensors.push(returned.clone());
            return Ok(Outputs { tensors, tree: Tree::Tensor(0) });
        }
        let mut leaf = |ob: &Bound<'py, PyAny>| {
            let tensor = match as_tensor(ob) {
                Some(_) => ob.clone(),
                None if is_numpy(ob)? => wrap(ob.py(), tensor_of(op, "an output", ob)?)?,
                None => return Ok(None),
            };
            tensors.push(tensor);
            Ok(Some(tensors.len() as u32 - 1))
        };
        let tree = Search { leaf: &mut leaf, op }.tree(returned, 0)?;
        Ok(Outputs { tensors, tree })
    }

    /// The outputs of a `CustomFunction`: a sequence of tensors, or one tensor.
    pub(super) fn strict(op: &str, returned: &Bound<'py, PyAny>) -> PyResult<Outputs<'py>> {
        if returned.is_none() {
            return Err(contract(format!(
                "Forward pass returned null: the forward of {op} returned None; return a sequence of tensors"
            )));
        }
        if as_tensor(returned).is_some() || is_numpy(returned)? {
            let list = PyList::new(returned.py(), [returned])?;
            return Outputs::strict(op, list.as_any());
        }
        if !returned.is_instance_of::<PyList>() && !returned.is_instance_of::<PyTuple>() {
            let what = format!("forward returned a {}", type_name(returned));
            return Err(bad_type(op, what, "return a list or tuple of tensors"));
        }
        let (mut tensors, mut items) = (SmallVec::new(), Vec::new());
        for (i, ob) in returned.try_iter()?.enumerate() {
            let ob = ob?;
            if ob.is_none() {
                return Err(contract(format!(
                    "Forward pass returned null: output {i} of {op} is None; return tensors only"
                )));
            }
            tensors.push(match as_tensor(&ob) {
                Some(_) => ob,
                None => wrap(ob.py(), tensor_of(op, "an output", &ob)?)?,
            });
            items.push(Tree::Tensor(i as u32));
        }
        Ok(Outputs { tensors, tree: Tree::Sequence(Box::new((Kind::List, items))) })
    }

    /// The tensor of output `k`.
    #[inline]
    pub(super) fn tensor(&self, k: usize) -> PyResult<&Tensor> {
        as_tensor(&self.tensors[k]).ok_or_else(|| contract("an output is no tensor".into()))
    }

    /// The number of the output object `ob`.
    pub(super) fn position(&self, ob: &Py<PyAny>) -> Option<usize> {
        self.tensors.iter().position(|y| y.is(ob))
    }
}

/// The exception for a broken contract.
#[cold]
pub(super) fn contract(what: String) -> PyErr {
    to_python(Box::new(Error::Contract { what }))
}
