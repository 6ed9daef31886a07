//! The arguments of one custom-function call: which are tensors, and where in nested containers. Slot `i` belongs to
//! argument `i` of forward, whether passed by position or by keyword.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use crate::bindings::custom_op::class_info::ClassInfo;
use crate::bindings::custom_op::context::Arrays;
use crate::bindings::custom_op::outputs::as_tensor;
use crate::bindings::custom_op::tensor_slots::{Slot, SlotTree, find_slots};
use crate::bindings::interop::numpy::is_array;
use crate::bindings::object::PyTensor;
use crate::tensor::Tensor;

/// The tree of tensor positions of each argument.
pub(super) type Slots = SmallVec<[SlotTree; 3]>;

/// The arguments of a call.
pub(super) struct Arguments<'py> {
    pub(super) tensors: SmallVec<[Bound<'py, PyAny>; 3]>,
    pub(super) slots: Slots,
    /// Addresses of the arguments that are NumPy arrays.
    pub(super) arrays: Arrays,
}

impl<'py> Arguments<'py> {
    /// Finds the tensors in positional and keyword arguments.
    pub(super) fn find(
        info: &ClassInfo,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Arguments<'py>> {
        let (tensors, slots) = (SmallVec::new(), SmallVec::new());
        let mut found = Arguments { tensors, slots, arrays: Arrays::new() };
        for arg in args.iter_borrowed() {
            let tree = found.tree(&info.name, &arg)?;
            found.slots.push(tree);
        }
        if let Some(kwargs) = kwargs {
            found.add_keywords(info, args.len(), kwargs)?;
        }
        Ok(found)
    }

    #[inline]
    fn tree(&mut self, op: &str, arg: &Bound<'py, PyAny>) -> PyResult<SlotTree> {
        if arg.is_exact_instance_of::<PyTensor>() {
            self.tensors.push(arg.clone());
            return Ok(SlotTree::Leaf(Slot::Tensor(self.tensors.len() as u32 - 1)));
        }
        if is_array(arg) {
            self.arrays.push(arg.as_ptr() as usize);
            return Ok(SlotTree::Leaf(Slot::Array));
        }
        let mut tree = find_slots(op, arg, &mut |ob| {
            as_tensor(ob)?;
            self.tensors.push(ob.clone());
            Some(Ok(self.tensors.len() as u32 - 1))
        })?;
        // A node keeps the tree, and must not keep the argument.
        tree.remove_items(arg.py())?;
        Ok(tree)
    }

    fn add_keywords(
        &mut self,
        info: &ClassInfo,
        given: usize,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<()> {
        let py = kwargs.py();
        let signature = info.signature(py)?;
        let mut extra = given.max(signature.positional.len()) + signature.keywords.len();
        for (name, value) in kwargs.iter() {
            let position = match signature.position(py, &name)? {
                Some(i) if i >= signature.positional.len() => i.max(given),
                Some(i) => i,
                None => {
                    extra += 1;
                    extra - 1
                }
            };
            let tree = self.tree(&info.name, &value)?;
            while self.slots.len() <= position {
                self.slots.push(SlotTree::Leaf(Slot::Constant));
            }
            self.slots[position] = tree;
        }
        Ok(())
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Tensor> {
        self.tensors.iter().filter_map(as_tensor)
    }

    /// The index of the tensor object `ob` among the arguments.
    pub(super) fn position(&self, ob: &Py<PyAny>) -> Option<usize> {
        self.tensors.iter().position(|x| x.is(ob))
    }
}
